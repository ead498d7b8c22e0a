"""Refusals and unexpected failures as HTTP responses."""

import json
import logging
import uuid
from collections.abc import Sequence
from typing import NamedTuple, Self

from mcp.types import jsonrpc
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_binance_server.errors import AppError, echo

Headers = Sequence[tuple[bytes, bytes]]

# In bytes, so that the whole stays below 1 kB in any script.
_MESSAGE_SIZE = 600
_REASON_SIZE = 100

LOG = logging.getLogger(__name__)


class HttpRefusal(NamedTuple):
    """The reason and the answer of a refused request."""

    status: int
    reason: str
    message: str
    headers: Headers = ()

    def and_close(self) -> Self:
        """Return the refusal with the connection closed: the rest of the request will not be read."""
        return self._replace(headers=(*self.headers, (b"connection", b"close")))

    async def answer(self, send: Send) -> None:
        await refuse(send, self.status, self.reason, self.message, headers=self.headers)


async def refuse(send: Send, status: int, reason: str, message: str, *, headers: Headers = ()) -> None:
    """Answer a request with a status, a sentence for people and a word for programs."""
    body = refusal_body(reason, message)
    described = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*described, *headers]})
    await send({"type": "http.response.body", "body": body})


async def refuse_with(send: Send, error: AppError, status: int, *, headers: Headers = ()) -> None:
    """Answer a request with one of our errors: its own code and data."""
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
    """Return the error as bytes: printable text, at most 1 kB."""
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
    """An answer that was begun and cannot be finished. It is already logged; only closing the connection signals it."""


def contained(app: ASGIApp) -> ASGIApp:
    """Return the application with each defect logged once and reported to the client, as far as that is possible.

    Raises:
        AnswerBrokenOff: by the returned application; its connection must be closed with the answer unfinished.
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
