"""Decisions of a user, asked for in a form of the client, during a call or between two calls.

Alternatively, an address that the client opens for the user, for a decision out of the client's sight.
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

# Clients allow a tool about a minute, some only 45 seconds; placing an order needs part of that.
ASK_SECS = 25.0
# As long as the longest preview: an expired preview gets its own error, not the error of an expired seal.
ROUND_SECS = 600.0

FIELD = "decision"
KEY, PAGE_KEY = "confirm", "page"
FORMS = "mcp_binance_server.forms"
WAITING = "Waiting for the user's decision"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a user: a sentence made only of typed fields, and two choices without a default.

    If repeated for the same subject, the sentence must be equal: an answer counts only for the text that was read.
    """

    about: str
    """Id of the subject: a preview or an order."""
    message: str
    yes: str
    no: str

    @property
    def form(self) -> types.ElicitRequestFormParams:
        # There is no default, since a client that accepts for its user sends the default. The refusal comes first,
        # since some clients choose the first option.
        choice = {"type": "string", "title": "Your decision", "enum": [self.no, self.yes]}
        schema: dict[str, Any] = {"type": "object", "properties": {FIELD: choice}, "required": [FIELD]}
        return types.ElicitRequestFormParams(message=self.message, requested_schema=schema)

    @property
    def state(self) -> str:
        return json.dumps(asdict(self))

    def decided_by(self, reply: object) -> Decision:
        """Return the decision in a reply: accepting a form is not a yes, only the choice in it is."""
        if not isinstance(reply, types.ElicitResult) or reply.action != "accept":
            return "no"
        return "yes" if reply.content == {FIELD: self.yes} else "no"


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page for the user alone. Its address is not its key, and appears in none of our texts."""

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
        """Return the decision in a reply: a yes agrees to open the page, not to its content."""
        if not isinstance(reply, types.ElicitResult):
            return "unanswered"
        return {"accept": "yes", "decline": "no"}.get(reply.action, "unanswered")  # type: ignore[return-value] # two of the literals


@dataclass(frozen=True, slots=True)
class Able:
    """Kinds of questions that a client can show its user."""

    forms: bool
    pages: bool


class Asker(Protocol):
    """Access to the user of one call; a tool asks one question per call, before it does anything."""

    @property
    def able(self) -> Able: ...

    async def ask(self, question: Question) -> Decision: ...

    async def show(self, link: PageLink) -> Decision: ...


class AnswerNeeded(Exception):
    """The end of a call with a question; the call is repeated with the answer."""

    def __init__(self, question: Question | PageLink) -> None:
        super().__init__(question.about)
        self.question = question

    @property
    def result(self) -> types.InputRequiredResult:
        """The question and the state that identifies it; the server seals the state on its way out."""
        asked = self.question
        key, params = (KEY, asked.form) if isinstance(asked, Question) else (PAGE_KEY, asked.page)
        request = types.ElicitRequest(params=params)
        return types.InputRequiredResult(input_requests={key: request}, request_state=asked.state)


@dataclass(frozen=True, slots=True)
class RoundAsker:
    """Question in one call and answer in the next, as in revision 2026-07-28."""

    able: Able
    replies: types.InputResponses
    state: str | None

    async def ask(self, question: Question) -> Decision:
        """Return the decision, if this question was asked.

        Raises:
            AnswerNeeded: a different question was asked, or none.
        """
        return self._heard(question, KEY) if self.able.forms else "impossible"

    async def show(self, link: PageLink) -> Decision:
        """Return the decision to open a page, if this page was offered.

        Raises:
            AnswerNeeded: a different page was offered, or none.
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
    """Question while the call waits, as in revisions with a handshake; equal calls share one form."""

    ctx: RequestContext
    able: Able
    longest_secs: float

    async def ask(self, question: Question) -> Decision:
        """Return the user's decision within the time limit; a later decision is ignored."""
        return await self._reported(question) if self.able.forms else "impossible"

    async def show(self, link: PageLink) -> Decision:
        """Return the user's decision to open a page; the client gets its address."""
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
        except ValidationError:  # a reply that does not fit the form
            return "no" if isinstance(question, Question) else "unanswered"
        except MCPError:  # the client could not show it
            return "impossible"
        return question.decided_by(reply)


def asker_of(ctx: RequestContext, params: types.CallToolRequestParams, longest_secs: float) -> Asker | None:
    """Return access to the user of a call; None if the client cannot ask, or cannot be sent a request."""
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
    # {} declared forms before other kinds existed.
    return Able(declared.form is not None or declared.url is None, declared.url is not None)


def asked_by(ctx: RequestContext) -> str:
    """Return the owner of a sealed round.

    The SDK would use a token of its own authorization, which no transport of ours has: rounds would have no owner.
    """
    caller = caller_of(ctx)
    return "" if caller is None else caller.visitor.name
