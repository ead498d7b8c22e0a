"""Charts of Binance pairs, drawn here from candles. Two run at a time, and parties get turns in round-robin order."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import anyio
import msgspec

from mcp_binance_server.charts.errors import ChartNotDrawn, InvalidChartConfig
from mcp_binance_server.domain.money import decimals_of
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.services.charts.candle_cache import LoadedSeries, WatchedPair, load_series
from mcp_binance_server.services.charts.turns import LONGEST_WAIT_SECS, in_turn
from mcp_binance_server.services.market.service import MarketService
from mcp_binance_server.state.fair_turns import FairTurns
from mcp_binance_server.state.flight import Flights

if TYPE_CHECKING:
    from mcp_binance_server.charts.render.spec import ChartSpec, ComparedSeries, Rendered
    from mcp_binance_server.charts.spec import LocalChart
    from mcp_binance_server.domain.periods import Candle

LOG = logging.getLogger(__name__)

MINUTE_MS: Final = 60_000
AT_A_TIME: Final = 2

Load = Callable[[WatchedPair, int], Awaitable[LoadedSeries]]


@dataclass(frozen=True, slots=True)
class LocalPicture:
    """A rendered chart, and its time by the exchange's clock."""

    rendered: "Rendered"
    at_ms: int


@dataclass(frozen=True, slots=True)
class LocalCharts:
    """Local renderer: loads candles and draws them outside the event loop."""

    market: MarketService
    flights: Flights[LocalPicture]
    turns: FairTurns
    composing: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    longest_wait_secs: float = LONGEST_WAIT_SECS

    @property
    def network(self) -> Network:
        """The Binance network of the candles."""
        return self.market.client.caller.network

    async def draw(self, chart: "LocalChart", *, is_private: bool = False) -> LocalPicture:
        """Draw a chart. Concurrent requests for an equal chart share one picture, unless it is private.

        Raises:
            InvalidSymbol: the exchange does not list the pair.
            InvalidChartConfig: the range has no candles.
            ChartNotDrawn: the renderer failed, or too many charts are waiting, of this party or in total.
        """
        name = f"private {uuid4()}" if is_private else f"{self.market.time.now_ms() // MINUTE_MS} {name_of(chart)}"
        return await in_turn(
            name,
            lambda turn: self._drawn(chart, gives_way=turn.gives_way),
            flights=self.flights,
            turns=self.turns,
            longest_wait_secs=self.longest_wait_secs,
        )

    async def _drawn(self, chart: "LocalChart", *, gives_way: bool) -> LocalPicture:
        # Imported lazily: a server without charts should not start slower.
        from mcp_binance_server.charts.render.chart import render_apart  # noqa: PLC0415

        candles, spec = await self.loaded(chart, partial(load_series, self.market.client))
        LOG.info("drawing %s %s from %d candles", chart.pair, chart.interval, len(candles))
        try:
            rendered = await render_apart(candles, spec, limiter=self.composing, gives_way=gives_way)
        except RuntimeError:
            raise ChartNotDrawn(reason="the renderer failed") from None
        except TimeoutError:
            raise ChartNotDrawn(reason="the renderer took too long") from None
        return LocalPicture(rendered, self.market.time.now_ms())

    async def loaded(self, chart: "LocalChart", load: Load) -> "tuple[tuple[Candle, ...], ChartSpec]":
        """Return the candles of a chart, and its spec completed with facts from the exchange.

        Raises:
            InvalidSymbol: the exchange does not list the pair.
            InvalidChartConfig: the range has no candles.
        """
        from mcp_binance_server.charts.render.spec import bars_to_load  # noqa: PLC0415

        rules = await self.market.rules(chart.pair)
        series = await load(WatchedPair(rules.symbol, chart.interval, chart.until_ms), bars_to_load(chart.spec))
        if not series.candles:
            raise InvalidChartConfig(details=({"field": "range", "message": "there are no candles in this range"},))
        compared = tuple([await self._compared(chart, other, load) for other in chart.compare])
        return series.candles, replace(
            chart.spec,
            decimals=decimals_of(rules.tick),
            venue=_venue(self.network),
            as_of_ms=series.as_of_ms,
            compared=compared,
        )

    async def _compared(self, chart: "LocalChart", other: str, load: Load) -> "ComparedSeries":
        from mcp_binance_server.charts.render.spec import ComparedSeries  # noqa: PLC0415

        rules = await self.market.rules(other)
        candles = (await load(WatchedPair(rules.symbol, chart.interval, chart.until_ms), chart.spec.bars)).candles
        return ComparedSeries(
            rules.symbol, tuple(each.open_time_ms for each in candles), tuple(float(each.close) for each in candles)
        )


def name_of(chart: "LocalChart") -> str:
    """Return the cache key of a chart. It omits the request time, which differs between equal requests."""
    asked = replace(chart, spec=replace(chart.spec, as_of_ms=None))
    return msgspec.json.encode(asked, order="deterministic").decode()


def _venue(network: Network) -> str:
    if network.simulated:
        return "SIMULATED"
    return "BINANCE" if network.source == "mainnet" else f"BINANCE {network.source.upper()}"
