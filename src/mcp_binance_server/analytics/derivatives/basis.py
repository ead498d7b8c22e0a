"""Basis of a contract: mark against index, perpetual against spot, and quarterlies."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.analytics.derivatives.hourly import by_hour, is_fresh
from mcp_binance_server.analytics.ranks import Percentile, percentile_of
from mcp_binance_server.domain.derivatives import BasisPoint, Contract, FuturesQuote, PremiumIndex
from mcp_binance_server.domain.market import Quote
from mcp_binance_server.domain.periods import DAY_MS
from mcp_binance_server.domain.symbols import Symbol

# Maximum time between two compared prices: the market moves in between.
MOST_APART_MS = 1_000
_BPS = 10_000
_YEAR_DAYS = 365


@dataclass(frozen=True, slots=True)
class MarkVsIndex:
    """Mark against index of one answer, in bps, and its rank among the hourly premiums of the contract's last price."""

    bps: Decimal | None
    at_ms: int
    percentile: Percentile
    stamp_ms: int | None


@dataclass(frozen=True, slots=True)
class PerpVsSpot:
    """The perpetual's mid against the spot mid times the multiplier; `bps` is None if their times are too far apart."""

    bps: Decimal | None
    apart_ms: int
    perp_mid: Decimal
    spot_mid: Decimal


@dataclass(frozen=True, slots=True)
class Quarterly:
    """A delivery contract: mark against index, days left, and the basis as simple % a year."""

    symbol: Symbol
    bps: Decimal | None
    days: Decimal
    apr: Decimal | None
    delivery_ms: int
    at_ms: int


def mark_vs_index(premium: PremiumIndex, points: Sequence[BasisPoint], now_ms: int) -> MarkVsIndex:
    """Compare mark and index of one answer, and rank the result among the hourly rows. Stale rows give no rank."""
    hours = by_hour(points, now_ms)
    stamp = max(hours, default=None)
    rate = premium_rate(premium)
    known = {at: each.rate for at, each in hours.items()} if is_fresh(stamp, now_ms) else {}
    return MarkVsIndex(None if rate is None else _BPS * rate, premium.time_ms, percentile_of(rate, known), stamp)


def premium_rate(premium: PremiumIndex) -> Decimal | None:
    """Return the premium of the mark over the index as a share of the index; None without an index."""
    return (premium.mark - premium.index) / premium.index if premium.index > 0 and premium.mark > 0 else None


def perp_vs_spot(perpetual: FuturesQuote, spot: Quote, spot_ms: int, multiplier: Decimal = Decimal(1)) -> PerpVsSpot:
    """Compare two mids requested together. One contract is `multiplier` units of the spot asset."""
    perp_mid, spot_mid = (perpetual.bid + perpetual.ask) / 2, (spot.bid + spot.ask) / 2
    apart_ms = abs(perpetual.time_ms - spot_ms)
    whole = _is_whole(perpetual.bid, perpetual.ask) and _is_whole(spot.bid, spot.ask) and multiplier > 0
    if not whole or apart_ms > MOST_APART_MS:
        return PerpVsSpot(None, apart_ms, perp_mid, spot_mid)
    level = spot_mid * multiplier
    return PerpVsSpot(_BPS * (perp_mid - level) / level, apart_ms, perp_mid, spot_mid)


def quarterly(contract: Contract, premium: PremiumIndex) -> Quarterly:
    """Describe a delivery contract at the time of its mark. With less than one day left `apr` is None."""
    rate = premium_rate(premium)
    left_ms = contract.delivery_ms - premium.time_ms
    days = Decimal(left_ms) / DAY_MS
    apr = None if rate is None or left_ms < DAY_MS else 100 * rate * _YEAR_DAYS / days
    bps = None if rate is None else _BPS * rate
    return Quarterly(contract.symbol, bps, days, apr, contract.delivery_ms, premium.time_ms)


def _is_whole(bid: Decimal, ask: Decimal) -> bool:
    return 0 < bid <= ask
