"""The page's facts over the bundled ones: the page knows keys and limits, the bundle names, categories and aliases."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from mcp_binance_server.charts.catalogue import (
    BodyParameter,
    CatalogueStudy,
    ChartCatalogue,
    Drawing,
    Rule,
    StudyInput,
    Style,
)
from mcp_binance_server.charts.docs_parser import ParsedDocumentation, ParsedItem
from mcp_binance_server.charts.docs_rules import ParsedPlan, ParsedRule
from mcp_binance_server.charts.plans import PLANS, Plan

SUFFIX = "@tv-basicstudies"
NEW_CATEGORY = "Other"


def merged_catalogue(parsed: ParsedDocumentation, bundled: ChartCatalogue) -> ChartCatalogue:
    """Return what the page says, completed by what is bundled; a part that the page lacks is the bundled one."""
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
    # What the page leaves out of a plan we do not know is as small as in the cheapest one.
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
