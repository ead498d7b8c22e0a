"""A chart as numbers for the page that draws it live."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.services.charts.local import LocalCharts

if TYPE_CHECKING:
    from mcp_binance_server.charts.render.request import Request

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class BarsReading:
    """What a chart shows, when its candles were read, and what it could not show ("code: sentence")."""

    request: "Request"
    as_of_ms: int
    last_bar_closed: bool
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChartBars:
    """Loads candles and computes what a picture of them would show, without drawing it."""

    local: LocalCharts
    catalogue: Callable[[], ChartCatalogue]

    async def read(self, config: Mapping[str, Any]) -> BarsReading:
        """Return what a configuration shows now.

        Raises:
            InvalidChartConfig: it is wrong, or nothing of Binance spot.
            InvalidSymbol: the exchange has no such pair.
        """
        # Loaded late: a server whose user draws nothing should not start slower for it.
        from mcp_binance_server.charts.render.request import prepare  # noqa: PLC0415
        from mcp_binance_server.charts.spec import to_spec  # noqa: PLC0415

        now = _EPOCH + timedelta(milliseconds=self.local.market.time.now_ms())
        chart = to_spec(config, catalogue=self.catalogue(), now=now)
        candles, spec = await self.local.loaded(chart)
        request = await anyio.to_thread.run_sync(prepare, candles, spec, limiter=self.local.composing)
        as_of_ms = spec.as_of_ms or 0
        return BarsReading(
            request, as_of_ms, candles[-1].close_time_ms < as_of_ms, (*chart.warnings, *request.warnings)
        )
