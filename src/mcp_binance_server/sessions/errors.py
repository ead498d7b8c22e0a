"""Errors of opening and finding a session; the tree of all errors is in `mcp_binance_server.errors`."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from mcp_binance_server.errors import AppError

Fullness = Literal["too_many_sessions", "too_many_from_you"]


@dataclass(kw_only=True, eq=False)
class TooManySessions(AppError):
    """`retry_after_secs` is the time until the next place can free, if no session ends earlier."""

    code: ClassVar[int] = -32000
    http_status: ClassVar[int] = 503
    error_type: ClassVar[str] = "too_many_sessions"
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = "Wait retry_after_secs; close sessions that are no longer needed"

    retry_after_secs: int
    reason: Fullness = "too_many_sessions"

    @property
    def message(self) -> str:
        where = "Too many open sessions" if self.reason == "too_many_sessions" else "Too many open sessions from you"
        return f"{where}. Please wait {self.retry_after_secs} seconds before retrying."


@dataclass(kw_only=True, eq=False)
class SessionNotFound(AppError):
    """The same error for a session that never existed, has ended, or belongs to another visitor."""

    code: ClassVar[int] = -32600
    http_status: ClassVar[int] = 404
    error_type: ClassVar[str] = "session_not_found"
    recovery_suggestion: ClassVar[str] = "Open a new session: idle sessions end after a while"

    reason: str = "session_not_found"

    @property
    def message(self) -> str:
        return "Session not found"
