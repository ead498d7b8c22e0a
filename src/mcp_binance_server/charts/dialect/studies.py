"""Studies in both dialects: names and inputs."""

from collections.abc import Mapping
from typing import Final

import msgspec

from mcp_binance_server.charts.catalogue import CatalogueStudy, ChartCatalogue, Scalar, StudyInput
from mcp_binance_server.charts.config import STUDY_KEYS, Findings, is_list, is_object, shown
from mcp_binance_server.charts.dialect.values import object_of, read_number, read_overrides, read_value
from mcp_binance_server.errors import echo

# Inputs that count bars. The documentation allows negative values for some of them, but no study can draw those.
LENGTHS: Final = frozenset({"length", "smoothing", "di", "wma"})
# Multipliers. The documentation says whole numbers, but traders also use fractions such as 1.5.
MULTIPLIERS: Final = frozenset({"mult", "factor", "deviations"})
# Names of these inputs in other programs.
_CALLED: Final = {
    "period": ("length",),
    "periods": ("length",),
    "window": ("length",),
    "std": ("stdDev",),
    "multiplier": ("stdDev", "mult", "factor"),
    "mult": ("stdDev", "factor"),
    "fastLength": ("fast",),
    "slowLength": ("slow",),
    "signalLength": ("signal",),
}


def read_studies(value: object, catalogue: ChartCatalogue, findings: Findings) -> list[dict[str, object]]:
    """Convert the list of studies to the service's dialect.

    Defaults are left out, so that keys with an uncertain spelling are rarely sent.
    """
    listed = findings.listed(value, "studies")
    read = [_study(each, catalogue, f"studies[{place}]", findings) for place, each in enumerate(listed)]
    return [each for each in read if each is not None]


def write_studies(studies: object, catalogue: ChartCatalogue) -> list[dict[str, object]]:
    """Convert the service's studies to the tools' dialect."""
    return [_public(each, catalogue) for each in studies if is_object(each)] if is_list(studies) else []


def _study(value: object, catalogue: ChartCatalogue, where: str, findings: Findings) -> dict[str, object] | None:
    if not is_object(value):
        findings.error(where, f"{where} must be an object with a name, not {shown(value)}")
        return None
    findings.unknown_keys(value, STUDY_KEYS, f"{where}.")
    indicator = _named(value.get("name"), catalogue, f"{where}.name", findings)
    if value.get("inputs") is not None and value.get("input") is not None:
        findings.error(f"{where}.inputs", f"{where} has both inputs and input: write one of them")
        return None
    if indicator is None:
        return None
    key = "input" if value.get("input") is not None else "inputs"
    parts: dict[str, object] = {
        "forceOverlay": _switch(value.get("forceOverlay"), f"{where}.forceOverlay", findings),
        "input": _inputs(value.get(key), indicator, f"{where}.{key}", findings) or None,
        "override": read_overrides(value.get("override"), indicator.override, f"{where}.override", findings) or None,
    }
    return {"name": indicator.api_name, **{name: part for name, part in parts.items() if part is not None}}


def _named(name: object, catalogue: ChartCatalogue, where: str, findings: Findings) -> CatalogueStudy | None:
    if not isinstance(name, str) or not name.strip():
        findings.error(where, f"{where} is required, such as RSI@tv-basicstudies")
        return None
    indicator = catalogue.indicator(name)
    if indicator is None:
        likely = _likely(name, catalogue, findings)
        advice = f"Use {likely.name} ({likely.display_name}) for {shown(name)}" if likely else None
        findings.error(where, f"Unknown study {shown(name)}", advice or "fetch_chart_documentation lists the studies")
    return indicator


def _likely(name: str, catalogue: ChartCatalogue, findings: Findings) -> CatalogueStudy | None:
    bare = name.partition("@")[0]
    names = [text for each in catalogue.indicators for text in (each.display_name, each.name.partition("@")[0])]
    found = findings.guess(bare, [*names, *(alias for each in catalogue.indicators for alias in each.aliases)])
    return None if found is None else catalogue.indicator(found) or catalogue.indicator(f"{found}@tv-basicstudies")


def _switch(value: object, where: str, findings: Findings) -> bool | None:
    if value is not None and not isinstance(value, bool):
        findings.error(where, f"{where} must be true or false, not {shown(value)}")
        return None
    return value


def _inputs(value: object, indicator: CatalogueStudy, where: str, findings: Findings) -> dict[str, object]:
    given = object_of(value, where, findings)
    written: dict[str, str] = {}
    for key in given:
        wire = indicator.wire_key(key)
        if wire is None:
            known = [rule.public for rule in indicator.input.values()]
            _unknown_input(key, known, indicator, f"{where}.{echo(key)[:60]}", findings)
        elif wire in written:
            findings.error(f"{where}.{key}", f"`{written[wire]}` and `{key}` are the same input: write one of them")
        else:
            written[wire] = key
    read: dict[str, object] = {}
    for wire, rule in indicator.input.items():
        if wire in written and (each := given[written[wire]]) is not None:
            known_value = _input(each, rule, f"{where}.{written[wire]}", findings)
            if known_value is not None and known_value != rule.default:
                read[wire] = known_value
    return read


def _unknown_input(key: str, known: list[str], indicator: CatalogueStudy, where: str, findings: Findings) -> None:
    if not known:
        findings.error(where, f"{indicator.display_name} has no inputs")
        return
    called = next((each for each in _CALLED.get(key, ()) if each in known), None)
    likely = called or findings.guess(key, known) or (known[0] if len(known) == 1 else None)
    hint = f"did you mean `{likely}`?" if likely else f"it has {', '.join(known)}"
    findings.error(where, f"{indicator.display_name} has no input {shown(key)}: {hint}")


def _input(value: object, rule: StudyInput, where: str, findings: Findings) -> Scalar | None:
    if rule.public in LENGTHS and (rule.min is None or rule.min < 1):
        rule = msgspec.structs.replace(rule, min=1)
    if rule.public in MULTIPLIERS and rule.type == "Integer" and isinstance(value, float) and not value.is_integer():
        number = read_number(value, where, findings)
        if number is not None:
            findings.error(
                where, f"{where} {number} is drawn locally only: chart-img.com takes whole numbers", remote_only=True
            )
        return number
    return read_value(value, rule, where, findings)


def _public(study: Mapping[str, object], catalogue: ChartCatalogue) -> dict[str, object]:
    indicator = catalogue.indicator(str(study.get("name")))
    if indicator is None:
        return dict(study)
    given = study.get("input")
    inputs: dict[str, object] = {}
    if is_object(given):
        for key, value in given.items():
            rule = indicator.input.get(key)
            inputs[rule.public if rule else key] = value
    parts = {"inputs": inputs or None, "override": study.get("override"), "forceOverlay": study.get("forceOverlay")}
    return {"name": indicator.name, **{name: part for name, part in parts.items() if part is not None}}
