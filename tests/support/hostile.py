"""One caller who takes all it can get of one thing that everybody needs.

python -m support.hostile         (a line of JSON says where and what; it ends with its standard input)
"""

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from decimal import Decimal
from itertools import count
from random import Random
from typing import Any

from mcp_binance_server.clock import SystemClock
from support.plain_http import Line, call, listen, ordered, stateless
from support.raw import INITIALIZE, INITIALIZED

SESSION = "mcp-session-id"
CLOCK = SystemClock()
# It takes what the machine has left over: a fight for the processor is not what is measured.
NICE = 10
MARKETS = ("spot", "perpetual")
# Days and hours of hundreds of them would take the simulated exchange the processor for seconds.
INTERVALS = ("15m", "1h")
BOARD_COLUMNS = ["price", "change_24h", "range_24h", "quote_volume_24h", "trades_24h", "spread_bps"]
CANDLE_COLUMNS = ["change", "change_7", "change_30", "rel_volume", "rsi_14", "atr_14", "vs_sma_20", "vs_sma_200"]


class Greed:
    """Everything it does is done by so many at once, for ever, and begun again when it fails."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.got: Counter[str] = Counter()
        self._numbers = count()
        self._chance = Random(1)

    def line(self) -> Line:
        return Line(self.port, self.token)

    async def weight(self, line: Line) -> None:
        """Request trades that are not cached, 25 of the minute's weight each."""
        number = next(self._numbers)
        symbol = f"CROWD{number // 900 % 20:03}USDT"
        self._note(
            (await line.ask("POST", *call("get_recent_trades", symbol=symbol, limit=1 + number % 900))).complaint
        )

    async def sessions(self, line: Line) -> None:
        """Open a session and hold it with a stream that is not read."""
        reply = await line.ask("POST", {}, INITIALIZE)
        self._note(reply.complaint)
        if reply.complaint:
            await CLOCK.sleep_ms(100)
            return
        session = reply.headers[SESSION]
        await line.ask("POST", {SESSION: session}, INITIALIZED)
        await line.begin("GET", {SESSION: session})
        await _until_it_ends(line)

    async def streams(self, line: Line) -> None:
        line.close()
        await line.connect()
        _, headers = await line.begin("POST", *listen("binance://market/crowd000usdt"))
        held = "event-stream" in headers.get("content-type", "")
        self._note("" if held else "refused")
        if held:
            await _until_it_ends(line)
        await CLOCK.sleep_ms(50)

    async def subscriptions(self, line: Line) -> None:
        """Follow every symbol there is, in as many sessions as there are tasks."""
        first = next(self._numbers)
        reply = await line.ask("POST", {}, INITIALIZE)
        session = reply.headers.get(SESSION, "")
        await line.ask("POST", {SESSION: session}, INITIALIZED)
        while True:
            for number in range(30):
                uri = f"binance://market/crowd{10 + (first * 7 + number) % 50:03}usdt"
                asked = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": uri}}
                reply = await line.ask("POST", {SESSION: session}, asked)
                self._note(reply.complaint)
                if reply.status == 404:
                    return
            await CLOCK.sleep_ms(200)

    async def connections(self, line: Line) -> None:
        """Hold a connection: every second one half a request, the others idle after a first that was answered."""
        line.close()
        await line.connect()
        assert line.writer is not None
        if next(self._numbers) % 2:
            line.writer.write(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
        else:
            await line.ask("POST", *stateless("ping", {}))
        self._note("")
        await _until_it_ends(line)

    async def drawings(self, line: Line) -> None:
        number = next(self._numbers)
        wish = {"symbol": "BINANCE:CROWD001USDT", "interval": "1h", "width": 800, "height": 300 + number % 700}
        self._note((await line.ask("POST", *call("generate_chart_image", config=wish))).complaint)

    async def loop(self, line: Line) -> None:
        """Ask for what is long to write and costs no weight: a live book, each time with another number of rows."""
        number = next(self._numbers)
        asked = (
            call("get_order_book", symbol="CROWD000USDT", limit=1000 - number % 400)
            if number % 4
            else stateless("tools/list", {})
        )
        self._note((await line.ask("POST", *asked)).complaint)

    async def boards(self, line: Line) -> None:
        """Sort the whole market in another way each time."""
        asked = {"market": self._chance.choice(MARKETS), "min_volume": str(next(self._numbers)), "limit": 50}
        column = self._chance.choice(BOARD_COLUMNS)
        self._note((await line.ask("POST", *call("scan_market", sort=column, show=BOARD_COLUMNS, **asked))).complaint)

    async def screens(self, line: Line) -> None:
        """Screen every pair by candles that are not cached."""
        where = [
            f"{column}@{interval} > -{next(self._numbers)}"
            for column, interval in zip(self._chance.sample(CANDLE_COLUMNS, 2), INTERVALS, strict=True)
        ]
        market = self._chance.choice(MARKETS)
        self._note((await line.ask("POST", *call("scan_market", market=market, min_volume="0", where=where))).complaint)

    async def orders(self, line: Line) -> None:
        """Preview orders without end, and place every one of them."""
        number = next(self._numbers)
        preview, placing = await ordered(line, f"{Decimal('0.0001') + number % 900 * Decimal('0.00001'):f}")
        self._note(preview.complaint or (placing.complaint if placing else "no preview"))

    def _note(self, complaint: str) -> None:
        self.got[complaint or "taken"] += 1


async def _until_it_ends(line: Line) -> None:
    if line.reader is not None:
        await line.reader.read()


async def persist(greed: Greed, deed: Callable[[Line], Awaitable[None]]) -> None:
    line = greed.line()
    while True:
        with suppress(OSError, EOFError, TimeoutError, KeyError, ValueError):
            await deed(line)
            continue
        greed.got["lost"] += 1
        line.close()
        await CLOCK.sleep_ms(20)


async def main() -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    told: dict[str, Any] = json.loads(await reader.readline())
    os.nice(NICE)
    greed = Greed(told["port"], told["token"])
    async with asyncio.TaskGroup() as group:
        hands = [group.create_task(persist(greed, getattr(greed, told["currency"]))) for _ in range(told["at_once"])]
        while not greed.got:
            await CLOCK.sleep_ms(20)
        sys.stdout.write("it has begun\n")
        sys.stdout.flush()
        await reader.read()
        for hand in hands:
            hand.cancel()
    sys.stdout.write(json.dumps(greed.got) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
