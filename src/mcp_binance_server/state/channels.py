"""Messages to the subscribers in this process."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

QUEUE_MESSAGES = 1000


class _Queue(AsyncIterator[bytes]):
    def __init__(self) -> None:
        self._messages: deque[bytes] = deque(maxlen=QUEUE_MESSAGES)
        self._stirred = asyncio.Event()
        self._ended = False
        self._error: Exception | None = None

    def push(self, payload: bytes) -> bool:
        lost = len(self._messages) == QUEUE_MESSAGES
        self._messages.append(payload)
        self._stirred.set()
        return lost

    def end(self, error: Exception | None = None) -> None:
        self._ended = True
        self._error = self._error or error
        self._stirred.set()

    async def __anext__(self) -> bytes:
        while not self._messages:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._stirred.clear()
            await self._stirred.wait()
        return self._messages.popleft()


class Channels:
    """A bounded queue per subscriber. `dropped` counts the messages that slow subscribers lost."""

    def __init__(self) -> None:
        self.dropped = 0
        self._queues: dict[str, set[_Queue]] = {}
        self._closed = False

    def publish(self, channel: str, payload: bytes) -> None:
        for queue in self._queues.get(channel, ()):
            self.dropped += queue.push(payload)

    @asynccontextmanager
    async def subscribe(self, channel: str) -> AsyncGenerator[AsyncIterator[bytes]]:
        queue = _Queue()
        listeners = self._queues.setdefault(channel, set())
        listeners.add(queue)
        if self._closed:
            queue.end()
        try:
            yield queue
        finally:
            queue.end()
            listeners.discard(queue)
            if not listeners:
                self._queues.pop(channel, None)

    def break_off(self, error: Exception) -> None:
        """End the current iterators with an error, after their queued messages. Later iterators are not affected."""
        for listeners in self._queues.values():
            for queue in listeners:
                queue.end(error)

    def close(self) -> None:
        """End every iterator after its queued messages."""
        self._closed = True
        for listeners in self._queues.values():
            for queue in listeners:
                queue.end()
