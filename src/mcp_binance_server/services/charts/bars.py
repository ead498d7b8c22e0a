"""Data of the live chart's page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.services.charts.candle_cache import CandleCache, LoadedSeries, WatchedPair
from mcp_binance_server.services.charts.local import LocalCharts, name_of
from mcp_binance_server.services.charts.turns import in_turn
from mcp_binance_server.state.fair_turns import FairTurns
from mcp_binance_server.state.flight import Flights

if TYPE_CHECKING:
    from mcp_binance_server.charts.render.request import Request
    from mcp_binance_server.charts.render.spec import ChartSpec
    from mcp_binance_server.charts.spec import LocalChart
    from mcp_binance_server.domain.periods import Candle

AT_A_TIME: Final = 1
MOST_READY: Final = 16


@dataclass(frozen=True, slots=True)
class BarsReading:
    """Data of a chart, the time of its candles, and warnings about missing parts. A warning is a "code: sentence"."""

    request: "Request"
    as_of_ms: int
    last_bar_closed: bool
    is_over: bool
    """Whether the chart is final."""
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChartBars:
    """Chart data without a picture. The candles are cached while a client watches.

    Equal requests within a second share one answer. One chart is computed at a time. The parties (clients) get their
    turns in round-robin order.
    """

    local: LocalCharts
    catalogue: Callable[[], ChartCatalogue]
    candles: CandleCache
    flights: Flights[BarsReading]
    turns: FairTurns
    _ready: dict[str, BarsReading] = field(default_factory=dict[str, BarsReading], init=False, repr=False)

    async def read(self, config: Mapping[str, Any]) -> BarsReading:
        """Return the current data of a chart configuration.

        Raises:
            InvalidChartConfig: the configuration is wrong, or not about Binance spot.
            InvalidSymbol: the exchange does not list the pair.
            ChartNotDrawn: too many charts are waiting, of this party or in total.
        """
        # Imported lazily: a server without charts should not start slower.
        from mcp_binance_server.charts.spec import to_spec  # noqa: PLC0415

        now = moment_of(self.local.market.time.now_ms())
        chart = to_spec(config, catalogue=self.catalogue(), now=now)
        read_ms: list[int] = []

        async def load(pair: WatchedPair, count: int) -> LoadedSeries:
            series = await self.candles.newest(pair, count)
            read_ms.append(series.as_of_ms)
            return series

        candles, spec = await self.local.loaded(chart, load)
        name = f"{read_ms} {name_of(chart)}"
        if name not in self._ready:
            reading = await in_turn(
                name, lambda _: self._read(chart, candles, spec), flights=self.flights, turns=self.turns
            )
            self._ready[name] = reading
            while len(self._ready) > MOST_READY:
                del self._ready[next(iter(self._ready))]
        return self._ready[name]

    async def _read(self, chart: "LocalChart", candles: "Sequence[Candle]", spec: "ChartSpec") -> BarsReading:
        from mcp_binance_server.charts.render.request import prepare  # noqa: PLC0415

        request = await anyio.to_thread.run_sync(prepare, candles, spec, limiter=self.local.composing)
        as_of_ms = spec.as_of_ms or 0
        is_closed = candles[-1].close_time_ms < as_of_ms
        return BarsReading(
            request=request,
            as_of_ms=as_of_ms,
            last_bar_closed=is_closed,
            is_over=chart.until_ms is not None and is_closed,
            warnings=(*chart.warnings, *request.warnings),
        )
