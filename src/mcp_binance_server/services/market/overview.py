"""Overview of the market, computed only from the boards of spot and perpetuals."""

from dataclasses import dataclass

import anyio

from mcp_binance_server.analytics.market.scan.summary import MarketOverview, MarketSummary, summarised
from mcp_binance_server.domain.board import BoardView
from mcp_binance_server.domain.symbols import fold
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.futures.side import FuturesNotOffered
from mcp_binance_server.services.market.board import BoardService
from mcp_binance_server.services.market.scan import ScanService, least_volume, no_such_quote

# Timeout in seconds of the perpetual part, which is secondary on a page about spot.
PERPETUAL_SECS = 5.0


@dataclass(frozen=True, slots=True)
class OverviewService:
    """Summary of all pairs. A failure of the futures host affects only its own part of the page."""

    boards: BoardService
    scans: ScanService

    async def read(self, quote: str, count: int) -> MarketOverview:
        """Summarise the pairs against an asset, with `count` rows of each kind.

        Raises:
            InvalidArguments: no pair is traded against that asset.
            AppError: the spot board cannot be read.
        """
        asset = fold(quote)
        least = least_volume(asset)
        perpetual: list[MarketSummary | None] = []
        missing: list[str] = []

        def summary(view: BoardView) -> MarketSummary | None:
            return summarised(self.scans.numbers_of(view), view, quote=asset, min_volume=least, count=count)

        async def read_perpetual() -> None:
            try:
                with anyio.fail_after(PERPETUAL_SECS):
                    perpetual.append(summary(await self.boards.read("perpetual")))
            except FuturesNotOffered:
                return
            except TimeoutError:
                missing.append(f"no answer within {PERPETUAL_SECS:g} s")
            except AppError as error:
                missing.append(error.message)

        failures: list[AppError] = []
        views: list[BoardView] = []
        async with anyio.create_task_group() as group:
            group.start_soon(read_perpetual)
            try:
                views.append(await self.boards.read("spot"))
            except AppError as error:  # the group would wrap the error
                failures.append(error)
                group.cancel_scope.cancel()
        if failures:
            raise failures[0]
        spot = summary(views[0])
        if spot is None:
            raise no_such_quote("spot", asset, views[0].board)
        return MarketOverview(asset, least, spot, perpetual[0] if perpetual else None, missing[0] if missing else None)
