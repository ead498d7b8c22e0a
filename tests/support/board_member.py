"""A whole server as a process of a fleet, in which a crowd asks for the movers of both markets.

Its settings are its environment. It prints `ready`; a line `READERS PERIOD_MS` lets so many read for so long, and is
answered by a line of JSON: how often they asked, and which boards they saw. It ends with its input.
"""

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.board import BoardMarket
from mcp_binance_server.errors import EngineUnavailable, ExchangeUnavailable
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.tools.market.scan import ScanMarket, asked_screen

CLOCK = SystemClock()
MARKETS: tuple[BoardMarket, ...] = ("spot", "perpetual")
QUESTIONS = {market: asked_screen(ScanMarket.model_validate({"market": market})) for market in MARKETS}
PAUSE_MS = 500
# A process that saw only one board has not shown that the next board is fetched once for all.
FEWEST_BOARDS = 2


@dataclass
class Crowd:
    """Readers of one process, each of whom asks, waits a moment and asks again."""

    app: App
    until_ms: float
    asked: int = 0
    seen: dict[BoardMarket, set[int]] = field(default_factory=lambda: {market: set[int]() for market in MARKETS})

    async def read(self, number: int) -> None:
        # Somebody asks at any moment, and the first of all together.
        await CLOCK.sleep_ms(number % 10 * PAUSE_MS / 10)
        has_asked = False
        while not has_asked or self._goes_on():
            # On a machine that was paused, the time of a call may be over. The reader then asks again.
            with suppress(EngineUnavailable, ExchangeUnavailable):
                for market in MARKETS:
                    await self._ask(market)
                has_asked = True
            await CLOCK.sleep_ms(PAUSE_MS)

    async def _ask(self, market: BoardMarket) -> None:
        report = await self.app.context.screener.scan(QUESTIONS[market])
        assert report.rows or report.losers  # there are hours in which all of them fell
        self.asked += 1
        self.seen[market].add(report.view.board.at_ms)

    def _goes_on(self) -> bool:
        return CLOCK.monotonic_ms() < self.until_ms or any(len(each) < FEWEST_BOARDS for each in self.seen.values())

    def told(self) -> dict[str, Any]:
        return {"asked": self.asked, "seen": {market: sorted(boards) for market, boards in self.seen.items()}}


async def main() -> None:
    async with running_app(read_settings(), preload=True) as app:
        print("ready", flush=True)  # noqa: T201 - the parent reads it
        while line := await asyncio.to_thread(sys.stdin.readline):
            readers, period_ms = map(int, line.split())
            crowd = Crowd(app, CLOCK.monotonic_ms() + period_ms)
            async with asyncio.TaskGroup() as group:
                for number in range(readers):
                    group.create_task(crowd.read(number))
            print(json.dumps(crowd.told()), flush=True)  # noqa: T201 - the parent reads it


if __name__ == "__main__":
    asyncio.run(main())
