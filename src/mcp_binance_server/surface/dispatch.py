"""Dispatch of client requests to tools, resources and prompts; every transport calls this module."""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

from anyio import move_on_after
from mcp import types
from opentelemetry import trace
from pydantic import ValidationError

from mcp_binance_server.domain.access import LOCAL, Scope
from mcp_binance_server.errors import AppError, InsufficientScope, InvalidArguments, ResourceNotFound, echo
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.loading import load
from mcp_binance_server.state.pace import LoopWatch
from mcp_binance_server.surface.answers import (
    GIVES_WAY,
    SharedAnswers,
    doubted,
    is_long,
    opened,
    put_aside,
    warned,
    warned_text,
    without_long_texts,
)
from mcp_binance_server.surface.caller import Caller, Report, reporting
from mcp_binance_server.surface.catalogue import Catalogue, complete
from mcp_binance_server.surface.confirm import ASK_SECS, AnswerNeeded, Asker, asker_of
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.errors import (
    LAST_WORD_SECS,
    LONGEST_SECS,
    RequestContext,
    bad_arguments,
    forget_origin,
    in_time,
    tool_failure,
)
from mcp_binance_server.surface.resources import ANY_SYMBOL, JOURNAL, OPEN_ORDERS
from mcp_binance_server.surface.spec import Arguments, Page, Picture, ToolSpec, scope_of
from mcp_binance_server.surface.spellings import exact_pairs, with_pairs_named
from mcp_binance_server.surface.tools.essential import RUN_TOOL, CallTool, not_runnable
from mcp_binance_server.surface.uris import MARKET, ORDERS, parse

WORK_SECS = LONGEST_SECS - LAST_WORD_SECS
# Longest wait of an answer for the check of failed exits, in seconds.
ALARM_SECS = 2.0
# Toolsets whose answers contain market data, which may be old.
PRICED = frozenset({"market", "analysis"})


@dataclass(frozen=True)
class Dispatcher:
    """Dispatcher of requests.

    It finds the entry in the catalogue, checks the caller's scope, and runs the entry. A caller of None is the user of
    this process, with all rights. `owner` is the principal of this process's API key.
    """

    catalogue: Catalogue
    context: Context
    owner: Principal | None = None
    longest_secs: float = WORK_SECS
    shared: SharedAnswers | None = None
    ask_secs: float = ASK_SECS

    @overload
    async def call_tool(
        self, caller: Caller | None, name: str, arguments: Mapping[str, Any] | None, report: Report | None = None
    ) -> types.CallToolResult: ...
    @overload
    async def call_tool(
        self,
        caller: Caller | None,
        name: str,
        arguments: Mapping[str, Any] | None,
        report: Report | None = None,
        asker: Asker | None = None,
    ) -> types.CallToolResult | types.InputRequiredResult: ...
    async def call_tool(
        self,
        caller: Caller | None,
        name: str,
        arguments: Mapping[str, Any] | None,
        report: Report | None = None,
        asker: Asker | None = None,
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool.

        An error that the model can fix is returned as a failed answer. A question to the user is an answer too.

        Raises:
            InvalidArguments: the tool does not exist.
            InsufficientScope: the caller may not use the tool.
        """
        spec = self.catalogue.tool(name)
        if spec is None:
            raise InvalidArguments(summary=f"Unknown tool: {echo(name)}")
        if spec is not RUN_TOOL:
            return await self._called(caller, spec, arguments, report, asker)
        self.context_for(caller, spec.scope)
        try:
            inner = RUN_TOOL.arguments.model_validate(arguments or {})
            spec = self._inner_tool(inner)
        except ValidationError as error:
            return self._failure(bad_arguments(spec.name, error), spec.scope)
        except InvalidArguments as refused:
            return self._failure(refused, spec.scope)
        span = trace.get_current_span()
        span.update_name(f"tools/call {spec.name}")
        span.set_attribute("gen_ai.tool.name", spec.name)
        return await self._called(caller, spec, inner.arguments, report)

    def _inner_tool(self, given: CallTool) -> ToolSpec[Any]:
        spec = self.catalogue.inner_tool(given.name)
        if self._scope_of_call(spec, given.arguments) != RUN_TOOL.scope:
            is_listed = self.catalogue.tool(spec.name) is not None
            raise not_runnable(f"{spec.name} with these arguments", is_listed=is_listed)
        return spec

    async def _called(
        self,
        caller: Caller | None,
        spec: ToolSpec[Any],
        arguments: Mapping[str, Any] | None,
        report: Report | None,
        asker: Asker | None = None,
    ) -> types.CallToolResult | types.InputRequiredResult:
        context = self.context_for(caller, spec.scope)
        try:
            given = spec.arguments.model_validate(arguments or {})
        except ValidationError as error:
            return self._failure(bad_arguments(spec.name, error), spec.scope)
        scope = spec.scope_of(given)
        if scope != spec.scope:
            context = self.context_for(caller, scope)
        try:
            given, taken = await exact_pairs(context, spec, given)
        except AppError as error:
            forget_origin(error)
            return self._failure(error, scope)
        watch = LoopWatch()
        if spec.shared and self.shared is not None:
            answer = await self._shared_answer(self.shared, spec, given, report)
        else:
            own = replace(context, progress=report) if spec.slow else context
            own = replace(own, asker=asker) if spec.asks else own
            try:
                answer = await self._answer(lambda: self._run(spec, own, given), scope)
            except AnswerNeeded as needed:
                return needed.result
        answer = with_pairs_named(answer, taken, mode=self._mode_words(scope)[0])
        # Encoding a long answer takes longer than making it, so let other tasks run first.
        if watch.has_gone_round() or is_long(answer):
            await self.context.pace.step()
        return without_long_texts(answer)

    async def _shared_answer(
        self, shared: SharedAnswers, spec: ToolSpec[Any], given: Arguments, report: Report | None
    ) -> types.CallToolResult:
        asked = f"{spec.name} {given.model_dump_json()}"

        async def get() -> types.CallToolResult:
            return await shared.get(asked, lambda: self._run(spec, self.context, given))

        # Callers may share the work, but each of them gets its own progress reports.
        tells = report if spec.slow and not shared.has(asked) else None
        return await self._answer(lambda: reporting(tells, spec.title, get), spec.scope)

    async def _answer(self, run: Callable[[], Awaitable[types.CallToolResult]], scope: Scope) -> types.CallToolResult:
        try:
            return await run()
        except AppError as error:
            forget_origin(error)
            return self._failure(error, scope)

    def _failure(self, error: AppError, scope: Scope) -> types.CallToolResult:
        mode, _ = self._mode_words(scope)
        return tool_failure(error, has_guides=self.catalogue.has_guides, opening=f"{mode}: " if mode else "")

    def _mode(self, scope: Scope) -> str:
        """Return the trading mode for an answer about an account. Return "" for market data, or without trading."""
        return "" if self.context.trading is None or scope == "market:read" else self.context.trading.mode

    def _mode_words(self, scope: Scope) -> tuple[str, str]:
        """Return the mode and the kind of its money, for the start of an answer; "" without a mode."""
        trading = self.context.trading
        if trading is None or scope == "market:read":
            return "", ""
        from mcp_binance_server.surface.views.trading.terms import account_words, mode_word  # noqa: PLC0415 - for trading only

        return mode_word(trading.mode, trading.venue), account_words(trading.mode, trading.venue)

    async def _run(self, spec: ToolSpec[Any], context: Context, given: Arguments) -> types.CallToolResult:
        # No timeout for writes: a cancelled write may still be executed, and it has its own time limits.
        with in_time(self.longest_secs) if spec.read_only else nullcontext():
            await load(*spec.loads)
            try:
                answer = await spec.run(context, given)
            except Exception as error:
                error.add_note(f"tool: {spec.name}")  # for the log
                raise
            symbol: object = getattr(given, "symbol", None)
            if isinstance(symbol, str) and (spec.toolset in PRICED or answer.quiet):
                answer = await doubted(context, symbol, answer)
        scope = spec.scope_of(given)
        mode = self._mode(scope)
        answer = replace(answer, warnings=(*answer.warnings, *await self._alarms(context, scope)))
        text = types.TextContent(type="text", text=opened(*self._mode_words(scope), warned_text(answer)))
        structured = None if answer.structured is None else answer.structured.model_dump(mode="json")
        if structured is not None and mode:
            structured.setdefault("mode", mode)
        if structured is not None and answer.warnings:
            structured["warnings"] = [*answer.warnings]
        return types.CallToolResult(
            content=[text, *answer.attached],
            structured_content=structured,
            is_error=answer.is_refused,
            _meta=answer.meta,
        )

    async def _alarms(self, context: Context, scope: Scope) -> tuple[str, ...]:
        """Return a warning for each holding whose exit has failed.

        Return none for public data, or without the scope `trade`.
        """
        visitor = None if context.trading is None else context.trading.trader.of
        if context.trading is None or scope == "market:read" or visitor is None or "trade" not in visitor.scopes:
            return ()
        from mcp_binance_server.services.trading.protection import unprotected_holdings  # noqa: PLC0415 - for trading only
        from mcp_binance_server.surface.views.trading.terms import unprotected_alarm  # noqa: PLC0415 - for trading only

        # The answer must not be lost if this check fails or takes long.
        with suppress(AppError), move_on_after(ALARM_SECS):
            found = await unprotected_holdings(await context.trading.opened())
            return tuple(map(unprotected_alarm, found))
        return ()

    async def read_resource(self, caller: Caller | None, uri: str) -> types.ReadResourceResult:
        """Read a page, without a timeout. The transport has a timeout, and a timeout here could only give an error."""
        address = parse(uri)
        reader = self.catalogue.readers.get(address.category)
        if reader is None:
            raise ResourceNotFound(provided_uri=uri)
        context = self.context_for(caller, scope_of(address.category))
        watch = LoopWatch()
        page = await reader(context, address.identifier)
        if isinstance(page, Page):
            alarms = await self._alarms(context, scope_of(address.category))
            page = replace(page, text=warned(page.text, alarms))
            page = replace(page, text=opened(*self._mode_words(scope_of(address.category)), page.text))
        if watch.has_gone_round() or isinstance(page, Picture) or len(page.text) >= GIVES_WAY:
            await self.context.pace.step()  # encoding takes long, as with tools, because a playbook can have megabytes
        scope = "public" if page.shareable else "private"
        return types.ReadResourceResult(contents=[_contents(uri, page)], ttl_ms=page.keep_ms, cache_scope=scope)

    async def get_prompt(
        self, caller: Caller | None, name: str, arguments: Mapping[str, str] | None
    ) -> types.GetPromptResult:
        spec = self.catalogue.prompt(name)
        if spec is None:
            raise InvalidArguments(summary=f"Unknown prompt: {echo(name)}")
        context = self.context_for(caller, spec.scope)
        try:
            given = spec.arguments.model_validate(arguments or {})
        except ValidationError as error:
            raise bad_arguments(spec.name, error) from None
        with in_time(self.longest_secs):
            rendered = opened(*self._mode_words(spec.scope), await spec.render(context, given))
            content = types.TextContent(type="text", text=rendered)
        message = types.PromptMessage(role="user", content=content)
        return types.GetPromptResult(description=spec.description, messages=[message])

    @property
    def observable_pages(self) -> tuple[str, ...]:
        """URIs of the pages that can be subscribed to."""
        context, readers = self.context, self.catalogue.readers
        markets = (ANY_SYMBOL.uri_template,) if context.updates.is_on and MARKET in readers else ()
        orders = (OPEN_ORDERS.uri, JOURNAL.uri) if context.trading is not None and ORDERS in readers else ()
        return (*markets, *orders)

    def asker_of(self, ctx: RequestContext, params: types.CallToolRequestParams) -> Asker | None:
        """Return the asker for questions to the user of a call, or None if the user cannot be asked."""
        return asker_of(ctx, params, self.ask_secs)

    async def complete(self, params: types.CompleteRequestParams) -> types.Completion:
        return await complete(self.context, params)

    def scope_needed(self, method: str, name: str, arguments: object = None) -> Scope | None:
        """Return the scope that a request needs, by its method and its tool, prompt or URI.

        Return None if it needs no scope.
        """
        match method:
            case "tools/call":
                return self._scope_of_tool(name, arguments)
            case "prompts/get":
                spec = self.catalogue.prompt(name)
            case "subscriptions/listen" if not name:  # A stream without pages never sends a notification.
                return scope_of(MARKET)
            case "resources/read" | "resources/subscribe" | "subscriptions/listen":
                try:
                    return scope_of(parse(name).category)
                except AppError:
                    return None
            case _:
                return None
        return spec.scope if spec else None

    def _scope_of_tool(self, name: str, arguments: object) -> Scope | None:
        spec = self.catalogue.tool(name)
        return self._scope_of_call(spec, arguments) if spec else None

    def _scope_of_call(self, spec: ToolSpec[Any], arguments: object) -> Scope:
        if spec.scope_of_call is None:
            return spec.scope
        try:
            return spec.scope_of(spec.arguments.model_validate(arguments or {}))
        except ValidationError:  # the tool call will refuse the arguments
            return spec.scope

    def takes_long(self, method: str, name: str) -> bool:
        """Return True if a request may be slow, so that its client should get progress reports."""
        if method == "tools/call":
            spec = self.catalogue.tool(name)
            return spec is None or spec.slow
        return method in ("prompts/get", "subscriptions/listen")

    def context_for(self, caller: Caller | None, scope: Scope) -> Context:
        """Return the services bound to the caller's account.

        Raises:
            InsufficientScope: the caller lacks the scope.
        """
        if caller is None:
            return self._owners_context
        if missing := caller.visitor.lacks(frozenset({scope})):
            raise InsufficientScope(needed_scopes=tuple(sorted(missing)))
        # Without the scope `account:read` no account is bound, even if a page would read only a detail.
        is_private = "account:read" in caller.visitor.scopes
        principal = caller.principal if is_private else None
        # Compare the identity, because a caller may know this server's API key but not its secret.
        is_lent = principal is not None and principal is self.owner
        if principal is self.owner and not self.context.is_by_visitor and self.context.trading is None:
            return self._owners_context
        visitor = caller.visitor if is_private else None
        return self.context.acting_for(principal, is_withheld=principal is None, visitor=visitor, is_lent=is_lent)

    @cached_property
    def _owners_context(self) -> Context:
        return self.context.acting_for(self.owner, visitor=LOCAL, is_lent=True)


def _contents(uri: str, page: Page | Picture) -> types.TextResourceContents | types.BlobResourceContents:
    if isinstance(page, Picture):
        blob = b64encode(page.data).decode("ascii")
        return types.BlobResourceContents(uri=uri, blob=blob, mime_type=page.mime_type)
    return types.TextResourceContents(uri=uri, text=put_aside(page.text), mime_type=page.mime_type, _meta=page.meta)
