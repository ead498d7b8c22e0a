"""The documentation page of the simulated chart-img, written from its facts in the shape of the real one."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

import msgspec

from mcp_binance_server.simulator.chartimg.facts import DrawingFact, Fact, Facts, StudyFact

EXAMPLE: dict[str, object] = {
    "symbol": "BINANCE:ETHUSDT",
    "interval": "4h",
    "theme": "dark",
    "studies": [{"name": "Relative Strength Index", "input": {"length": 21}}],
}


def documentation(facts: Facts) -> str:
    """Return the page: flat, one heading per thing, tables with named columns."""
    parts = [
        *_limits(facts),
        _heading(1, "TradingView Snapshot v2"),
        *_body(facts),
        _heading(1, "TradingView Chart Styles"),
        *(part for each in facts.styles for part in _style(each.display_name, each.override)),
        _heading(1, "TradingView Chart Indicators"),
        *(part for each in facts.indicators for part in _study(each)),
        _heading(1, "TradingView Chart Drawings"),
        *(part for each in facts.drawings for part in _drawing(each)),
        _heading(1, "Errors"),
    ]
    content = "\n".join(parts)
    return f'<!doctype html>\n<html><body><div class="content">\n{content}\n</div></body></html>\n'


def _limits(facts: Facts) -> Iterator[str]:
    plans = facts.plans.items()
    yield _heading(1, "Request Limit ⚠️")
    yield _heading(2, "Rate Limit")
    rates = [
        [name, _open(plan.requests_per_second, more=plan.open_ended), _open(plan.burst, more=plan.open_ended),
         _open(plan.daily_max, more=plan.open_ended)]
        for name, plan in plans
    ]  # fmt: skip
    yield _table(["Plan", "req/sec", "Burst", "Daily max"], rates)
    yield _heading(2, "Resolution Limit")
    sizes = [
        [name, str(plan.max_width), str(plan.max_height), _yes(said=plan.forced_watermark),
         _yes(said=plan.custom_watermark)]
        for name, plan in plans
    ]  # fmt: skip
    yield _table(["Plan", "Max width", "Max height", "Watermark", "Custom Watermark"], sizes)
    yield _heading(2, "Storage Limit")
    yield _table(["Plan", "Expire days"], [[name, str(plan.storage_days)] for name, plan in plans])
    yield _heading(2, "Parameter Limit")
    yield _table(["Plan", "Max studies[] + drawings[]"], [[name, str(plan.max_studies)] for name, plan in plans])


def _body(facts: Facts) -> Iterator[str]:
    yield _heading(2, "Advanced Chart &nbsp;")
    yield _example(EXAMPLE)
    yield _heading(3, "Request Body (Optional)")
    zones = facts.parameters["timezone"]
    listed = {**facts.parameters, "timezone": msgspec.structs.replace(zones, options=())}
    yield _keys(listed)
    yield _heading(3, "Parameter override")
    yield _keys(facts.parameters["override"].fields)
    yield _heading(3, "Supported Timezone")
    yield _table(["Timezone"], [[str(zone)] for zone in zones.options])


def _style(name: str, override: Mapping[str, Fact]) -> Iterator[str]:
    yield _heading(2, name)
    yield _heading(3, "Parameter style")
    yield _keys(override)


def _study(study: StudyFact) -> Iterator[str]:
    pane = {} if study.overlay else {"forceOverlay": False}
    yield _heading(2, study.api_name)
    yield _example({"symbol": "BINANCE:BNBUSDT", "studies": [{"name": study.api_name, **pane}]})
    if study.input:
        yield _heading(3, "Parameter input")
        yield _keys(study.input)
    yield _heading(3, "Parameter override")
    yield _keys(study.override)


def _drawing(drawing: DrawingFact) -> Iterator[str]:
    yield _heading(2, drawing.api_name)
    yield _heading(3, "Parameter input")
    yield _keys(drawing.input)
    yield _heading(3, "Parameter override")
    yield _keys(drawing.override)
    yield _heading(3, "Parameter zOrder")
    yield _keys({"zOrder": Fact(type="String", options=drawing.z_order)})


def _keys(facts: Mapping[str, Fact]) -> str:
    rows = [
        [key, fact.type.replace("|", " / "), _yes(said=fact.required), _default(fact), _described(fact)]
        for key, fact in facts.items()
    ]
    return _table(["Parameter", "Type", "Required", "Default", "Description"], rows)


def _default(fact: Fact) -> str:
    if fact.default is None:
        return "-"
    return str(fact.default).lower() if isinstance(fact.default, bool) else str(fact.default)


def _described(fact: Fact) -> str:
    limits = [f"{name}: {value}" for name, value in (("Min", fact.min), ("Max", fact.max)) if value is not None]
    parts = [
        fact.label,
        f"({', '.join(limits)})" if limits else "",
        f"[{', '.join(map(str, fact.options))}]" if fact.options else "",
    ]
    return " ".join(filter(None, parts)) or "-"


def _open(count: int, *, more: bool) -> str:
    return f"{count:,}{'+' if more else ''}"


def _yes(*, said: bool) -> str:
    return "Yes" if said else "No"


def _heading(level: int, text: str) -> str:
    return f"<h{level}>{text}</h{level}>"


def _example(config: Mapping[str, object]) -> str:
    code = escape(msgspec.json.format(msgspec.json.encode(config)).decode())
    return f"<blockquote><p>Request Example:</p></blockquote>\n<pre><code>{code}</code></pre>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(each)}</td>" for each in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"
