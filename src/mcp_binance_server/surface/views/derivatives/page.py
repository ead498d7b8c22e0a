"""Perpetual futures as a page, and as one line for the page of the spot pair."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from mcp_binance_server.analytics.derivatives.report import PerpetualGlance
from mcp_binance_server.domain.derivatives import ShareKind
from mcp_binance_server.surface.views.derivatives.members import percent_of, rounded
from mcp_binance_server.surface.views.markdown import doubt_lines, exact, percent, plain, span
from mcp_binance_server.surface.views.market import NOTHING

SHARE_KINDS: tuple[ShareKind, ...] = ("accounts_all", "top_accounts", "top_positions")


def derivatives_page(told: Mapping[str, Any], doubts: Iterable[str] = ()) -> str:
    """Render the sections of a report as a page, with warnings about the data."""
    funding, interest, listened = told["funding"], told["open_interest"], told["liquidations"]
    lines = [
        f"# {plain(told['symbol'])} Perpetual",
        f"*As of {told['as_of']}, {plain(told['source'])}, host {plain(told['host'])}*",
        *doubt_lines(doubts),
        "",
        _contract_line(told["contract"]),
        *(_funding_lines(funding, told["contract"]["interval_hours"]) if funding else []),
        *(_interest_lines(interest) if interest else []),
        *_basis_lines(told["basis"]),
        *_positioning_lines(told["positioning"]),
        *([_liquidation_line(listened)] if listened else []),
        *(f"*Missing: {plain(each)}*" for each in told["missing"]),
        "",
        *(f"_{each}._" for each in told["notes"]),
    ]
    return "\n".join(lines)


def glance_line(glance: PerpetualGlance) -> str:
    """Return a spot pair's perpetual in one line."""
    interval = f"{glance.interval.hours} h" + (" assumed" if glance.interval.source == "assumed" else "")
    left = "" if glance.left_ms is None else f", settles in {span(glance.left_ms)}"
    change = NOTHING if glance.interest_24h_percent is None else percent(glance.interest_24h_percent)
    away = NOTHING if glance.mark_vs_index_bps is None else f"{_signed(rounded(glance.mark_vs_index_bps, 2))} bps"
    return (
        f"**Perpetual**: funding estimate {_rate(percent_of(glance.estimate))} per {interval} "
        f"({_shown(rounded(glance.apr, 2), '%')} a year){left}, open interest 24h {change} in contracts, "
        f"mark vs index {away}"
    )


def _shown(value: float | None, unit: str = "") -> str:
    return NOTHING if value is None else f"{exact(Decimal(repr(value)))}{unit}"


def _signed(value: float | None, unit: str = "") -> str:
    sign = "+" if value is not None and value > 0 else ""
    return f"{sign}{_shown(value, unit)}"


def _rate(value: float | None) -> str:
    return _signed(value, "%")


def _rank_words(told: Mapping[str, Any]) -> str:
    window = f", window {told['window']}" if told["window"] else ""
    return f"percentile {_shown(told['percentile'])} (n {told['n']}{window})"


def _contract_line(told: Mapping[str, Any]) -> str:
    spot = "no spot pair" if told["spot_pair"] is None else f"spot pair {plain(told['spot_pair'])}"
    times = "" if told["multiplier"] is None else f" (multiplier {told['multiplier']})"
    ends = "" if told["delivery"] is None else f", delivery {told['delivery']}"
    return (
        f"**Contract**: type {plain(told['type'])}, underlying {told['underlying']}, funding interval hours "
        f"{told['interval_hours']} (interval source {told['interval_source']}), {spot}{times}{ends}"
    )


def _funding_lines(told: Mapping[str, Any], interval_hours: int) -> list[str]:
    limit = "" if told["at_limit"] is None else f", at limit: {told['at_limit']}"
    return [
        f"**Funding**: estimate for the settlement at {told['next_at'] or NOTHING}: {_rate(told['estimate'])} per "
        f"{interval_hours} h, apr {_shown(told['apr'], '%')}; last settled {_rate(told['settled'])}, "
        f"{_rank_words(told)}",
        f"Funding cap {_rate(told['cap'])}, floor {_rate(told['floor'])}{limit}; paid 7d {_rate(told['paid_7d'])}, "
        f"paid 30d {_rate(told['paid_30d'])}, paid 30d apr {_shown(told['paid_30d_apr'], '%')}",
    ]


def _grouped(text: str | None) -> str:
    return NOTHING if text is None else f"{Decimal(text):,f}"


def _interest_lines(told: Mapping[str, Any]) -> list[str]:
    to = "" if told["change_to"] is None else f", change to {told['change_to']}"
    contracts, value = (
        ", ".join(f"{name} {_rate(each)}" for name, each in told[side].items())
        for side in ("change_contracts", "change_value")
    )
    return [
        f"**Open interest**: contracts {_grouped(told['contracts'])} at {told['at']}, value {_grouped(told['value'])} "
        f"by the mark at {told['mark_at']}, {_rank_words(told)}",
        f"Open interest change contracts {contracts}; change value {value}{to}; 24h change percentile "
        f"{_shown(told['change_percentile'])} (change n {told['change_n']})",
    ]


def _basis_lines(told: Mapping[str, Any]) -> list[str]:
    rank = f", {_rank_words(told)}" if "n" in told else ""
    spot = f"perp vs spot bps {_shown(told['perp_vs_spot_bps'])}"
    if told["apart_ms"] is not None:
        spot += f", apart ms {told['apart_ms']}"
    if "why_null" in told:
        spot += f": {told['why_null']}"
    quarterlies = [
        f"{plain(each['symbol'])} bps {_shown(each['bps'])}, days {_shown(each['days'])}, "
        f"apr {_shown(each['apr'], '%')}"
        for each in told["quarterlies"]
    ]
    return [
        f"**Basis**: mark vs index bps {_shown(told['mark_vs_index_bps'])}{rank}; {spot}",
        *([f"Quarterlies vs index: {'; '.join(quarterlies)}"] if quarterlies else []),
    ]


def _positioning_lines(told: Mapping[str, Any]) -> list[str]:
    rows = {kind: told[kind] for kind in SHARE_KINDS if kind in told}
    apart = [name for name in ("window", "at") if name not in told]
    head = " | ".join(["Positioning", "long share", "ratio", "change 24h", "percentile", "n", *apart])
    lines = [
        " | ".join(
            [
                kind,
                _shown(each["long_share"], "%"),
                _shown(each["ratio"]),
                _signed(each["change_24h"]),
                _shown(each["percentile"]),
                str(each["n"]),
                *(each[name] or NOTHING for name in apart),
            ]
        )
        for kind, each in rows.items()
    ]
    table = ["", f"| {head} |", f"|{'-|' * (6 + len(apart))}", *(f"| {each} |" for each in lines), ""] if rows else []
    shared = [f"{name} {told[name] or NOTHING}" for name in ("at", "window") if name in told]
    taker = told.get("taker")
    bought = (
        [
            f"Taker buy share 1h {_shown(taker['buy_share_1h'], '%')}, buy share 24h "
            f"{_shown(taker['buy_share_24h'], '%')}, at {taker['at'] or NOTHING}"
        ]
        if taker
        else []
    )
    return [*table, *([f"Positioning {', '.join(shared)}"] if shared else []), *bought]


def _liquidation_line(told: Mapping[str, Any]) -> str:
    opening = f"**Liquidations**: {told['listening']}, observed secs {told['observed_secs']}"
    if told["longs"] is None:
        return f"{opening}, setting {told['setting']}" if "setting" in told else opening
    seen = "; ".join(
        f"{side} events {told[side]['events']} value {told[side]['value']}" for side in ("longs", "shorts")
    )
    return f"{opening} since {told['since']}; seen: {seen}"
