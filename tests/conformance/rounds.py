"""Tools and a prompt that need input first, as 2026-07-28 does it: they say what they need and are called again."""

from collections.abc import Callable, Mapping

from mcp import MCPError, types

from conformance.fixtures import Run, Schema, Tool, ToolAnswer, said, shown, strings, text
from mcp_binance_server.surface.errors import RequestContext

Question = types.ElicitRequest | types.CreateMessageRequest | types.ListRootsRequest
Questions = Mapping[str, Question]
CONFIRMATION: Schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def form(message: str, schema: Schema) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(words: str) -> types.CreateMessageRequest:
    messages = [types.SamplingMessage(role="user", content=text(words))]
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=messages, max_tokens=100))


NAME = form("What is your name?", strings("name"))
CONTEXT = form("What context should the prompt use?", strings("context"))
EVERYTHING: Questions = {
    "user_name": NAME,
    "greeting": sampling("Generate a greeting"),
    "client_roots": types.ListRootsRequest(),
}


def needed(questions: Questions, state: str | None = None) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=dict(questions), request_state=state)


def answers(params: types.CallToolRequestParams | types.GetPromptRequestParams, questions: Questions) -> str | None:
    """Return what the client answered to these questions; None while an answer is missing."""
    given = params.input_responses or {}
    if not questions.keys() <= given.keys():
        return None
    return shown({key: given[key].model_dump(mode="json", by_alias=True, exclude_none=True) for key in questions})


def asking(questions: Questions, state: str | None = None) -> Run:
    """Ask for all of it, and answer when all of it has come, together with the state that went with the questions."""

    async def run(_ctx: RequestContext, params: types.CallToolRequestParams) -> ToolAnswer:
        answered = answers(params, questions)
        if answered is None or params.request_state != state:
            return needed(questions, state)
        return said(f"{answered} {state}" if state else answered)

    return run


async def ask_twice(_ctx: RequestContext, params: types.CallToolRequestParams) -> ToolAnswer:
    given = params.input_responses or {}
    match params.request_state:
        case "round-1" if "step1" in given:
            return needed({"step2": form("Step 2: What is your favorite color?", strings("color"))}, "round-2")
        case "round-2" if "step2" in given:
            return said("Both steps are done")
        case _:
            return needed({"step1": form("Step 1: What is your name?", strings("name"))}, "round-1")


async def ask_what_the_client_can(ctx: RequestContext, _params: types.CallToolRequestParams) -> ToolAnswer:
    able = ctx.session.client_capabilities or types.ClientCapabilities()
    can: dict[str, Callable[[types.ClientCapabilities], object | None]] = {
        "user_name": lambda client: client.elicitation,
        "greeting": lambda client: client.sampling,
        "client_roots": lambda client: client.roots,
    }
    return needed({key: question for key, question in EVERYTHING.items() if can[key](able) is not None})


async def insist_on_sampling(ctx: RequestContext, _params: types.CallToolRequestParams) -> ToolAnswer:
    if ctx.session.check_client_capability(types.ClientCapabilities(sampling=types.SamplingCapability())):
        return said("The client can sample")
    data: Schema = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool asks the client's model", data)


async def prompt_in_context(params: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
    answered = answers(params, {"user_context": CONTEXT})
    if answered is None:
        return needed({"user_context": CONTEXT})
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text(answered))])


_PREFIX = "test_input_required_result"
ROUNDS = (
    Tool(f"{_PREFIX}_elicitation", "Needs a name.", asking({"user_name": NAME})),
    Tool(
        f"{_PREFIX}_sampling",
        "Needs the client's model.",
        asking({"capital_question": sampling("What is the capital of France?")}),
    ),
    Tool(f"{_PREFIX}_list_roots", "Needs the roots.", asking({"client_roots": types.ListRootsRequest()})),
    Tool(
        f"{_PREFIX}_request_state",
        "Needs a yes, and its state back.",
        asking({"confirm": form("Please confirm", CONFIRMATION)}, "state-ok"),
    ),
    Tool(f"{_PREFIX}_multiple_inputs", "Needs three things at once.", asking(EVERYTHING, "three")),
    Tool(f"{_PREFIX}_multi_round", "Needs one thing after the other.", ask_twice),
    Tool(
        f"{_PREFIX}_tampered_state",
        "Refuses a state that was changed.",
        asking({"confirm": form("Please confirm", CONFIRMATION)}, "sealed"),
    ),
    Tool(f"{_PREFIX}_capabilities", "Needs what the client can give.", ask_what_the_client_can),
    Tool("test_streaming_elicitation", "Needs a name, on a stream too.", asking({"user_name": NAME})),
    Tool("test_missing_capability", "Refuses clients that cannot sample.", insist_on_sampling),
)
