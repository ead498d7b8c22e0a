"""An answer that may have to end before its time."""

from collections.abc import Callable

from starlette.types import Message, Send


class CutShort:
    """Passes an answer on and knows how far it is; one whose length was promised is not cut short any more."""

    def __init__(self, send: Send, at_promise: Callable[[], None]) -> None:
        self._send = send
        self._at_promise = at_promise
        self._has_begun = False
        self._has_ended = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._has_begun = True
            if any(name == b"content-length" for name, _ in message["headers"]):
                self._at_promise()
        elif not message.get("more_body", False):
            self._has_ended = True
        await self._send(message)

    async def end(self) -> bool:
        """End an answer that was begun; tell whether there was one."""
        if self._has_begun and not self._has_ended:
            await self._send({"type": "http.response.body", "body": b""})
        return self._has_begun
