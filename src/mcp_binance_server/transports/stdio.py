"""stdio transport with a size limit on messages. Blocking reads and writes run in threads of their own."""

import asyncio
import logging
import os
import signal
import stat
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar

import anyio
import anyio.lowlevel
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc

from mcp_binance_server.transports.frames import FRAME_CAP, RefusedFrame, read_frame, too_long, usable_id

P = ParamSpec("P")
T = TypeVar("T")

LOG = logging.getLogger(__name__)
CHUNK = 64 * 2**10
# Seconds in which the last answers can be sent after the client has closed its side or SIGTERM has arrived.
DRAIN_SECS = 10.0
LAST_SECS = 2.0
# Limit of requests in progress (back-pressure). The next request is read only after an answer.
MOST_IN_HAND = 32
# Limit while the server asks the client something, because the reply arrives after requests that are already sent.
MOST_WHILE_ASKING = 1_024

ReadChunk = Callable[[], Awaitable[bytes]]
WriteAll = Callable[[bytes], Awaitable[None]]


class _Job(Generic[T]):
    """A call for the thread, with a future for its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[T] = self._loop.create_future()

    def do(self) -> None:
        try:
            done = partial(self._succeed, self._work())
        except BaseException as failure:  # noqa: BLE001 - it is passed to the caller
            done = partial(self._fail, failure)
        with suppress(RuntimeError):  # the event loop is closed, so there is no caller
            self._loop.call_soon_threadsafe(done)

    # The caller can be cancelled at any moment, even right after a check, so the future can already be done.
    def _succeed(self, result: T) -> None:
        with suppress(asyncio.InvalidStateError):
            self.outcome.set_result(result)

    def _fail(self, failure: BaseException) -> None:
        with suppress(asyncio.InvalidStateError):
            self.outcome.set_exception(failure)


class SideThread:
    """Worker thread that runs calls one by one. A call is finished even if its caller is cancelled.

    anyio's threads cannot be used, because a process waits for them at its end and they may wait for a client forever.
    """

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in the thread. Cancelling the caller does not stop the call."""
        job = _Job(partial(work, *args, **kwargs))
        self._jobs.put(job)  # pyright: ignore[reportArgumentType] - the result type is between the job and its caller
        return await job.outcome

    def close(self) -> None:
        """End the thread after the queued calls."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.do()


@dataclass
class Writer:
    """Write half. Each message is sent as one whole line."""

    write_all: WriteAll
    pending: Counter[str | int] = field(default_factory=Counter[str | int])
    questions: set[str | int] = field(default_factory=set[str | int])
    freed: anyio.Event = field(default_factory=anyio.Event)
    _turn: anyio.Lock = field(default_factory=anyio.Lock)

    async def send(self, item: SessionMessage, /) -> None:
        self._note(item.message)
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        async with self._turn:
            await self.write_all(line)
        if isinstance(item.message, jsonrpc.JSONRPCResponse | jsonrpc.JSONRPCError) and item.message.id is not None:
            self.answered(item.message.id)

    def asked(self, request_id: str | int) -> None:
        self.pending[request_id] += 1

    def answered(self, request_id: str | int) -> None:
        # A client may reuse the ID of an unanswered request. Both requests are answered and counted.
        self.pending -= Counter([request_id])
        self.freed.set()

    def _note(self, message: jsonrpc.JSONRPCMessage) -> None:
        if isinstance(message, jsonrpc.JSONRPCRequest):
            self.questions.add(message.id)
            self.freed.set()
        elif isinstance(message, jsonrpc.JSONRPCNotification):
            self.questions -= {_cancelled_by(message)}

    async def has_room(self) -> None:
        """Wait until one more request can be read."""
        while self.pending.total() >= (MOST_WHILE_ASKING if self.questions else MOST_IN_HAND):
            self.freed = anyio.Event()
            await self.freed.wait()

    async def drain(self, longest_secs: float | None = None) -> None:
        """Wait until all requests read so far are answered, at most `longest_secs`."""
        with anyio.move_on_after(DRAIN_SECS if longest_secs is None else longest_secs):
            while self.pending:
                self.freed = anyio.Event()
                await self.freed.wait()

    async def aclose(self) -> None:
        """Do nothing, because the descriptor belongs to the process."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@dataclass
class Reader:
    """Read half. Lines become messages, and invalid lines are answered here."""

    read_chunk: ReadChunk
    writer: Writer
    _buffer: bytearray = field(default_factory=bytearray)
    is_over: bool = False
    _is_first: bool = True
    _scanned: int = 0
    _ended: bool = False

    async def receive(self) -> SessionMessage:
        while True:
            line = await self._line()
            if line is None or self.is_over:
                await self.writer.drain()
                raise anyio.EndOfStream
            if not line.strip():
                continue
            message = read_frame(line) if len(line) <= FRAME_CAP else too_long(line)
            if isinstance(message, RefusedFrame):
                LOG.warning("refused a frame of %d bytes: %s", len(line), message.answer.error.message)
                await self.writer.send(SessionMessage(message.answer))
                continue
            if self._is_abandoned(message):
                continue
            await self._note(message)
            return SessionMessage(message)

    def _is_abandoned(self, message: jsonrpc.JSONRPCMessage) -> bool:
        """Return whether a `server/discover` must be ignored because its client has already sent `initialize`.

        An answer would bind the connection to the newer revision, and `initialize` would be refused.
        """
        if not self._is_first:
            return False
        self._is_first = False
        if not isinstance(message, jsonrpc.JSONRPCRequest) or message.method != "server/discover":
            return False
        read = (read_frame(line) for line in bytes(self._buffer).split(b"\n")[:-1] if line.strip())
        return any(isinstance(each, jsonrpc.JSONRPCRequest) and each.method == "initialize" for each in read)

    async def _note(self, message: jsonrpc.JSONRPCMessage) -> None:
        if isinstance(message, jsonrpc.JSONRPCRequest):
            await self.writer.has_room()
            # A subscription never ends on its own, so the drain does not wait for it.
            if message.method != "subscriptions/listen":
                self.writer.asked(message.id)
        elif isinstance(message, jsonrpc.JSONRPCNotification):
            # A cancelled request gets no answer.
            if (cancelled := _cancelled_by(message)) is not None:
                self.writer.answered(cancelled)
        else:
            self.writer.questions -= {message.id}

    async def _line(self) -> bytes | None:
        """Return the next line. A line over the limit is cut to one byte more than the limit."""
        overlong: bytes | None = None
        while True:
            end = self._buffer.find(b"\n", self._scanned)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._scanned = 0
                return overlong or line
            if len(self._buffer) > FRAME_CAP:
                overlong = overlong or bytes(self._buffer[: FRAME_CAP + 1])
                self._buffer.clear()
            self._scanned = len(self._buffer)
            if self._ended:
                return None
            chunk = await self.read_chunk()
            self._ended = not chunk
            # Accept a last line without a newline.
            self._buffer += chunk or (b"\n" if self._buffer or overlong else b"")

    async def aclose(self) -> None:
        """Do nothing, because the descriptor belongs to the process."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


def _cancelled_by(message: jsonrpc.JSONRPCNotification) -> str | int | None:
    if message.method != "notifications/cancelled":
        return None
    return usable_id((message.params or {}).get("requestId"))


async def serve_stdio(server: Server[Any], at_sigterm: Callable[[], None] | None = None) -> None:
    """Serve one client until it closes a side or SIGTERM arrives.

    All other output of the process goes to stderr. After SIGTERM no new requests are accepted, and pending answers are
    sent.
    """
    with _claimed_descriptors() as (source, sink), _side_thread("stdin") as reading, _side_thread("stdout") as writing:
        async with anyio.create_task_group() as tasks:

            async def write_all(data: bytes) -> None:
                try:
                    await writing.run(_write_all, sink, data)
                except OSError:
                    tasks.cancel_scope.cancel()  # the client has closed its side
                    await anyio.lowlevel.checkpoint()

            tasks.start_soon(_wait_until_unread, sink, tasks.cancel_scope)
            writer = Writer(write_all)
            reader = Reader(lambda: reading.run(_read, source), writer)
            tasks.start_soon(_wait_for_sigterm, reader, tasks.cancel_scope, at_sigterm)
            try:
                await server.run(reader, writer, server.create_initialization_options())
            except Exception:
                # After a disconnect of the client, exceptions in the SDK are expected.
                if not tasks.cancel_scope.cancel_called:
                    raise
            tasks.cancel_scope.cancel()


async def _wait_until_unread(sink: int, scope: anyio.CancelScope) -> None:
    """Cancel the service when the reader has closed the output pipe, even if nothing is being written."""
    if not stat.S_ISFIFO(os.fstat(sink).st_mode) or sys.platform == "win32":
        return
    # The write end of a pipe never has data to read. It becomes readable only when the other end is closed.
    await anyio.wait_readable(sink)
    scope.cancel()


async def _wait_for_sigterm(reader: Reader, scope: anyio.CancelScope, at_sigterm: Callable[[], None] | None) -> None:
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return
    with anyio.open_signal_receiver(signal.SIGTERM) as told:
        async for _ in told:
            if at_sigterm is not None:
                at_sigterm()
            reader.is_over = True
            await reader.writer.drain(LAST_SECS)
            scope.cancel()
            return


@contextmanager
def _side_thread(name: str) -> Generator[SideThread]:
    thread = SideThread(name)
    try:
        yield thread
    finally:
        thread.close()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK)
    except OSError:  # the terminal was closed
        return b""


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def _claimed_descriptors() -> Generator[tuple[int, int]]:
    """Reserve stdin and stdout for the protocol. print() writes to stderr, and input() reads nothing."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(sink, 1)
        os.close(sink)
