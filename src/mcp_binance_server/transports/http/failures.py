"""The one place where a defect becomes an answer, or the end of one that was begun."""

import logging
import uuid

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_binance_server.transports.http.refusals import refuse

LOG = logging.getLogger(__name__)


class AnswerBrokenOff(Exception):
    """An answer was begun and cannot be finished. It has been logged; only its connection can still tell the client."""


def contained(app: ASGIApp) -> ASGIApp:
    """Return the application with its defects logged once each, and told to the client as far as that can be done.

    Raises:
        AnswerBrokenOff: by the application returned; its connection is to be closed with the answer unfinished.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def sending(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                if has_begun:
                    raise RuntimeError("a request was to be answered twice")
                has_begun = True
            await send(message)

        try:
            await app(scope, receive, sending)
        except Exception:
            error_id = uuid.uuid4().hex[:8]
            when = " after its answer had begun" if has_begun else ""
            LOG.exception("%s %s failed%s, error_id=%s", scope["method"], scope["path"], when, error_id)
            if has_begun:
                raise AnswerBrokenOff from None
            await refuse(send, 500, "internal", f"Internal error; please report it with the id {error_id}")

    return answer
