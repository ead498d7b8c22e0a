"""Basis of a contract: mark price against index, perpetual against spot, and delivery contracts."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.analytics.derivatives.hourly import by_hour, is_fresh
from mcp_binance_server.analytics.ranks import Percentile, percentile_of
from mcp_binance_server.domain.derivatives import BasisPoint, Contract, FuturesQuote, PremiumIndex
from mcp_binance_server.domain.market import Quote
from mcp_binance_server.domain.periods import DAY_MS
from mcp_binance_server.domain.symbols import Symbol

# Maximum time between two compared prices. The market moves in between.
MOST_APART_MS = 1_000
_BPS = 10_000
_YEAR_DAYS = 365


@dataclass(frozen=True, slots=True)
class MarkVsIndex:
    """Premium of the mark over the index in bps, and its percentile.

    The percentile is among the hourly premiums of the contract's last price.
    """

    bps: Decimal | None
    at_ms: int
    percentile: Percentile
    stamp_ms: int | None


@dataclass(frozen=True, slots=True)
class PerpVsSpot:
    """Premium of the perpetual's mid over the spot mid times the multiplier.

    `bps` is None if the times of both mids are too far apart.
    """

    bps: Decimal | None
    apart_ms: int
    perp_mid: Decimal
    spot_mid: Decimal


@dataclass(frozen=True, slots=True)
class Quarterly:
    """A delivery contract: premium of the mark over the index, days left, and the basis as simple % a year."""

    symbol: Symbol
    bps: Decimal | None
    days: Decimal
    apr: Decimal | None
    delivery_ms: int
    at_ms: int


def mark_vs_index(premium: PremiumIndex, points: Sequence[BasisPoint], now_ms: int) -> MarkVsIndex:
    """Compute the premium of the mark over the index, and its percentile. Stale rows give no percentile."""
    hours = by_hour(points, now_ms)
    stamp = max(hours, default=None)
    rate = premium_rate(premium)
    known = {at: each.rate for at, each in hours.items()} if is_fresh(stamp, now_ms) else {}
    return MarkVsIndex(None if rate is None else _BPS * rate, premium.time_ms, percentile_of(rate, known), stamp)


def premium_rate(premium: PremiumIndex) -> Decimal | None:
    """Return the premium of the mark as a share of the index, or None without an index."""
    return (premium.mark - premium.index) / premium.index if premium.index > 0 and premium.mark > 0 else None


def perp_vs_spot(perpetual: FuturesQuote, spot: Quote, spot_ms: int, multiplier: Decimal = Decimal(1)) -> PerpVsSpot:
    """Compare two mids that were requested together. One contract is `multiplier` units of the spot asset."""
    perp_mid, spot_mid = (perpetual.bid + perpetual.ask) / 2, (spot.bid + spot.ask) / 2
    apart_ms = abs(perpetual.time_ms - spot_ms)
    whole = _is_whole(perpetual.bid, perpetual.ask) and _is_whole(spot.bid, spot.ask) and multiplier > 0
    if not whole or apart_ms > MOST_APART_MS:
        return PerpVsSpot(None, apart_ms, perp_mid, spot_mid)
    level = spot_mid * multiplier
    return PerpVsSpot(_BPS * (perp_mid - level) / level, apart_ms, perp_mid, spot_mid)


def quarterly(contract: Contract, premium: PremiumIndex) -> Quarterly:
    """Describe a delivery contract at the time of its mark. `apr` is None if less than one day is left."""
    rate = premium_rate(premium)
    left_ms = contract.delivery_ms - premium.time_ms
    days = Decimal(left_ms) / DAY_MS
    apr = None if rate is None or left_ms < DAY_MS else 100 * rate * _YEAR_DAYS / days
    bps = None if rate is None else _BPS * rate
    return Quarterly(contract.symbol, bps, days, apr, contract.delivery_ms, premium.time_ms)


def _is_whole(bid: Decimal, ask: Decimal) -> bool:
    return 0 < bid <= ask
