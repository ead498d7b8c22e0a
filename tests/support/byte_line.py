"""A line to a port of this machine on which every byte that a client sends is kept: what left, and what did not."""

import asyncio
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from support.slow_line import listening

# How a request begins that changes something, wherever in the bytes of a connection.
_WRITE = re.compile(rb"(?:\A|\r\n\r\n)((?:POST|PUT|DELETE|PATCH) \S+)")


@dataclass
class ByteLine:
    """Passes bytes on, both ways, and keeps those of the client, by connection."""

    port: int
    host: str = ""
    sent: list[bytearray] = field(default_factory=list[bytearray])

    def writes(self) -> list[str]:
        """Return how each request began that was no read, and where it went."""
        return [found.decode("latin-1") for each in [*self.sent] for found in _WRITE.findall(bytes(each))]

    def silent(self) -> int:
        """Count the connections on which no byte was sent."""
        return sum(not each for each in self.sent)

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kept = bytearray()
        self.sent.append(kept)
        ends = [writer]
        try:
            with suppress(OSError):
                upstream, far = await asyncio.open_connection("127.0.0.1", self.port)
                ends.append(far)
                both = [
                    asyncio.create_task(_pass_on(reader, far, kept)),
                    asyncio.create_task(_pass_on(upstream, writer, None)),
                ]
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                for each in both:
                    each.cancel()
                await asyncio.gather(*both, return_exceptions=True)
        finally:
            for each in ends:
                each.transport.abort()


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter, kept: bytearray | None) -> None:
    while data := await source.read(65_536):
        if kept is not None:
            kept += data
        target.write(data)
        await target.drain()


@contextmanager
def byte_line(port: int) -> Generator[ByteLine]:
    """Open a line to a port, in a thread of its own."""
    line = ByteLine(port)
    with listening(line.connection) as own_port:
        line.host = f"127.0.0.1:{own_port}"
        yield line
