"""An approval page on a real socket, and somebody who writes requests by hand."""

import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from anyio.from_thread import start_blocking_portal

from cli.trading.trading_folder import TradingFolder
from mcp_binance_server.cli.trading.host import TradingHost
from mcp_binance_server.cli.trading.page.deciding import OneDecision
from mcp_binance_server.cli.trading.page.html import HEADERS
from mcp_binance_server.cli.trading.page.http import listening
from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.settings import read_settings
from mcp_binance_server.trading.journal.records import NewIntent, Waiting

PATIENCE_SECS = 20.0


@dataclass(frozen=True, slots=True)
class Told:
    """An answer as it came."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass(slots=True)
class Hand:
    """Writes requests as the page's own browser does, unless told otherwise."""

    port: int
    path: str
    cookie: str = ""

    @classmethod
    def of(cls, address: str) -> "Hand":
        parts = urlsplit(address)
        assert parts.port is not None
        return cls(parts.port, parts.path)

    def get(self, **changes: str | None) -> Told:
        """Open the page; what is None is left out."""
        told = self.raw(self.written("GET", b"", changes))
        if "set-cookie" in told.headers and not self.cookie:
            self.cookie = told.headers["set-cookie"].partition(";")[0]
        return told

    def post(self, decision: str | None, passphrase: str | None = None, **changes: str | None) -> Told:
        """Press a button of the page."""
        form = {"passphrase": passphrase, "decision": decision}
        body = urlencode({name: text for name, text in form.items() if text is not None}).encode()
        return self.raw(self.written("POST", body, changes))

    def written(self, method: str, body: bytes, changes: dict[str, str | None]) -> bytes:
        own = f"127.0.0.1:{self.port}"
        usual: dict[str, str | None] = {"host": own, "cookie": self.cookie or None}
        if method == "POST":
            usual |= {
                "origin": f"http://{own}",
                "sec_fetch_site": "same-origin",
                "content_type": "application/x-www-form-urlencoded",
                "content_length": str(len(body)),
            }
        given = {"path": self.path, "method": method} | usual | changes
        lines = [f"{given.pop('method')} {given.pop('path')} HTTP/1.1"]
        lines += [f"{name.replace('_', '-')}: {text}" for name, text in given.items() if text is not None]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def raw(self, data: bytes) -> Told:
        """Send these very bytes and read to the end."""
        with self.line() as line:
            line.sendall(data)
            return read(line)

    def line(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECS)


def read(line: socket.socket) -> Told:
    said = b""
    while chunk := line.recv(65_536):
        said += chunk
    head, _, body = said.decode().partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    pairs = (each.partition(": ") for each in lines)
    return Told(int(first.split(" ")[1]), {name.lower(): value for name, _, value in pairs}, body)


@dataclass(frozen=True, slots=True)
class ServedPage:
    """The page, and the hand that opens it first."""

    decision: OneDecision
    hand: Hand = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hand", self.other_browser())

    def other_browser(self) -> Hand:
        return Hand.of(self.decision.address)

    @property
    def is_over(self) -> bool:
        return self.decision.over.is_set()


@contextmanager
def served_page(folder: TradingFolder, new: NewIntent, clock: Clock | None = None) -> Generator[ServedPage]:
    """Serve the page of an order that waits."""
    host = TradingHost(read_settings(), folder.path, clock or SystemClock())
    waiting = Waiting(new.preview_id, "local", new.terms, host.clock.now_ms(), None)

    @asynccontextmanager
    async def serving() -> AsyncGenerator[OneDecision]:
        async with listening(HEADERS) as server:
            page = OneDecision(host, waiting, server.port)
            server.answer = page.answer
            yield page

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving()) as page:
        yield ServedPage(page)
