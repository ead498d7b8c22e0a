"""A line on which everything takes its time: connections through it, and when each question was on its way."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import perf_counter

Connection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class SlowLine:
    """Passes bytes on to a port of this machine, each way `way_secs` late; a handshake takes a round trip."""

    port: int
    way_secs: float
    url: str = ""
    trips: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def rounds(self) -> int:
        """Return how many of the round trips had to wait for each other."""
        count, free_at = 0, 0.0
        for began, ended in sorted(self.trips, key=lambda trip: trip[1]):
            if began >= free_at:
                count, free_at = count + 1, ended
        return count

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        began = perf_counter()
        asked: list[float] = []
        loop = asyncio.get_running_loop()
        opened = began + 2 * self.way_secs
        self.trips.append((began, opened))
        near, far = writer, None
        with suppress(OSError):
            upstream, far = await asyncio.open_connection("127.0.0.1", self.port)

            def deliver(data: bytes) -> None:
                if asked:
                    self.trips.append((asked.pop(), perf_counter()))
                near.write(data)

            async def questions(out: asyncio.StreamWriter) -> None:
                while data := await reader.read(65_536):
                    asked[:] = asked or [max(perf_counter(), opened)]
                    loop.call_at(loop.time() + asked[0] - perf_counter() + self.way_secs, out.write, data)

            async def answers() -> None:
                while data := await upstream.read(65_536):
                    loop.call_later(self.way_secs, deliver, data)

            both = [asyncio.create_task(questions(far)), asyncio.create_task(answers())]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for each in both:
                each.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        for each in (near, far):
            if each is not None:
                each.close()


@contextmanager
def slow_line(port: int, way_secs: float) -> Generator[SlowLine]:
    """Open a line to a port, in a thread of its own."""
    line = SlowLine(port, way_secs)
    with listening(line.connection) as own_port:
        line.url = f"http://127.0.0.1:{own_port}"
        yield line


@contextmanager
def listening(connection: Connection) -> Generator[int]:
    """Listen on a free port of this machine, in a thread of its own; each connection is handed over."""
    ports: list[int] = []
    is_open, loop = threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        server = await asyncio.start_server(connection, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        is_open.set()
        await over.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # noqa: TID251 - what was aborted is closed in the next turn

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    is_open.wait()
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
