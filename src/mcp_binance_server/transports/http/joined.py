"""The bytes of an answer: its head goes out together with what follows, in one call of the system instead of two."""

import h11


class JoinedAnswers(h11.Connection):
    """HTTP/1.1 that keeps the head of an answer until its body comes, if the head says that one comes at once."""

    _head: tuple[bytes, ...] = ()

    def send_with_data_passthrough(self, event: h11.Event) -> list[bytes] | None:
        written = super().send_with_data_passthrough(event)
        if written is None:
            return None
        # Without a length it is a stream, and its first event may be long in coming.
        if isinstance(event, h11.Response) and any(name == b"content-length" for name, _ in event.headers):
            self._head = tuple(written)
            return []
        if self._head:
            written, self._head = [*self._head, *written], ()
        return written
