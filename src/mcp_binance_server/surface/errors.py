"""Conversion of errors for clients, for every method, protocol revision and transport."""

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

# Shorter than the timeouts of clients (a minute, some 45 seconds), so that clients get an error with advice.
LONGEST_SECS = 45.0
# Time left for the answer after a tool call has timed out.
LAST_WORD_SECS = 1.0
# Revision 2026-07-28 forbids the code -32002. All other codes are the same in every revision.
MODERN_CODES = {-32002: 32002}
GUIDE_MEMBERS = frozenset({"guide", "guide_examples"})


def to_mcp(error: AppError, protocol_version: str, uri: str | None = None, *, has_guides: bool = True) -> MCPError:
    """Convert an error to a JSON-RPC error for the caller's protocol revision."""
    data = _data(error, has_guides=has_guides)
    if uri is not None:
        data["uri"] = echo(uri)
    code = MODERN_CODES.get(error.code) if protocol_version in MODERN_PROTOCOL_VERSIONS else None
    if code is None:
        return MCPError(error.code, error.message, data)
    return MCPError(code, error.message, {**data, "contract_code": error.code})


def _data(error: AppError, *, has_guides: bool) -> dict[str, Any]:
    # Without guides, links to guides would be dead.
    return {name: value for name, value in error.data().items() if has_guides or name not in GUIDE_MEMBERS}


def forget_origin(error: BaseException) -> None:
    """Release an error's traceback and causes, because their frames keep the caller's account in memory."""
    error.__traceback__ = error.__context__ = error.__cause__ = None


@contextmanager
def in_time(longest_secs: float) -> Generator[None]:
    """Cancel the block after a time limit.

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
    """Wrap a handler with a timeout and with the conversion of errors.

    Without it, the SDK would send the text of any exception to clients of older revisions. The SDK would also report
    pydantic errors in our own code as the caller's fault.
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
    """Return the application error inside an exception group. Return any other exception itself."""
    inside: tuple[Exception, ...] = getattr(failure, "exceptions", ())
    return next((found for each in inside if isinstance(found := unwrapped(each), AppError)), failure)


def internal(method: str, error: Exception, *, has_guides: bool = True) -> MCPError:
    """Log an unexpected error. Return an error with an ID to report, and nothing else."""
    error_id = uuid.uuid4().hex[:8]
    LOG.error("%s failed, error_id=%s", method, error_id, exc_info=error)
    data = {
        **_data(AppError(), has_guides=has_guides),
        "error_id": error_id,
        "recovery_suggestion": f"This is a bug in the server; please report it with the id {error_id}",
    }
    return MCPError(types.INTERNAL_ERROR, "Internal error", data)


def tool_failure(error: AppError, *, has_guides: bool = True, opening: str = "") -> types.CallToolResult:
    """Return the failed answer of a tool call, for an error that the model can handle."""
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
    """Return the members of an error that its sentences do not mention already."""
    return "; ".join(
        f"{name} {_shown(value)}"
        for name, value in members.items()
        if name not in {"success", "guide"} and any(leaf not in said for leaf in _leaves(name, value))
    )


def _leaves(name: str, value: Any) -> list[str]:  # noqa: ANN401 - JSON
    """Return the texts in a member. Numbers and booleans come with their names."""
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
    """Return the error for invalid arguments, without their values."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    problems = tuple(
        {"argument": echo(".".join(map(str, each["loc"]))) or "arguments", "problem": each["msg"]} for each in found
    )
    listed = "; ".join(f"{each['argument']}: {each['problem']}" for each in problems[:5])
    return InvalidArguments(summary=f"Invalid arguments for {what}: {listed}", errors=problems)
