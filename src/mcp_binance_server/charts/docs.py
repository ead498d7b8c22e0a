"""What chart-img.com documents: fetched once a day, kept, and never missing, because a copy is bundled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import anyio.to_thread
import msgspec

from mcp_binance_server.channel import Channel, NoAnswer
from mcp_binance_server.charts.catalogue import ChartCatalogue, bundled_catalogue
from mcp_binance_server.charts.config import is_list, is_object
from mcp_binance_server.charts.errors import ChartServiceError, ChartUnavailable
from mcp_binance_server.charts.facts import Documentation, Example, Held
from mcp_binance_server.charts.keeping import Keeper
from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import echo
from mcp_binance_server.state.engine import StateEngine

FRESH_MS: Final = 24 * 60 * 60 * 1000
LONGEST_FETCH_MS: Final = 20_000
PAGE_CAP: Final = 2 * 1024 * 1024
# The state of the documentation that the bundled copy was made from: 2025-11-26.
BUNDLED_AT_MS: Final = 1_764_115_200_000


BUNDLED_EXAMPLES: Final = (
    Example(
        "Bitcoin, one week of hours, with Bollinger Bands and RSI",
        {
            "symbol": "BINANCE:BTCUSDT",
            "interval": "1h",
            "range": "7D",
            "theme": "dark",
            "studies": [
                {"name": "BollingerBands@tv-basicstudies", "inputs": {"length": 20, "stdDev": 2}},
                {"name": "RSI@tv-basicstudies", "inputs": {"length": 14}},
            ],
        },
    ),
    Example(
        "Ethereum, a year of days as an area, with a level",
        {
            "symbol": "BINANCE:ETHUSDT",
            "interval": "1D",
            "range": "1Y",
            "style": "area",
            "drawings": [{"type": "HorizontalLine", "coordinates": {"price": 3000}}],
        },
    ),
)


@dataclass
class DocumentationSource:
    """The page at one address, as a catalogue."""

    address: str
    channel: Channel = field(repr=False)
    engine: StateEngine = field(repr=False)
    clock: Clock

    def __post_init__(self) -> None:
        self._keeper = Keeper(self.engine, self.clock, FRESH_MS, LONGEST_FETCH_MS, _decoded)
        self._name = f"charts:documentation:{self.address}"

    async def read(self, *, force: bool = False) -> Held[Documentation]:
        """Return the documentation: kept, fetched, old or bundled, in this order, and say which."""
        try:
            return await self._keeper.read(self._name, self._fetch, force=force)
        except ChartServiceError as failure:
            return _bundled(f"could not be fetched: {failure.message}")

    def catalogue(self) -> ChartCatalogue:
        """Return the best catalogue at hand, without asking anybody."""
        known = self._keeper.last
        return bundled_catalogue() if known is None else known.catalogue

    async def _fetch(self) -> bytes:
        try:
            answer = await self.channel.get(self.address, {"Accept": "text/html"}, body_cap=PAGE_CAP)
        except NoAnswer as failure:
            raise ChartUnavailable(reason=failure.reason) from None
        if answer.status != 200 or "text/html" not in answer.headers.get("content-type", ""):
            raise ChartUnavailable(reason=f"HTTP {answer.status}, no documentation")
        # A page at the limits takes half a second of the processor; others are served meanwhile.
        return msgspec.json.encode(await anyio.to_thread.run_sync(_read_page, answer.body))


def _read_page(body: bytes) -> Documentation:
    # Loaded late: once a day is soon enough.
    from mcp_binance_server.charts.docs_merge import merged_catalogue  # noqa: PLC0415
    from mcp_binance_server.charts.docs_parser import UnreadablePage, parse_documentation  # noqa: PLC0415

    try:
        parsed = parse_documentation(body.decode("utf-8", "replace"))
    except UnreadablePage as problem:
        raise ChartUnavailable(reason=f"the documentation cannot be read: {problem}") from None
    examples = tuple(Example(_described(each), dict(each)) for each in parsed.examples)
    return Documentation(merged_catalogue(parsed, bundled_catalogue()), examples or BUNDLED_EXAMPLES)


def _described(config: Mapping[str, object]) -> str:
    studies = config.get("studies")
    names = [each.get("name") for each in studies if is_object(each)] if is_list(studies) else []
    said = [config.get("symbol"), config.get("interval"), config.get("style"), *names]
    return echo(", ".join(each for each in said if isinstance(each, str))) or "A chart"


def _decoded(content: bytes) -> Documentation:
    members = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    examples = msgspec.json.decode(members["examples"], type=tuple[Example, ...])
    return Documentation(ChartCatalogue.from_json(bytes(members["catalogue"])), examples)


def _bundled(warning: str) -> Held[Documentation]:
    return Held(Documentation(bundled_catalogue(), BUNDLED_EXAMPLES), "bundled", BUNDLED_AT_MS, warning)
