"""A user's own choice: asked for in a form of their client, during a call or between two rounds of it.

Or an address that their client opens for them, where they decide out of its sight.
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

# Clients give a tool about a minute, some 45 seconds; placing needs a part of that.
ASK_SECS = 25.0
# As long as the longest preview: that one is over is told by its own words, not by those of a seal.
ROUND_SECS = 600.0

FIELD = "decision"
KEY, PAGE_KEY = "confirm", "page"
FORMS = "mcp_binance_server.forms"
WAITING = "Waiting for the user's decision"


@dataclass(frozen=True, slots=True)
class Question:
    """What a user is asked: a sentence made of typed fields alone, and two choices of which none is preset.

    Asked again about the same thing it must be the same sentence: an answer counts for what was read.
    """

    about: str
    """The id of what is asked for."""
    message: str
    yes: str
    no: str

    @property
    def form(self) -> types.ElicitRequestFormParams:
        # Without a default, since a client that accepts for its user sends what is preset; a no first, since some
        # choose the first.
        choice = {"type": "string", "title": "Your decision", "enum": [self.no, self.yes]}
        schema: dict[str, Any] = {"type": "object", "properties": {FIELD: choice}, "required": [FIELD]}
        return types.ElicitRequestFormParams(message=self.message, requested_schema=schema)

    @property
    def state(self) -> str:
        return json.dumps(asdict(self))

    def decided_by(self, reply: object) -> Decision:
        """Return what a reply says: to accept a form is no yes, only the choice in it is."""
        if not isinstance(reply, types.ElicitResult) or reply.action != "accept":
            return "no"
        return "yes" if reply.content == {FIELD: self.yes} else "no"


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page for the user alone; the address is nothing that it is known by, and is shown in no text of ours."""

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
        """Return what a reply says: a yes is to look at the page, and to nothing that is on it."""
        if not isinstance(reply, types.ElicitResult):
            return "unanswered"
        return {"accept": "yes", "decline": "no"}.get(reply.action, "unanswered")  # type: ignore[return-value] # two of its words


@dataclass(frozen=True, slots=True)
class Able:
    """What a client can show its user."""

    forms: bool
    pages: bool


class Asker(Protocol):
    """How the user of one call can be asked; a tool asks one question a call, before it does anything."""

    @property
    def able(self) -> Able: ...

    async def ask(self, question: Question) -> Decision: ...

    async def show(self, link: PageLink) -> Decision: ...


class AnswerNeeded(Exception):
    """The call ends here with a question, and comes again with the answer."""

    def __init__(self, question: Question | PageLink) -> None:
        super().__init__(question.about)
        self.question = question

    @property
    def result(self) -> types.InputRequiredResult:
        """The question, and what it will be known by; the server seals that on its way out."""
        asked = self.question
        key, params = (KEY, asked.form) if isinstance(asked, Question) else (PAGE_KEY, asked.page)
        request = types.ElicitRequest(params=params)
        return types.InputRequiredResult(input_requests={key: request}, request_state=asked.state)


@dataclass(frozen=True, slots=True)
class RoundAsker:
    """Asks in one call and hears in the next, as revision 2026-07-28 has it."""

    able: Able
    replies: types.InputResponses
    state: str | None

    async def ask(self, question: Question) -> Decision:
        """Return what was chosen, if it was this question that was asked.

        Raises:
            AnswerNeeded: it was not.
        """
        return self._heard(question, KEY) if self.able.forms else "impossible"

    async def show(self, link: PageLink) -> Decision:
        """Return whether the user opens a page, if it was this one that was offered.

        Raises:
            AnswerNeeded: it was not.
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
    """Asks while the call waits, as the revisions with a handshake have it; equal calls show one form."""

    ctx: RequestContext
    able: Able
    longest_secs: float

    async def ask(self, question: Question) -> Decision:
        """Return what the user chooses in time; what they choose later counts for nothing."""
        return await self._reported(question) if self.able.forms else "impossible"

    async def show(self, link: PageLink) -> Decision:
        """Return whether the user opens a page, of which their client hears the address."""
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
        except ValidationError:  # an answer, but not of this form
            return "no" if isinstance(question, Question) else "unanswered"
        except MCPError:  # the client could not show it
            return "impossible"
        return question.decided_by(reply)


def asker_of(ctx: RequestContext, params: types.CallToolRequestParams, longest_secs: float) -> Asker | None:
    """Return how the user of a call can be asked; None if their client has no way to, or no way back leads to it."""
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
    # {} is how forms were declared before there was anything else.
    return Able(declared.form is not None or declared.url is None, declared.url is not None)


def asked_by(ctx: RequestContext) -> str:
    """Name whom a sealed round belongs to.

    The SDK would look for a token of its own authorization, which no transport of ours uses: it would be nobody's.
    """
    caller = caller_of(ctx)
    return "" if caller is None else caller.visitor.name
