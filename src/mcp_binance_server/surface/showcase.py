"""A few prices and a chart for people who look before they connect; kept for a moment, so looking costs little."""

from base64 import b64decode
from dataclasses import dataclass, field
from typing import Literal

from mcp import types

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.views.markdown import percent
from mcp_binance_server.surface.views.market import shown_price

Theme = Literal["light", "dark"]
SYMBOLS = ("BTCUSDT", "ETHUSDT", "BNBUSDT", "SOLUSDT", "XRPUSDT", "DOGEUSDT")
CHARTED = "BTCUSDT"
CHART = {
    "symbol": f"BINANCE:{CHARTED}",
    "interval": "1h",
    "width": 1280,
    "height": 560,
    "studies": [{"name": "Volume"}],
}
TOOL = "generate_chart_image"
PRICES_MS = 1_000
CHART_MS = 15_000


@dataclass(frozen=True, slots=True)
class PriceTag:
    """One pair as people read it."""

    base: str
    quote: str
    price: str
    change: str
    has_risen: bool


@dataclass
class Showcase:
    """Asks our own tools as any client would."""

    dispatcher: Dispatcher
    clock: Clock
    _quotes: tuple[float, tuple[PriceTag, ...]] | None = field(default=None, init=False, repr=False)
    _charts: dict[Theme, tuple[float, bytes]] = field(
        default_factory=dict[Theme, tuple[float, bytes]], init=False, repr=False
    )

    @property
    def has_chart(self) -> bool:
        return self.dispatcher.catalogue.tool(TOOL) is not None

    async def quotes(self) -> tuple[PriceTag, ...]:
        """Return the prices of now; none while the market cannot be asked."""
        now_ms = self.clock.monotonic_ms()
        if self._quotes is None or now_ms - self._quotes[0] >= PRICES_MS:
            try:
                board = await self.dispatcher.context.market.tickers(SYMBOLS)
            except AppError:
                return ()
            quotes = tuple(
                PriceTag(
                    view.rules.base,
                    view.rules.quote,
                    shown_price(view, view.ticker.last_price),
                    percent(view.ticker.change_percent),
                    view.ticker.change_percent >= 0,
                )
                for view in board.views
            )
            self._quotes = (now_ms, quotes)
        return self._quotes[1]

    async def chart(self, theme: Theme) -> bytes | None:
        """Return the picture; none if it cannot be drawn."""
        now_ms = self.clock.monotonic_ms()
        kept = self._charts.get(theme)
        if kept is None or now_ms - kept[0] >= CHART_MS:
            answer = await self.dispatcher.call_tool(None, TOOL, {"config": {**CHART, "theme": theme}})
            pictures = [block for block in answer.content if isinstance(block, types.ImageContent)]
            if not pictures:
                return None
            kept = self._charts[theme] = (now_ms, b64decode(pictures[0].data))
        return kept[1]
