"""Conversion of errors for clients, in one place for every method, era and transport."""

import functools
import logging
import uuid
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import anyio
from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp_binance_server.errors import AppError, InvalidArguments, TookTooLong, echo

LOG = logging.getLogger(__name__)

RequestContext = ServerRequestContext[Any, Any]
ParamsT = TypeVar("ParamsT")
ResultT = TypeVar("ResultT")

# Common clients give up after a minute, some after 45 seconds; an answer with advice is worth more.
LONGEST_SECS = 45.0
# Margin for the answer to a tool call that ran out of time.
LAST_WORD_SECS = 1.0
# 2026-07-28 forbids -32002 outright; all other numbers of the contract are sent unchanged in every era.
MODERN_CODES = {-32002: 32002}
GUIDE_MEMBERS = frozenset({"guide", "guide_examples"})


def to_mcp(error: AppError, protocol_version: str, uri: str | None = None, *, has_guides: bool = True) -> MCPError:
    """Convert an error to the JSON-RPC error of the caller's protocol era."""
    data = _data(error, has_guides=has_guides)
    if uri is not None:
        data["uri"] = echo(uri)
    code = MODERN_CODES.get(error.code) if protocol_version in MODERN_PROTOCOL_VERSIONS else None
    if code is None:
        return MCPError(error.code, error.message, data)
    return MCPError(code, error.message, {**data, "contract_code": error.code})


def _data(error: AppError, *, has_guides: bool) -> dict[str, Any]:
    # Links to guides that are not offered would lead nowhere.
    return {name: value for name, value in error.data().items() if has_guides or name not in GUIDE_MEMBERS}


def forget_origin(error: BaseException) -> None:
    """Release the frames of an error: they hold the caller's account, and often the error itself."""
    error.__traceback__ = error.__context__ = error.__cause__ = None


@contextmanager
def in_time(longest_secs: float) -> Generator[None]:
    """Cancel the block if it takes too long.

    Raises:
        TookTooLong: the block was cancelled.
    """
    with anyio.move_on_after(longest_secs) as scope:
        yield
    if scope.cancelled_caught:
        raise TookTooLong(after_secs=longest_secs)


def guarded(
    handler: Callable[[RequestContext, ParamsT], Awaitable[ResultT]],
    *,
    has_guides: bool = True,
    longest_secs: float = LONGEST_SECS,
) -> Callable[[RequestContext, ParamsT], Awaitable[ResultT]]:
    """Wrap a handler with a timeout, and convert its errors so that only chosen ones leave it.

    Otherwise the SDK sends the text of any exception to handshake clients, and reports a pydantic error of our own as
    the caller's fault.
    """

    @functools.wraps(handler)
    async def wrapper(ctx: RequestContext, params: ParamsT) -> ResultT:
        try:
            with in_time(longest_secs):
                return await handler(ctx, params)
        except AppError as error:
            forget_origin(error)
            uri = getattr(params, "uri", None)
            raise to_mcp(error, ctx.protocol_version, uri, has_guides=has_guides) from None
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001 - the one place where the unexpected becomes an answer
            raise internal(ctx.method, error, has_guides=has_guides) from None

    return wrapper


def unwrapped(failure: Exception) -> Exception:
    """Return the application error inside a task group's exception; waiting callers get it, not an internal error."""
    inside: tuple[Exception, ...] = getattr(failure, "exceptions", ())
    return next((found for each in inside if isinstance(found := unwrapped(each), AppError)), failure)


def internal(method: str, error: Exception, *, has_guides: bool = True) -> MCPError:
    """Log an unexpected error and return an error with nothing but an id to report."""
    error_id = uuid.uuid4().hex[:8]
    LOG.error("%s failed, error_id=%s", method, error_id, exc_info=error)
    data = {
        **_data(AppError(), has_guides=has_guides),
        "error_id": error_id,
        "recovery_suggestion": f"This is a bug in the server; please report it with the id {error_id}",
    }
    return MCPError(types.INTERNAL_ERROR, "Internal error", data)


def tool_failure(error: AppError, *, has_guides: bool = True, opening: str = "") -> types.CallToolResult:
    """Return the answer to a tool call that failed for a reason the model can act on."""
    data = _data(error, has_guides=has_guides)
    message = f"{opening}{error.message}"
    lines = [message]
    if names := data.get("did_you_mean"):
        lines.append(f"Did you mean {', '.join(names)}?")
    if uris := data.get("valid_uris"):
        lines.append(f"Valid URIs: {', '.join(uris)}.")
    lines += [text for name in ("explanation", "recovery_suggestion") if (text := data.get(name))]
    structured: dict[str, Any] = {"success": False, "error": message, "code": error.code, **data}
    lines += [line] if (line := _rest(structured, "\n".join(lines))) else []
    lines += [f"More: {data['guide']}"] if "guide" in data else []
    text = types.TextContent(type="text", text="\n".join(lines))
    return types.CallToolResult(content=[text], structured_content=structured, is_error=True)


def _rest(members: dict[str, Any], said: str) -> str:
    """Return the members that the sentences before do not mention."""
    return "; ".join(
        f"{name} {_shown(value)}"
        for name, value in members.items()
        if name not in {"success", "guide"} and any(leaf not in said for leaf in _leaves(name, value))
    )


def _leaves(name: str, value: Any) -> list[str]:  # noqa: ANN401 - JSON
    """Return the texts of a member; numbers and booleans have no meaning without their name."""
    if isinstance(value, dict):
        return [leaf for each, inner in cast("dict[str, Any]", value).items() for leaf in _leaves(each, inner)]
    if isinstance(value, list | tuple):
        return [leaf for inner in cast("list[Any]", value) for leaf in _leaves(name, inner)]
    if isinstance(value, str):
        return [value]
    return [] if value is None else [f"{name} {_shown(value)}"]


def _shown(value: Any) -> str:  # noqa: ANN401 - JSON
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(each)}" for name, each in cast("dict[str, Any]", value).items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, cast("list[Any]", value)))
    return str(value)


def bad_arguments(what: str, error: ValidationError) -> InvalidArguments:
    """Return the error for arguments that do not fit, without echoing their values."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    problems = tuple(
        {"argument": echo(".".join(map(str, each["loc"]))) or "arguments", "problem": each["msg"]} for each in found
    )
    listed = "; ".join(f"{each['argument']}: {each['problem']}" for each in problems[:5])
    return InvalidArguments(summary=f"Invalid arguments for {what}: {listed}", errors=problems)
