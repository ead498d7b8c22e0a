"""Report on a perpetual as structured data. Numbers are rounded here, so the page shows the same values."""

from decimal import Decimal
from typing import Any

from mcp_binance_server.analytics.derivatives.basis import MOST_APART_MS, PerpVsSpot
from mcp_binance_server.analytics.derivatives.funding import FundingReport
from mcp_binance_server.analytics.derivatives.interest import InterestReport
from mcp_binance_server.analytics.derivatives.positioning import ShareReport, TakerReport
from mcp_binance_server.analytics.derivatives.report import DerivativesReport, LiquidationReport
from mcp_binance_server.analytics.ranks import Percentile
from mcp_binance_server.domain.money import round_to_places
from mcp_binance_server.surface.views.markdown import STALE_MS, day_of, exact, instant, span
from mcp_binance_server.surface.views.market import SOURCES

Members = dict[str, Any]

SOURCE = "Binance USDⓈ-M futures"
# The exchange lists perpetuals with a delivery date in the year 2100.
NO_END_MS = 4_102_444_800_000
NOTES = (
    "Rates, shares, changes and apr are in percent; if funding is positive, longs pay shorts at the settlement; apr "
    "is the annualised estimate, not a yield",
    "The percentile of funding ranks the last settled rate; the running estimate has no published past",
    "n counts hourly rows, and neighbouring hours are not independent; below 30 rows there is no percentile",
    "Shares count accounts, not money; top accounts are the fifth with the highest margin balance; top_positions "
    "counts their positions",
    "The liquidations seen are a sample: at most one per symbol and second is published",
)


def members(report: DerivativesReport) -> Members:
    """Return the sections of a report: percent, bps and ranks as numbers, amounts as decimal text."""
    return {
        "symbol": report.contract.symbol,
        "contract": _contract(report),
        "funding": None if report.funding is None else _funding(report.funding),
        "open_interest": None if report.interest is None else _interest(report.interest),
        "basis": _basis(report),
        "positioning": _positioning(report),
        "liquidations": None if report.liquidations is None else _liquidations(report.liquidations),
        "missing": [*report.missing],
        "as_of": instant(report.as_of_ms),
        "source": SOURCES[report.origin] if report.origin in ("simulated", "simulated_stream") else SOURCE,
        "host": report.host,
        "notes": [*NOTES],
    }


def age_doubts(report: DerivativesReport) -> list[str]:
    """Return a warning if the data is old."""
    return [f"Stale: the exchange's data is {span(report.age_ms)} old"] if report.age_ms > STALE_MS else []


def rounded(value: Decimal | float | None, places: int) -> float | None:
    """Round as the pages do, without a negative zero."""
    if value is None:
        return None
    exactly = value if isinstance(value, Decimal) else Decimal(repr(value))
    return float(round_to_places(exactly, places)) + 0


def percent_of(share: Decimal | None) -> float | None:
    return None if share is None else rounded(100 * share, 6)


def _minute(epoch_ms: int) -> str:
    return f"{instant(epoch_ms)[:16]}Z"


def _ranked(percentile: Percentile) -> Members:
    window = None
    if percentile.from_ms is not None and percentile.to_ms is not None:
        window = f"{day_of(percentile.from_ms)} to {day_of(percentile.to_ms)}"
    return {"percentile": rounded(percentile.value, 1), "n": percentile.n, "window": window}


def _contract(report: DerivativesReport) -> Members:
    contract = report.contract
    return {
        "type": contract.kind,
        "underlying": contract.underlying,
        "interval_hours": report.interval.hours,
        "interval_source": report.interval.source,
        "multiplier": exact(report.spot.multiplier) if report.spot else None,
        "spot_pair": report.spot.symbol if report.spot else None,
        "delivery": _minute(contract.delivery_ms) if 0 < contract.delivery_ms < NO_END_MS else None,
    }


def _funding(report: FundingReport) -> Members:
    return {
        "estimate": percent_of(report.estimate),
        "next_at": None if report.next_ms is None else _minute(report.next_ms),
        "apr": rounded(report.apr, 2),
        "cap": percent_of(report.cap),
        "floor": percent_of(report.floor),
        "at_limit": report.at_limit,
        "paid_7d": percent_of(report.paid_7d.rate),
        "paid_30d": percent_of(report.paid_30d.rate),
        "paid_30d_apr": rounded(report.paid_30d.apr, 2),
        "settled": percent_of(report.settled),
        **_ranked(report.percentile),
    }


def _interest(report: InterestReport) -> Members:
    changes = {"1h": report.change_1h, "24h": report.change_24h, "7d": report.change_7d}
    return {
        "contracts": exact(report.contracts),
        "at": _minute(report.contracts_ms),
        "value": exact(round_to_places(report.value, 2)),
        "mark_at": _minute(report.mark_ms),
        "change_contracts": {name: rounded(each.contracts_percent, 2) for name, each in changes.items()},
        "change_value": {name: rounded(each.value_percent, 2) for name, each in changes.items()},
        "change_to": None if report.stamp_ms is None else _minute(report.stamp_ms),
        **_ranked(report.percentile),
        "change_percentile": rounded(report.change_24h_percentile.value, 1),
        "change_n": report.change_24h_percentile.n,
    }


def _basis(report: DerivativesReport) -> Members:
    mark, spot = report.mark, report.perp_vs_spot
    return {
        "mark_vs_index_bps": None if mark is None else rounded(mark.bps, 2),
        **({} if mark is None else _ranked(mark.percentile)),
        "perp_vs_spot_bps": None if spot is None else rounded(spot.bps, 2),
        "apart_ms": None if spot is None else spot.apart_ms,
        **({} if spot is None or spot.bps is not None else {"why_null": _why_null(spot)}),
        "quarterlies": [
            {
                "symbol": each.symbol,
                "bps": rounded(each.bps, 2),
                "days": rounded(each.days, 1),
                "apr": rounded(each.apr, 2),
            }
            for each in report.quarterlies
        ],
    }


def _why_null(spot: PerpVsSpot) -> str:
    return "not of one moment" if spot.apart_ms > MOST_APART_MS else "no whole quote"


def _positioning(report: DerivativesReport) -> Members:
    shares = {kind: _share(each) for kind, each in report.shares.items()}
    first = next(iter(shares.values()), None)
    # Shares usually have the same time and window, which are then written only once.
    alike = {
        name: first[name]
        for name in ("at", "window")
        if first and all(each[name] == first[name] for each in shares.values())
    }
    rows = {kind: {name: value for name, value in each.items() if name not in alike} for kind, each in shares.items()}
    return {**alike, **rows, **({} if report.taker is None else {"taker": _taker(report.taker)})}


def _share(report: ShareReport) -> Members:
    return {
        "long_share": percent_of(report.long_share),
        "ratio": None if report.ratio is None else float(report.ratio),
        "change_24h": rounded(report.change_24h, 2),
        **_ranked(report.percentile),
        "at": None if report.stamp_ms is None else _minute(report.stamp_ms),
    }


def _taker(report: TakerReport) -> Members:
    return {
        "buy_share_1h": rounded(None if report.buy_share_1h is None else 100 * report.buy_share_1h, 2),
        "buy_share_24h": rounded(None if report.buy_share_24h is None else 100 * report.buy_share_24h, 2),
        "at": None if report.stamp_ms is None else _minute(report.stamp_ms),
    }


def _liquidations(report: LiquidationReport) -> Members:
    sample = report.sample

    def side(events: int, value: Decimal) -> Members:
        return {"events": events, "value": exact(round_to_places(value, 2))}

    return {
        "listening": report.listening,
        **({} if report.setting is None else {"setting": report.setting}),
        "longs": None if sample.longs is None else side(sample.longs.events, sample.longs.value),
        "shorts": None if sample.shorts is None else side(sample.shorts.events, sample.shorts.value),
        "observed_secs": sample.observed_secs,
        "since": None if sample.since_ms is None else instant(sample.since_ms)[:19] + "Z",
    }
