"""Parser of chart-img.com's documentation page. It finds facts by headings and column names, not by position."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from mcp_binance_server.charts.chartimg.docs_markup import (
    Block,
    Code,
    Heading,
    QuoteBlock,
    Table,
    UnreadablePage,
    read_blocks,
)
from mcp_binance_server.charts.chartimg.docs_rules import ParsedPlan, ParsedRule, plan_rows, rules_of
from mcp_binance_server.charts.config import is_list, is_object

FEWEST_INDICATORS = 50
MOST_INDICATORS = 1_000
FEWEST_PLANS = 3
LONGEST_NAME = 80
# The heading above a table gives its kind, such as "Parameter input" or "Parameter override".
_INPUT, _OVERRIDE, _STYLE, _Z_ORDER = "parameter input", "parameter override", "parameter style", "parameter zorder"
# "request examp": this heading is truncated on the page
_BODY, _ZONES, _EXAMPLE = "request body", "timezone", "request examp"


@dataclass(frozen=True, slots=True)
class ParsedItem:
    """One indicator, drawing or style with its keys.

    `overlay` means that the page's example draws it in the same pane as the price.
    """

    name: str
    inputs: Mapping[str, ParsedRule]
    overrides: Mapping[str, ParsedRule]
    z_order: tuple[str, ...]
    overlay: bool


@dataclass(frozen=True, slots=True)
class ParsedDocumentation:
    """The facts on the page that this server uses."""

    indicators: tuple[ParsedItem, ...]
    drawings: tuple[ParsedItem, ...]
    styles: tuple[ParsedItem, ...]
    parameters: Mapping[str, ParsedRule]
    chart_overrides: Mapping[str, ParsedRule]
    plans: Mapping[str, ParsedPlan]
    examples: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A block with the headings above it."""

    block: Block
    chapter: str
    section: str
    topic: str
    quoted: str


def parse_documentation(page: str) -> ParsedDocumentation:
    """Parse the page.

    Raises:
        UnreadablePage: the page is truncated, too large, or lacks indicators, intervals or plans.
    """
    if "</html>" not in page[-4096:].lower():
        raise UnreadablePage("it is cut off")
    placed = tuple(_placed(read_blocks(page)))
    body = [each for each in placed if "snapshot v2" in each.chapter]
    parsed = ParsedDocumentation(
        indicators=_items(placed, "chart indicators"),
        drawings=_items(placed, "chart drawings"),
        styles=_items(placed, "chart styles"),
        parameters=_parameters(body),
        chart_overrides=_merged_rules(body, _OVERRIDE),
        plans=plan_rows(each.block for each in placed if each.chapter.startswith("request limit")),
        examples=tuple(_examples(body)),
    )
    _refuse_too_little(parsed)
    return parsed


def _refuse_too_little(parsed: ParsedDocumentation) -> None:
    count = len(parsed.indicators)
    if not FEWEST_INDICATORS <= count <= MOST_INDICATORS:
        raise UnreadablePage(f"it has {count} indicators; expected {FEWEST_INDICATORS} to {MOST_INDICATORS}")
    if "interval" not in parsed.parameters or not parsed.parameters["interval"].options:
        raise UnreadablePage("it has no list of intervals")
    if len(parsed.plans) < FEWEST_PLANS:
        raise UnreadablePage(f"it has {len(parsed.plans)} plans; expected at least {FEWEST_PLANS}")


def _placed(blocks: Sequence[Block]) -> Iterator[_Placed]:
    chapter = section = topic = quoted = ""
    for block in blocks:
        match block:
            case Heading(1, text):
                chapter, section, topic, quoted = text.lower(), "", "", ""
            case Heading(2, text):
                section, topic, quoted = text, "", ""
            case Heading(_, text):
                topic, quoted = text.lower(), ""
            case QuoteBlock(text):
                quoted = text.lower()
            case _:
                yield _Placed(block, chapter, section, topic, quoted)
                quoted = ""


def _items(placed: Sequence[_Placed], chapter: str) -> tuple[ParsedItem, ...]:
    sections: dict[str, list[_Placed]] = {}
    for each in placed:
        if chapter in each.chapter and 0 < len(each.section) <= LONGEST_NAME:
            sections.setdefault(each.section, []).append(each)
    return tuple(_item(name, found) for name, found in sections.items())


def _item(name: str, found: Sequence[_Placed]) -> ParsedItem:
    order = _merged_rules(found, _Z_ORDER).get("zOrder")
    return ParsedItem(
        name=name,
        inputs=_merged_rules(found, _INPUT),
        overrides=_merged_rules(found, _OVERRIDE) or _merged_rules(found, _STYLE),
        z_order=tuple(str(option) for option in order.options) if order else (),
        overlay=not any(_has_own_pane(config, name) for config in _examples(found)),
    )


def _merged_rules(found: Sequence[_Placed], topic: str) -> dict[str, ParsedRule]:
    rules: dict[str, ParsedRule] = {}
    for each in found:
        if isinstance(each.block, Table) and each.topic.startswith(topic):
            rules |= rules_of(each.block)
    return rules


def _parameters(body: Sequence[_Placed]) -> dict[str, ParsedRule]:
    rules = _merged_rules(body, _BODY)
    zones = [
        row[0] for each in body if isinstance(each.block, Table) and _ZONES in each.topic for row in each.block.rows
    ]
    if zones and "timezone" in rules:
        rules["timezone"] = msgspec.structs.replace(rules["timezone"], options=tuple(zones))
    return rules


def _examples(found: Sequence[_Placed]) -> Iterator[Mapping[str, object]]:
    for each in found:
        if isinstance(each.block, Code) and each.quoted.startswith(_EXAMPLE):
            try:
                yield msgspec.json.decode(each.block.text, type=dict[str, object])
            except (msgspec.MsgspecError, RecursionError):
                continue


def _has_own_pane(config: Mapping[str, object], name: str) -> bool:
    studies = config.get("studies")
    own = {"name": name, "forceOverlay": False}
    return is_list(studies) and any(is_object(each) and own.items() <= each.items() for each in studies)
