"""A TCP proxy that can stop forwarding without closing anything, and can lead elsewhere."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Partition:
    """Forwards while `open`; bytes that come while it is shut are held back, as on a broken route."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def shut(self) -> None:
        self._open.clear()

    def mend(self) -> None:
        self._open.set()

    def lead_to(self, port: int) -> None:
        """Lead elsewhere from now on, and cut what led to the old place."""
        self.target = port
        for writer in self._writers:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._open.wait()
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.target)
            await asyncio.gather(self._pipe(reader, server_writer), self._pipe(server_reader, writer))
        except OSError:
            pass
        finally:
            writer.close()

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while piece := await reader.read(65_536):
                await self._open.wait()
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


@asynccontextmanager
async def partition(target: int) -> AsyncGenerator[Partition]:
    """Run a proxy in front of a port of this machine."""
    proxy = Partition(target)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(proxy.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
