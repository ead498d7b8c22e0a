"""Confirmation by the user (MCP elicitation): a form in the client, or a page that the client opens.

The answer arrives during the call or with a repeated call. A page hides the decision from the client.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

import anyio
from mcp import MCPError, types
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp_binance_server.surface.caller import caller_of, connection_of, reporting
from mcp_binance_server.surface.errors import RequestContext

Decision = Literal["yes", "no", "unanswered", "impossible"]

# Clients limit a tool call to a minute, some to 45 seconds. Placing an order needs a part of that.
ASK_SECS = 25.0
# Lifetime of a question's state. It equals the longest lifetime of a preview, so that an expired preview gives its own
# error.
ROUND_SECS = 600.0

FIELD = "decision"
KEY, PAGE_KEY = "confirm", "page"
FORMS = "mcp_binance_server.forms"
WAITING = "Waiting for the user's decision"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a user, composed only of typed fields, with two choices and no default.

    An answer is valid only for the text that the user has read, so a repeated question must have the same text.
    """

    about: str
    """ID of the preview or order that the question is about."""
    message: str
    yes: str
    no: str

    @property
    def form(self) -> types.ElicitRequestFormParams:
        # No default, because a client that accepts automatically would send it. The refusal is first, because some
        # clients choose the first option.
        choice = {"type": "string", "title": "Your decision", "enum": [self.no, self.yes]}
        schema: dict[str, Any] = {"type": "object", "properties": {FIELD: choice}, "required": [FIELD]}
        return types.ElicitRequestFormParams(message=self.message, requested_schema=schema)

    @property
    def state(self) -> str:
        return json.dumps(asdict(self))

    def decided_by(self, reply: object) -> Decision:
        """Return the decision in a reply. Submitting the form is not a yes, only the chosen option is."""
        if not isinstance(reply, types.ElicitResult) or reply.action != "accept":
            return "no"
        return "yes" if reply.content == {FIELD: self.yes} else "no"


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link to a page for the user alone.

    Opening the page needs a secret that is not in the URL. This server writes the URL in no text.
    """

    about: str
    message: str
    url: str = field(repr=False)

    @property
    def page(self) -> types.ElicitRequestURLParams:
        return types.ElicitRequestURLParams(message=self.message, url=self.url)

    @property
    def state(self) -> str:
        return json.dumps({PAGE_KEY: self.about, "message": self.message})

    def decided_by(self, reply: object) -> Decision:
        """Return the decision in a reply. A yes means that the user agrees to open the page, not to the order."""
        if not isinstance(reply, types.ElicitResult):
            return "unanswered"
        return {"accept": "yes", "decline": "no"}.get(reply.action, "unanswered")  # type: ignore[return-value] # two of the literals


@dataclass(frozen=True, slots=True)
class Able:
    """Kinds of questions that a client can show to its user."""

    forms: bool
    pages: bool


class Asker(Protocol):
    """Interface for questions to the user during one call. A tool asks at most one question, before it acts."""

    @property
    def able(self) -> Able: ...

    async def ask(self, question: Question) -> Decision: ...

    async def show(self, link: PageLink) -> Decision: ...


class AnswerNeeded(Exception):
    """The call must end with a question. The client repeats the call with the answer."""

    def __init__(self, question: Question | PageLink) -> None:
        super().__init__(question.about)
        self.question = question

    @property
    def result(self) -> types.InputRequiredResult:
        """The question with a state that identifies it. The server encrypts the state before sending it."""
        asked = self.question
        key, params = (KEY, asked.form) if isinstance(asked, Question) else (PAGE_KEY, asked.page)
        request = types.ElicitRequest(params=params)
        return types.InputRequiredResult(input_requests={key: request}, request_state=asked.state)


@dataclass(frozen=True, slots=True)
class RoundAsker:
    """Asker for revision 2026-07-28.

    The call ends with the question, and the client repeats the call with the answer.
    """

    able: Able
    replies: types.InputResponses
    state: str | None

    async def ask(self, question: Question) -> Decision:
        """Return the decision if this call answers this question.

        Raises:
            AnswerNeeded: the call contains no answer to this question.
        """
        return self._heard(question, KEY) if self.able.forms else "impossible"

    async def show(self, link: PageLink) -> Decision:
        """Return the decision to open a page if this call contains one.

        Raises:
            AnswerNeeded: the call contains no answer about this page.
        """
        return self._heard(link, PAGE_KEY) if self.able.pages else "impossible"

    def _heard(self, question: Question | PageLink, key: str) -> Decision:
        if self.state != question.state or key not in self.replies:
            raise AnswerNeeded(question)
        return question.decided_by(self.replies[key])


@dataclass(slots=True, eq=False)
class _Form:
    decision: Decision = "unanswered"
    closed: anyio.Event = field(default_factory=anyio.Event)


@dataclass(frozen=True, slots=True)
class FormAsker:
    """Asker for older revisions. The call waits for the answer, and equal concurrent calls share one form."""

    ctx: RequestContext
    able: Able
    longest_secs: float

    async def ask(self, question: Question) -> Decision:
        """Show a form and return the user's decision. Return `unanswered` after the time limit."""
        return await self._reported(question) if self.able.forms else "impossible"

    async def show(self, link: PageLink) -> Decision:
        """Offer a page to the user and return the decision to open it. The client learns the page's URL."""
        return await self._reported(link) if self.able.pages else "impossible"

    async def _reported(self, question: Question | PageLink) -> Decision:
        return await reporting(self.ctx.session.report_progress, WAITING, lambda: self._answer(question))

    async def _answer(self, question: Question | PageLink) -> Decision:
        forms: dict[Question | PageLink, _Form] = connection_of(self.ctx).state.setdefault(FORMS, {})
        if question in forms:
            form = forms[question]
            await form.closed.wait()
            return form.decision
        form = forms[question] = _Form()
        try:
            with anyio.move_on_after(self.longest_secs):
                form.decision = await self._shown(question)
        finally:
            del forms[question]
            form.closed.set()
        return form.decision

    async def _shown(self, question: Question | PageLink) -> Decision:
        session, call = self.ctx.session, self.ctx.request_id
        try:
            if isinstance(question, PageLink):
                reply = await session.elicit_url(question.message, question.url, question.about, call)
            else:
                asked = question.form
                reply = await session.elicit_form(asked.message, asked.requested_schema, call)
        except ValidationError:  # the reply does not match the form
            return "no" if isinstance(question, Question) else "unanswered"
        except MCPError:  # the client cannot show the question
            return "impossible"
        return question.decided_by(reply)


def asker_of(ctx: RequestContext, params: types.CallToolRequestParams, longest_secs: float) -> Asker | None:
    """Return the asker for a call.

    Return None if the client cannot show questions, or if it cannot be sent requests.
    """
    able = _able(ctx)
    if able is None:
        return None
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return RoundAsker(able, params.input_responses or {}, params.request_state)
    return FormAsker(ctx, able, longest_secs) if ctx.session.can_send_request else None


def _able(ctx: RequestContext) -> Able | None:
    declared = ctx.session.client_capabilities and ctx.session.client_capabilities.elicitation
    if declared is None:
        return None
    # Older clients declare forms as {}, because there was no other kind.
    return Able(declared.form is not None or declared.url is None, declared.url is not None)


def asked_by(ctx: RequestContext) -> str:
    """Return the name of the visitor to whom a question's state is bound.

    By default the SDK binds the state to a token of its own authorization, which no transport here uses.
    """
    caller = caller_of(ctx)
    return "" if caller is None else caller.visitor.name
