"""Order books as metrics and as single lines: measures, cost of an order, data quality."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from mcp_binance_server.analytics.book.metrics import BookWalk, Depth
from mcp_binance_server.analytics.book.report import (
    LARGEST_BPS,
    BookReport,
    BookView,
    CostReport,
    LargestLevel,
    NoFeed,
    Reach,
)
from mcp_binance_server.analytics.flow.book_events import QuoteState
from mcp_binance_server.analytics.metric import Basis, Confidence, Metric, Unit, Unknown, WhyNull, Window
from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import decimals_of, round_to_places
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import DOLLAR_LIKE, average, bps, exact, leveled, plain, price, span
from mcp_binance_server.surface.views.measures import basis_points, number, why, written, written_average

QUOTE_STEP = Decimal("0.01")
OPENING: dict[NoFeed | None, str] = {
    None: "a live book is opening",
    "off": "streams are off",
    "full": "too many symbols are streamed already",
    "late": "the live stream lags",
}


def book_basis(view: BookView, *, truncated: bool = False, coverage: float = 1.0) -> Basis:
    """Return the time, source and quality of the data for the measures of a book.

    `coverage` is the known share of the widest band that is printed, and `truncated` says that it is not whole.
    """
    book = view.snapshot
    return Basis(
        window=Window(view.as_of_ms, view.as_of_ms),
        n={"snapshots": 1},
        coverage=coverage,
        source=("book",) if view.is_live else ("depth",),
        as_of_ms=view.as_of_ms,
        age_ms=view.age_ms,
        depth_levels=(len(book.bids), len(book.asks)),
        truncated=truncated,
        gaps=view.gaps,
        stale=view.is_stale,
    )


def book_metrics(view: BookView, report: BookReport) -> dict[str, Metric]:
    """Return all measures of a book. In a broken book each measure has a reason instead of a value."""
    rules, top = view.rules, report.top
    trust: Confidence = "none" if view.is_stale else "high"

    def metric(value: object, unit: Unit | None, why_null: WhyNull | None = None) -> Metric:
        if value is None:
            return Metric(value=None, unit=unit, confidence="none", why_null=why_null or top.why_null)
        return Metric(value=value, unit=unit, confidence=trust)

    near = report.near
    is_cut = (near.bids is not None and near.bids.truncated) or (near.asks is not None and near.asks.truncated)
    mid = None if top.mid is None or top.bid is None or top.ask is None else (top.bid.price + top.ask.price) / 2
    return {
        "state": Metric(value=top.state),
        "spread": metric(None if mid is None else _spread(top.bid, top.ask, rules), "quote"),
        "spread_bps": metric(basis_points(top.spread_bps), "bps"),
        "mid": metric(None if mid is None else exact(mid, rules.tick), "quote"),
        "weighted_mid": metric(written_average(top.weighted_mid, rules.tick), "quote"),
        "microprice": _microprice(report, rules, trust),
        "best_bid": metric(_level(top.bid, rules), None),
        "best_ask": metric(_level(top.ask, rules), None),
        "imbalance_5": metric(number(report.five.value), "ratio", report.five.why_null),
        "imbalance_20": metric(number(report.twenty.value), "ratio", report.twenty.why_null),
        "imbalance_10bps": Metric(
            value=number(near.value),
            unit="ratio",
            confidence=trust if near.value is not None else "none",
            why_null=near.why_null,
            method="lower_bound_of_band" if is_cut else None,
        ),
        "bid_volume_20": metric(written(report.bid_volume, rules.step), "base"),
        "ask_volume_20": metric(written(report.ask_volume, rules.step), "base"),
        "largest_levels": Metric(value=_largest(report, rules), method=f"{reach_words(report.reach)}, unjudged"),
        "slippage": _slippage(report, rules, trust),
        "illiquidity": _illiquidity(report),
        "last_update_id": Metric(value=view.snapshot.last_update_id),
    }


def _microprice(report: BookReport, rules: SymbolRules, trust: Confidence) -> Metric:
    """Return the fitted microprice.

    Without a fit that is better than the mid price, return the reason. The weighted mid is a separate measure.
    """
    fitted, top = report.microprice, report.top
    if fitted is None or isinstance(fitted, Unknown):
        code = "not_fitted" if fitted is None else fitted.why_null
        return Metric(value=None, unit="quote", confidence="none", why_null=code)
    if top.mid is None or top.bid is None or top.ask is None:
        return Metric(value=None, unit="quote", confidence="none", why_null=top.why_null)
    value = fitted.at(top.mid, QuoteState.of(top.bid, top.ask).lean)
    if value is None:
        return Metric(value=None, unit="quote", confidence="none", why_null=fitted.why_null)
    written_value = exact(round_to_places(Decimal(repr(value)), decimals_of(rules.tick) + 2))
    return Metric(value=written_value, unit="quote", confidence=trust, method="stoikov_2018_beat_the_mid")


def _illiquidity(report: BookReport) -> Metric:
    """Return Amihud's illiquidity measure, which is comparable among symbols with the same quote asset."""
    seen = report.illiquidity
    if seen is None or isinstance(seen, Unknown):
        code = "insufficient_bars" if seen is None else seen.why_null
        return Metric(value=None, unit="bps", why_null=code)
    if seen.mean.per_million is None:
        return Metric(value=None, unit="bps", why_null=seen.mean.why_null)
    value = {
        "per_million_quote": basis_points(seen.mean.per_million * 10_000),
        "last_day": None if seen.last_day is None else basis_points(seen.last_day * 10_000),
        "rank_of_last_day": number(seen.rank, 3),
        "days": seen.mean.n,
    }
    return Metric(value=value, unit="bps", method="amihud_daily")


def cost_metrics(view: BookView, report: CostReport) -> dict[str, Metric]:
    """Return the cost of one order. Quantities beyond the known levels are unfilled and not estimated."""
    rules, taken = view.rules, report.walk
    trust: Confidence = "none" if view.is_stale else "high"
    step = QUOTE_STEP if taken.unit == "quote" else rules.step

    def metric(value: object, unit: Unit) -> Metric:
        if value is None:
            return Metric(value=None, unit=unit, confidence="none", why_null=taken.why_null or report.top.why_null)
        return Metric(value=value, unit=unit, confidence=trust)

    return {
        "complete": Metric(value=taken.complete),
        "filled": metric(written(taken.filled, step), taken.unit),
        "unfilled": metric(written(taken.unfilled, step), taken.unit),
        "base": metric(written(taken.base, rules.step), "base"),
        "quote": metric(written(taken.quote, QUOTE_STEP), "quote"),
        "vwap": metric(written_average(taken.vwap, rules.tick), "quote"),
        "worst_price": metric(None if taken.worst_price is None else exact(taken.worst_price, rules.tick), "quote"),
        "levels": Metric(value=taken.levels),
        "slip_mid_bps": metric(basis_points(taken.slip_mid_bps), "bps"),
        "slip_touch_bps": metric(basis_points(taken.slip_touch_bps), "bps"),
        "capacity": Metric(value={f"{bps}_bps": _capacity(each, rules) for bps, each in report.capacities.items()}),
        "fees_excluded": Metric(value=True),
        **_range_end(report, rules),
    }


def _range_end(report: CostReport, rules: SymbolRules) -> dict[str, Metric]:
    end = report.expires_beyond
    return {} if end is None else {"expires_beyond": Metric(value=exact(end, rules.tick), unit="quote")}


def book_line(view: BookView, report: BookReport) -> str:
    """Return a book's main measures in one line."""
    top, rules = report.top, view.rules
    if top.mid is None or top.spread is None or top.spread_bps is None:
        return f"{_heading(view)}: {why(top.why_null)}."
    parts = [
        f"mid {_average(top.mid, rules)}, spread {_price(top.spread, rules)} ({bps(top.spread_bps)} bps)",
        "imbalance within 10 bps " + ("unknown" if report.near.value is None else f"{report.near.value:+.2f}"),
    ]
    if rules.quote in DOLLAR_LIKE:
        parts += [_priced(amount, walks) for amount, walks in list(report.walks.items())[-1:]]
    largest = [_largest_words(side, found[0], rules) for side, found in _by_side(report).items() if found]
    if largest:
        parts.append(f"largest levels {reach_words(report.reach)}: {', '.join(largest)}")
    return f"{_heading(view)}: {'; '.join(parts)}."


def reach_words(reach: Reach) -> str:
    """Return the band of the largest levels, or the part of it that the known levels cover."""
    if reach.is_whole:
        return f"within {LARGEST_BPS} bps"
    return (
        f"within {bps(reach.bids, 1)} bps below and {bps(reach.asks, 1)} bps above the mid (as far as levels are known)"
    )


def cost_line(view: BookView, report: CostReport, side: str, amount: str) -> str:
    """Return the cost of one order in one line."""
    taken, rules = report.walk, view.rules
    asset = rules.quote if taken.unit == "quote" else rules.base
    order = f"{side} {amount} {plain(asset)} of {plain(rules.symbol)} at market"
    if report.expires_beyond is not None and taken.vwap is None:
        return f"{order}: expires at once, the best price is beyond Binance's price range."
    if taken.vwap is None or taken.slip_mid_bps is None:
        return f"{order}: no price, {why(taken.why_null or report.top.why_null)}."
    slip = bps(taken.slip_mid_bps)
    paid = f"average {_average(taken.vwap, rules)} over {leveled(taken.levels)}, {slip} bps from the mid"
    if taken.complete:
        return f"{order}: {paid}, fees excluded."
    step = QUOTE_STEP if taken.unit == "quote" else rules.step
    if report.expires_beyond is not None:
        end = price(report.expires_beyond, rules.quote, rules.tick)
        return (
            f"{order}: {written(taken.filled, step)} of it ({paid}); the rest expires at Binance's price range, {end}."
        )
    return (
        f"{order}: the {len(view.snapshot.bids)}/{len(view.snapshot.asks)} known levels fill only "
        f"{written(taken.filled, step)} of it ({paid}); the rest is not priced."
    )


def compact_levels(levels: tuple[PriceLevel, ...], tick: Decimal, step: Decimal) -> list[list[int]]:
    """Return each level as two integers: price in ticks, quantity in steps."""
    return [[int(level.price / tick), int(level.quantity / step)] for level in levels]


def scale_of(step: Decimal, values: Sequence[Decimal]) -> Decimal:
    """Return the step if all values are multiples of the step, otherwise the power of ten that fits them all."""
    if step and not any(value % step for value in values):
        return step
    return Decimal(1).scaleb(-max(map(decimals_of, values), default=0))


def _heading(view: BookView) -> str:
    book = view.snapshot
    origin = f"live, {view.age_ms} ms old" if view.is_live else f"requested now; {OPENING[view.no_feed]}{_lag(view)}"
    stale = f", stale: unchanged for {span(view.age_ms)}" if view.is_stale else ""
    return f"{plain(view.rules.symbol)} book ({origin}{stale}, {len(book.bids)}/{len(book.asks)} levels)"


def _lag(view: BookView) -> str:
    return f" by {span(view.lag_ms)}" if view.no_feed == "late" else ""


def _price(value: float, rules: SymbolRules) -> str:
    return price(Decimal(repr(value)), rules.quote, rules.tick)


def _average(value: float, rules: SymbolRules) -> str:
    return average(Decimal(repr(value)), rules.quote, rules.tick)


def _priced(amount: int, walks: tuple[BookWalk, BookWalk]) -> str:
    costs = [bps(each.slip_mid_bps) if each.complete and each.slip_mid_bps is not None else "n/a" for each in walks]
    return f"${amount:,} costs {costs[0]} bps to buy, {costs[1]} to sell"


def _spread(bid: PriceLevel | None, ask: PriceLevel | None, rules: SymbolRules) -> str | None:
    return None if bid is None or ask is None else exact(ask.price - bid.price, rules.tick)


def _level(level: PriceLevel | None, rules: SymbolRules) -> dict[str, str] | None:
    return None if level is None else {"price": exact(level.price, rules.tick), "qty": exact(level.quantity)}


def _by_side(report: BookReport) -> dict[str, tuple[LargestLevel, ...]]:
    return {"bid": report.largest_bids, "ask": report.largest_asks}


def _largest(report: BookReport, rules: SymbolRules) -> list[dict[str, Any]]:
    return [
        {
            "side": side,
            "price": exact(each.level.price, rules.tick),
            "qty": exact(each.level.quantity),
            "share_of_side": round(each.share, 3),
        }
        for side, found in _by_side(report).items()
        for each in found
    ]


def _largest_words(side: str, found: LargestLevel, rules: SymbolRules) -> str:
    return f"{side} {exact(found.level.quantity)} at {price(found.level.price, rules.quote, rules.tick)}"


def _slippage(report: BookReport, rules: SymbolRules, trust: Confidence) -> Metric:
    if rules.quote not in DOLLAR_LIKE:
        return Metric(value=None, unit="bps", confidence="none", why_null="no_route")
    costs = {
        f"{amount // 1000}k": {
            side: basis_points(each.slip_mid_bps) if each.complete else None
            for side, each in zip(("buy", "sell"), walks, strict=True)
        }
        for amount, walks in report.walks.items()
    }
    return Metric(value=costs, unit="bps", confidence=trust, method="walk_from_mid")


def _capacity(depth: Depth, rules: SymbolRules) -> dict[str, Any]:
    return {
        "base": written(depth.base, rules.step),
        "quote": written(depth.quote, QUOTE_STEP),
        "worst_price": None if depth.worst_price is None else exact(depth.worst_price, rules.tick),
        "truncated": depth.truncated,
    }
