"""Errors of opening and finding a session. `mcp_binance_server.errors` lists the errors of all packages."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from mcp_binance_server.errors import AppError

Fullness = Literal["too_many_sessions", "too_many_from_you"]


@dataclass(kw_only=True, eq=False)
class TooManySessions(AppError):
    """The session limit is reached. `retry_after_secs` is the time until the next session can expire."""

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
    """No such session. It never existed, has ended, or belongs to another visitor; the client cannot see which."""

    code: ClassVar[int] = -32600
    http_status: ClassVar[int] = 404
    error_type: ClassVar[str] = "session_not_found"
    recovery_suggestion: ClassVar[str] = "Open a new session: idle sessions end after a while"

    reason: str = "session_not_found"

    @property
    def message(self) -> str:
        return "Session not found"
