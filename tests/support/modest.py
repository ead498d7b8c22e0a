"""Callers who use a server as people do: each within its share, and each notes how long it waited or why it could not.

python -m support.modest          (a line of JSON says where and what; each further line asks for what was noted since)
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from time import perf_counter
from typing import Any

from mcp_binance_server.clock import SystemClock
from support.plain_http import Line, Reply, call, listen, ordered
from support.raw import INITIALIZE, INITIALIZED

SESSION = "mcp-session-id"
CLOCK = SystemClock()


class Complaint(Exception):
    """What a caller within its share should not have met."""


def content(reply: Reply) -> Reply:
    if reply.complaint:
        raise Complaint(reply.complaint)
    return reply


@dataclass
class Caller:
    """One of them: a token, a connection it keeps, and one of the symbols that all of them share."""

    port: int
    token: str
    number: int
    line: Line = field(init=False)
    other: Line = field(init=False)
    session: str = ""
    asked: int = 0

    def __post_init__(self) -> None:
        self.line, self.other = Line(self.port, self.token), Line(self.port, self.token)

    @property
    def symbol(self) -> str:
        return f"CROWD{self.number % 10:03}USDT"

    @property
    def page(self) -> str:
        return f"binance://market/{self.symbol.lower()}"

    async def in_session(self, message: dict[str, Any], method: str = "POST") -> Reply:
        return await self.line.ask(method, {SESSION: self.session}, message)

    async def open_session(self) -> str:
        reply = content(await self.line.ask("POST", {}, INITIALIZE))
        await self.line.ask("POST", {SESSION: reply.headers[SESSION]}, INITIALIZED)
        return reply.headers[SESSION]

    async def look(self) -> None:
        """Ask for a price, which nothing but the loop's time and a connection are needed for."""
        content(await self.line.ask("POST", *call("get_ticker", symbol=self.symbol)))

    async def weight(self) -> None:
        """Request candles that no other caller requests, so that they cost two of the minute's weight."""
        self.asked += 1
        limit = 1 + self.number // 10 * 10 + self.asked % 10
        content(await self.line.ask("POST", *call("get_klines", symbol=self.symbol, interval="1h", limit=limit)))

    async def sessions(self) -> None:
        """Ask in the session that is kept, then open and leave another."""
        if not self.session:
            self.session = await self.open_session()
        kept = await self.in_session({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        if kept.status == 404:
            self.session = ""
            raise Complaint("lost its session")
        content(kept)
        second = await self.open_session()
        await self.line.ask("DELETE", {SESSION: second})

    async def streams(self) -> None:
        """Keep one stream, and open and leave another."""
        if self.other.reader is None:
            await self._listen(self.other)
        elif self.other.reader.at_eof():
            self.other.close()
            raise Complaint("lost its stream")
        await self._listen(self.line)
        self.line.close()

    async def _listen(self, line: Line) -> None:
        await line.connect()
        status, headers = await line.begin("POST", *listen(self.page))
        if "event-stream" not in headers.get("content-type", ""):
            raise Complaint(f"no stream: {status}")
        if b"notifications" not in await line.next_event():
            raise Complaint("no first event")

    async def subscriptions(self) -> None:
        """Read a live book of the page it has subscribed to."""
        if not self.session:
            self.session = await self.open_session()
        for method in ("resources/unsubscribe", "resources/subscribe"):
            content(await self.in_session({"jsonrpc": "2.0", "id": 3, "method": method, "params": {"uri": self.page}}))
        name, arguments = "get_orderbook_metrics", {"symbol": self.symbol}
        asked = {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        if b"(live" not in content(await self.in_session(asked)).body:
            raise Complaint("not live")

    async def connections(self) -> None:
        """Ask on a new connection."""
        await self.look()
        self.line.close()

    async def drawings(self) -> None:
        """Have a picture of one's own drawn."""
        self.asked += 1
        wish = {
            "symbol": f"BINANCE:{self.symbol}",
            "interval": "1h",
            "width": 600 + self.number,
            "height": 400 + self.asked,
        }
        content(await self.line.ask("POST", *call("generate_chart_image", config=wish)))

    async def boards(self) -> None:
        """Ask what moves, in one market and then in the other."""
        self.asked += 1
        market = ("spot", "perpetual")[self.asked % 2]
        content(await self.line.ask("POST", *call("scan_market", market=market, limit=1 + self.number % 10)))

    async def screens(self) -> None:
        """Ask for the most traded, with something of their candles; it must be there at once."""
        self.asked += 1
        market, interval = ("spot", "perpetual")[self.asked % 2], ("1h", "4h")[self.asked // 2 % 2]
        shown = {"sort": "quote_volume_24h", "show": [f"rsi_14@{interval}"], "limit": 1 + self.number % 3}
        reply = content(await self.line.ask("POST", *call("scan_market", market=market, **shown)))
        if b'"waiting":0' not in reply.body.replace(b" ", b""):
            raise Complaint("candles are missing")

    async def orders(self) -> None:
        """Place a small order on paper."""
        self.asked += 1
        preview, placing = await ordered(self.line, f"{Decimal('0.0001') + self.asked % 50 * Decimal('0.00001'):f}")
        content(preview)
        if placing is None:
            raise Complaint("no preview to place")
        content(placing)

    loop = look


@dataclass
class Notes:
    """How long each deed took since the last look, and what was complained of."""

    secs: list[float] = field(default_factory=list[float])
    complaints: Counter[str] = field(default_factory=Counter[str])
    begun: dict[int, float] = field(default_factory=dict[int, float])

    def taken(self) -> dict[str, Any]:
        """Return what was noted, and of what is still under way how long it has lasted, if that is longer than most."""
        usual = sorted(self.secs)[len(self.secs) // 2] if self.secs else 0.0
        waiting = [lasted for began in self.begun.values() if (lasted := perf_counter() - began) > usual]
        found = {"secs": sorted([*self.secs, *waiting]), "done": len(self.secs), "complaints": dict(self.complaints)}
        self.secs.clear()
        self.complaints.clear()
        return found


async def use(number: int, deed: Callable[[], Awaitable[None]], notes: Notes, period: float, random: Random) -> None:
    """Do something once in a while, whatever became of it before."""
    await CLOCK.sleep_ms(1000 * (random.uniform(0, period)))
    while True:
        began = notes.begun[number] = perf_counter()
        try:
            await deed()
            notes.secs.append(perf_counter() - began)
        except Complaint as complaint:
            notes.complaints[str(complaint)] += 1
        except (OSError, EOFError, TimeoutError) as lost:
            notes.complaints[type(lost).__name__] += 1
        finally:
            del notes.begun[number]
        await CLOCK.sleep_ms(1000 * (max(0.0, began + random.uniform(0.9, 1.1) * period - perf_counter())))


async def main() -> None:
    reader = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    told = json.loads(await reader.readline())
    notes, random = Notes(), Random(7)
    callers = [Caller(told["port"], token, number) for number, token in enumerate(told["tokens"])]
    async with asyncio.TaskGroup() as group:
        users = [
            group.create_task(use(each.number, getattr(each, told["currency"]), notes, told["period"], random))
            for each in callers
        ]
        while await reader.readline():
            sys.stdout.write(json.dumps(notes.taken()) + "\n")
            sys.stdout.flush()
        for user in users:
            user.cancel()


if __name__ == "__main__":
    asyncio.run(main())
