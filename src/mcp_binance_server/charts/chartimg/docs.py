"""The documentation of chart-img.com: fetched, parsed and merged with the bundled catalogue."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio.to_thread
import msgspec

from mcp_binance_server.channel import Channel, NoAnswer
from mcp_binance_server.charts.catalogue import (
    BodyParameter,
    CatalogueStudy,
    ChartCatalogue,
    Documentation,
    Drawing,
    Example,
    Held,
    Rule,
    StudyInput,
    Style,
    bundled_catalogue,
)
from mcp_binance_server.charts.chartimg.docs_parser import ParsedDocumentation, ParsedItem
from mcp_binance_server.charts.chartimg.docs_rules import ParsedPlan, ParsedRule
from mcp_binance_server.charts.chartimg.fact_cache import FactCache
from mcp_binance_server.charts.config import is_list, is_object
from mcp_binance_server.charts.errors import ChartServiceError, ChartUnavailable
from mcp_binance_server.charts.plans import PLANS, Plan
from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import echo
from mcp_binance_server.state.engine import Values

SUFFIX = "@tv-basicstudies"
NEW_CATEGORY = "Other"

FRESH_MS: Final = 24 * 60 * 60 * 1000
LONGEST_FETCH_MS: Final = 20_000
PAGE_CAP: Final = 2 * 1024 * 1024
# Date of the documentation that the bundled copy was made from: 2025-11-26.
BUNDLED_AT_MS: Final = 1_764_115_200_000

BUNDLED_EXAMPLES: Final = (
    Example(
        "Bitcoin, one week of hourly bars, with Bollinger Bands and RSI",
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
        "Ethereum, one year of daily bars as an area, with a level",
        {
            "symbol": "BINANCE:ETHUSDT",
            "interval": "1D",
            "range": "1Y",
            "style": "area",
            "drawings": [{"type": "HorizontalLine", "coordinates": {"price": 3000}}],
        },
    ),
)


def merged_catalogue(parsed: ParsedDocumentation, bundled: ChartCatalogue) -> ChartCatalogue:
    """Return the catalogue of a parsed page. Facts that the page lacks come from the bundled catalogue."""
    return ChartCatalogue(
        parameters=_parameters(parsed, bundled.parameters),
        plans={name: _plan(name, plan, bundled.plans.get(name)) for name, plan in parsed.plans.items()},
        indicators=tuple(_indicator(each, bundled) for each in parsed.indicators),
        drawings=tuple(_drawing(each, bundled) for each in parsed.drawings) or bundled.drawings,
        styles=_styles(parsed.styles, bundled.styles),
        exchanges=bundled.exchanges,
    )


def _indicator(item: ParsedItem, bundled: ChartCatalogue) -> CatalogueStudy:
    known = next((each for each in bundled.indicators if each.api_name == item.name), None)
    inputs = {key: _input(key, rule, known.input.get(key) if known else None) for key, rule in item.inputs.items()}
    overrides = {key: _rule(rule) for key, rule in item.overrides.items()}
    if known:
        return msgspec.structs.replace(known, overlay=item.overlay, input=inputs, override=overrides)
    return CatalogueStudy(
        api_name=item.name,
        name="".join(word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", item.name)) + SUFFIX,
        display_name=item.name,
        category=NEW_CATEGORY,
        overlay=item.overlay,
        input=inputs,
        override=overrides,
    )


def _input(key: str, rule: ParsedRule, known: StudyInput | None) -> StudyInput:
    return StudyInput(
        public=known.public if known else key,
        label=rule.label or (known.label if known else ""),
        type=rule.type,
        default=rule.default,
        min=rule.min,
        max=rule.max,
        options=rule.options,
        required=rule.required,
    )


def _rule(rule: ParsedRule) -> Rule:
    return Rule(
        type=rule.type,
        default=rule.default,
        min=rule.min,
        max=rule.max,
        options=rule.options,
        required=rule.required,
    )


def _drawing(item: ParsedItem, bundled: ChartCatalogue) -> Drawing:
    known = bundled.drawing(item.name)
    return Drawing(
        api_name=item.name,
        input={key: _rule(rule) for key, rule in item.inputs.items()},
        override={key: _rule(rule) for key, rule in item.overrides.items()},
        z_order=item.z_order,
        levels=known.levels if known else None,
    )


def _styles(parsed: Sequence[ParsedItem], bundled: tuple[Style, ...]) -> tuple[Style, ...]:
    by_name = {item.name: item for item in parsed}
    return tuple(
        msgspec.structs.replace(
            style, override={key: _rule(rule) for key, rule in by_name[style.display_name].overrides.items()}
        )
        if style.display_name in by_name
        else style
        for style in bundled
    )


def _parameters(parsed: ParsedDocumentation, bundled: Mapping[str, BodyParameter]) -> dict[str, BodyParameter]:
    merged = dict(bundled)
    for key, rule in parsed.parameters.items():
        merged[key] = _parameter(rule, bundled.get(key))
    override = merged.get("override")
    if override and parsed.chart_overrides:
        known = override.fields
        fields = {key: _parameter(rule, known.get(key)) for key, rule in parsed.chart_overrides.items()}
        merged["override"] = msgspec.structs.replace(override, fields={**known, **fields})
    return merged


def _parameter(rule: ParsedRule, known: BodyParameter | None) -> BodyParameter:
    start = known or BodyParameter(type=rule.type)
    return msgspec.structs.replace(
        start, type=rule.type, default=rule.default, min=rule.min, max=rule.max, options=rule.options
    )


def _plan(name: str, parsed: ParsedPlan, known: Plan | None) -> Plan:
    # The page can omit limits. For an unknown plan they default to the limits of the cheapest plan.
    start, limits = known or PLANS["BASIC"], parsed.limits
    width, height = limits.get("max_width", start.max_width), limits.get("max_height", start.max_height)
    return Plan(
        name=name,
        requests_per_second=limits.get("requests_per_second", start.requests_per_second),
        burst=limits.get("burst", start.burst),
        daily_max=limits.get("daily_max", start.daily_max),
        max_width=width,
        max_height=height,
        max_resolution=f"{width}x{height}",
        max_studies=limits.get("max_studies", start.max_studies),
        storage_days=limits.get("storage_days", start.storage_days),
        forced_watermark=bool(limits.get("forced_watermark", start.forced_watermark)),
        custom_watermark=bool(limits.get("custom_watermark", start.custom_watermark)),
        open_ended=parsed.open_ended,
    )


@dataclass
class DocumentationSource:
    """Catalogue source that reads the documentation page at one address."""

    address: str
    channel: Channel = field(repr=False)
    engine: Values = field(repr=False)
    clock: Clock

    def __post_init__(self) -> None:
        self._keeper = FactCache(self.engine, self.clock, FRESH_MS, LONGEST_FETCH_MS, _decoded)
        self._name = f"charts:documentation:{self.address}"

    async def read(self, *, force: bool = False) -> Held[Documentation]:
        """Return the documentation and its source.

        The sources are tried in this order: fresh cache, network, stale cache, bundled copy.
        """
        try:
            return await self._keeper.read(self._name, self._fetch, force=force)
        except ChartServiceError as failure:
            return _bundled(f"could not be fetched: {failure.message}")

    def catalogue(self) -> ChartCatalogue:
        """Return the newest catalogue in memory. No request is sent."""
        known = self._keeper.last
        return bundled_catalogue() if known is None else known.catalogue

    async def _fetch(self) -> bytes:
        try:
            answer = await self.channel.get(self.address, {"Accept": "text/html"}, body_cap=PAGE_CAP)
        except NoAnswer as failure:
            raise ChartUnavailable(reason=failure.reason) from None
        if answer.status != 200 or "text/html" not in answer.headers.get("content-type", ""):
            raise ChartUnavailable(reason=f"HTTP {answer.status}, no documentation")
        # A page at the size limit takes half a second to parse: a thread keeps the event loop free.
        return msgspec.json.encode(await anyio.to_thread.run_sync(_read_page, answer.body))


def _read_page(body: bytes) -> Documentation:
    # Imported late: a fetch happens once a day.
    from mcp_binance_server.charts.chartimg.docs_parser import UnreadablePage, parse_documentation  # noqa: PLC0415

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
