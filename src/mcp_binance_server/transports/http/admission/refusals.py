"""HTTP error responses to refused requests and to unexpected failures."""

import json
import logging
import uuid
from collections.abc import Sequence
from typing import NamedTuple, Self

from mcp.types import jsonrpc
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_binance_server.errors import AppError, echo

Headers = Sequence[tuple[bytes, bytes]]

# Limit in bytes, so that the response stays below 1 kB in any script.
_MESSAGE_SIZE = 600
_REASON_SIZE = 100

LOG = logging.getLogger(__name__)


class HttpRefusal(NamedTuple):
    """An HTTP error response: status, reason, message and headers."""

    status: int
    reason: str
    message: str
    headers: Headers = ()

    def and_close(self) -> Self:
        """Return the response with a header that closes the connection, because the rest of the request is not read."""
        return self._replace(headers=(*self.headers, (b"connection", b"close")))

    async def answer(self, send: Send) -> None:
        await refuse(send, self.status, self.reason, self.message, headers=self.headers)


async def refuse(send: Send, status: int, reason: str, message: str, *, headers: Headers = ()) -> None:
    """Answer a request with a status, a reason code and a message."""
    body = refusal_body(reason, message)
    described = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*described, *headers]})
    await send({"type": "http.response.body", "body": body})


async def refuse_with(send: Send, error: AppError, status: int, *, headers: Headers = ()) -> None:
    """Answer a request with one of our errors, including its code and data."""
    answer = {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": error.code, "message": error.message, "data": error.data()},
    }
    body = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
    described = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*described, *headers]})
    await send({"type": "http.response.body", "body": body})


def refusal_body(reason: str, message: str) -> bytes:
    """Return an error as JSON: printable characters, at most 1 kB."""
    error = {
        "code": jsonrpc.INVALID_REQUEST,
        "message": _shown(message, _MESSAGE_SIZE),
        "data": {"reason": _shown(reason, _REASON_SIZE)},
    }
    answer = {"jsonrpc": "2.0", "id": None, "error": error}
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()


def _shown(text: str, size: int) -> str:
    return echo(text).encode()[:size].decode(errors="ignore")


class AnswerBrokenOff(Exception):
    """An answer has begun and cannot be finished. The error is already logged.

    The connection must be closed, because this is the only sign of the error that the client gets.
    """


def contained(app: ASGIApp) -> ASGIApp:
    """Wrap the application. Each unexpected exception is logged once, and answered if possible.

    Raises: AnswerBrokenOff: by the returned application, if its answer has already begun. The connection must then be
    closed.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def sending(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                if has_begun:
                    raise RuntimeError("a second response to the same request")
                has_begun = True
            await send(message)

        try:
            await app(scope, receive, sending)
        except Exception:
            error_id = uuid.uuid4().hex[:8]
            when = " after its response had started" if has_begun else ""
            LOG.exception("%s %s failed%s, error_id=%s", scope["method"], scope["path"], when, error_id)
            if has_begun:
                raise AnswerBrokenOff from None
            await refuse(send, 500, "internal", f"Internal error; please report it with the id {error_id}")

    return answer
