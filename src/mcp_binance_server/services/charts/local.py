"""Charts of Binance pairs drawn here: candles of our own, two at a time, equal ones once, each party in its turn."""

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import anyio
import msgspec

from mcp_binance_server.charts.errors import ChartNotDrawn, InvalidChartConfig
from mcp_binance_server.domain.money import decimals_of
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.services.market.indicators import candles_before
from mcp_binance_server.services.market.service import MarketService
from mcp_binance_server.state.fair_turns import FairTurn, FairTurns
from mcp_binance_server.state.flight import Flights

if TYPE_CHECKING:
    from mcp_binance_server.charts.render.spec import ChartSpec, ComparedSeries, Rendered
    from mcp_binance_server.charts.spec import LocalChart
    from mcp_binance_server.domain.periods import Candle

LOG = logging.getLogger(__name__)

MINUTE_MS: Final = 60_000
AT_A_TIME: Final = 2
# Fifty pictures in a row take less; who would wait longer is told so.
LONGEST_WAIT_SECS: Final = 30.0
# Waiting, loading and drawing together, with room to spare.
LONGEST_MS: Final = 90_000


@dataclass(frozen=True, slots=True)
class LocalPicture:
    """What was drawn, and when, by the exchange's clock."""

    rendered: "Rendered"
    at_ms: int


@dataclass(frozen=True, slots=True)
class LocalCharts:
    """Loads candles and draws them beside the event loop."""

    market: MarketService
    flights: Flights[LocalPicture]
    turns: FairTurns
    composing: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    longest_wait_secs: float = LONGEST_WAIT_SECS

    @property
    def network(self) -> Network:
        """Which Binance the candles come from."""
        return self.market.client.caller.network

    async def draw(self, chart: "LocalChart") -> LocalPicture:
        """Draw a chart; all who ask for the same one meanwhile get the same picture.

        Raises:
            InvalidSymbol: the exchange has no such pair.
            InvalidChartConfig: there is no candle in the range.
            ChartNotDrawn: the renderer failed, or too many wait for it, of this party or of all.
        """
        # Everything but the moment of asking: it differs between requests that mean the same picture.
        asked = msgspec.json.encode(replace(chart, spec=replace(chart.spec, as_of_ms=None)), order="deterministic")
        minute = self.market.time.now_ms() // MINUTE_MS
        name = f"{minute} {asked.decode()}"
        if self.flights.is_under_way(name):
            # What waits among the many pictures of one party is drawn sooner where another wants it too.
            self.turns.join(name)
            return await self.flights.join(name, lambda: self._draw(chart, self._asked(name)), lock_ms=LONGEST_MS)
        # Asked for out here: who has too many waiting is refused alone, not with all who want the same picture.
        turn = self._asked(name)
        return await self.flights.join(name, lambda: self._draw(chart, turn), lock_ms=LONGEST_MS)

    def _asked(self, name: str) -> FairTurn:
        if not self.turns.has_room():
            raise ChartNotDrawn(reason=f"{self.turns.most_waiting} charts of yours are waiting for their turn already")
        return self.turns.ask(name)

    async def _draw(self, chart: "LocalChart", turn: FairTurn) -> LocalPicture:
        try:
            await self.turns.wait(turn, self.longest_wait_secs)
        except TimeoutError:
            raise ChartNotDrawn(reason="too many charts are waiting for their turn") from None
        try:
            return await self._drawn(chart, gives_way=turn.gives_way)
        finally:
            self.turns.end(turn)

    async def _drawn(self, chart: "LocalChart", *, gives_way: bool) -> LocalPicture:
        # Loaded late: a server whose user draws nothing should not start slower for it.
        from mcp_binance_server.charts.render.chart import render_apart  # noqa: PLC0415

        candles, spec = await self.loaded(chart)
        LOG.info("drawing %s %s from %d candles", chart.pair, chart.interval, len(candles))
        try:
            rendered = await render_apart(candles, spec, limiter=self.composing, gives_way=gives_way)
        except RuntimeError:
            raise ChartNotDrawn(reason="the renderer failed") from None
        except TimeoutError:
            raise ChartNotDrawn(reason="the renderer took too long") from None
        return LocalPicture(rendered, self.market.time.now_ms())

    async def loaded(self, chart: "LocalChart") -> "tuple[tuple[Candle, ...], ChartSpec]":
        """Return the candles of a chart and, with what only the exchange knows, how to draw them.

        Raises:
            InvalidSymbol: the exchange has no such pair.
            InvalidChartConfig: there is no candle in the range.
        """
        from mcp_binance_server.charts.render.spec import bars_to_load  # noqa: PLC0415

        rules = await self.market.rules(chart.pair)
        candles = await candles_before(
            self.market.client, rules.symbol, chart.interval, bars_to_load(chart.spec), until_ms=chart.until_ms
        )
        if not candles:
            raise InvalidChartConfig(details=({"field": "range", "message": "there is no candle in this range"},))
        compared = tuple([await self._compared(chart, other) for other in chart.compare])
        now_ms = self.market.time.now_ms()
        return candles, replace(
            chart.spec, decimals=decimals_of(rules.tick), venue=_venue(self.network), as_of_ms=now_ms, compared=compared
        )

    async def _compared(self, chart: "LocalChart", other: str) -> "ComparedSeries":
        from mcp_binance_server.charts.render.spec import ComparedSeries  # noqa: PLC0415

        rules = await self.market.rules(other)
        candles = await candles_before(
            self.market.client, rules.symbol, chart.interval, chart.spec.bars, until_ms=chart.until_ms
        )
        return ComparedSeries(
            rules.symbol, tuple(each.open_time_ms for each in candles), tuple(float(each.close) for each in candles)
        )


def _venue(network: Network) -> str:
    if network.simulated:
        return "SIMULATED"
    return "BINANCE" if network.name == "mainnet" else f"BINANCE {network.name.upper()}"
