"""Whether a chart will be drawn, and what would make it better: a configuration and a plan in, a verdict out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.config import DEFAULT_SIZE, Finding, Findings
from mcp_binance_server.charts.dialect.symbol import binance_pair, is_binance_spot
from mcp_binance_server.charts.jpeg import MISSING
from mcp_binance_server.charts.plan_rules import (
    DRAWN_LOCALLY,
    RENDER_LOCALLY,
    check_least,
    check_local,
    check_plan,
    key_needed,
)
from mcp_binance_server.charts.plans import Plan
from mcp_binance_server.charts.practice import check_practice
from mcp_binance_server.charts.usage import Usage, usage_of
from mcp_binance_server.charts.wire import read_chart


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a chart is judged by.

    `asked` says that the caller named the plan. What exceeds a plan that `binds` is an error, else a warning.
    `drawn_here` says that spot pairs of Binance are drawn by our own renderer, which knows no plan, and
    `draws_jpeg` that it can write such a file. `is_listed` says whether Binance has a pair; None: not known now.
    """

    plan: Plan
    now: datetime
    asked: bool = True
    binds: bool = True
    drawn_here: bool = False
    draws_jpeg: bool = True
    is_listed: Callable[[str], bool | None] = lambda _pair: None


@dataclass(frozen=True, slots=True)
class ConfigVerdict:
    """Everything that was found, errors first, and what to do about it."""

    findings: tuple[Finding, ...]
    suggestions: tuple[str, ...]
    usage: Usage
    plan: Plan

    @property
    def valid(self) -> bool:
        return all(each.severity != "error" for each in self.findings)

    @property
    def within_limits(self) -> bool:
        """Whether the count fits; a size that does not fit is an error of its own."""
        return self.usage.count <= self.plan.max_studies


def validate_chart(config: Mapping[str, object], *, catalogue: ChartCatalogue, conditions: Conditions) -> ConfigVerdict:
    """Judge a configuration in either dialect; whatever it holds, the answer is a verdict and never an error."""
    plan, is_spot = conditions.plan, is_binance_spot(config.get("symbol"))
    # Without a key nobody's plan applies, unless it is the plan that the caller asks about.
    unplanned = is_spot and conditions.drawn_here and not conditions.asked
    size = plan.default_size(DEFAULT_SIZE) if conditions.binds and not unplanned else DEFAULT_SIZE
    reading = read_chart(config, catalogue=catalogue, now=conditions.now, default_size=size)
    findings = Findings(list(reading.findings))
    usage = usage_of(config, size)
    _check_symbol(reading.body.get("symbol"), conditions, findings)
    suggestions: tuple[str, ...] = ()
    if unplanned:
        check_local(usage, findings)
        if reading.body.get("format") == "jpeg" and not conditions.draws_jpeg:
            findings.error("format", MISSING, "Set format to png")
    elif not conditions.binds:
        check_local(usage, findings)
        if not conditions.drawn_here:
            check_least(usage, plan, findings)
    else:
        suggestions = check_plan(config, usage, plan, findings)
    if is_spot and not conditions.asked and plan.exceeded_by(usage):
        suggestions = (*suggestions, DRAWN_LOCALLY if unplanned else RENDER_LOCALLY)
    check_practice(reading.body, catalogue, findings)
    found = [_softened(each) if is_spot and conditions.drawn_here else each for each in findings.items]
    found.sort(key=lambda each: each.severity)  # stable, and "error" comes before "warning"
    advice = [each.advice for each in found if each.advice]
    return ConfigVerdict(tuple(found), tuple(dict.fromkeys([*suggestions, *advice])), usage, plan)


def _check_symbol(symbol: object, conditions: Conditions, findings: Findings) -> None:
    if not isinstance(symbol, str):
        return
    pair = binance_pair(symbol)
    if pair is not None and not pair.perpetual:
        if conditions.is_listed(pair.symbol) is False:
            findings.warning(
                "symbol",
                f"symbol_unverified: Binance lists no pair {pair.symbol}",
                "search_symbols finds a pair by name",
            )
    elif conditions.drawn_here:
        findings.warning(
            "symbol",
            key_needed(symbol),
            "Set CHART_IMG_API_KEY, or draw a spot pair of Binance",
        )


def _softened(finding: Finding) -> Finding:
    return replace(finding, severity="warning") if finding.remote_only else finding
