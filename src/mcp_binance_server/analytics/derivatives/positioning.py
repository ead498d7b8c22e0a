"""Positioning by hour: long shares of accounts and of the largest positions, and taker volume."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.analytics.derivatives.hourly import HOUR_MS, by_hour, hours_before, is_fresh
from mcp_binance_server.analytics.ranks import Percentile, percentile_of
from mcp_binance_server.domain.derivatives import SharePoint, TakerPoint

DAY_HOURS = 24


@dataclass(frozen=True, slots=True)
class ShareReport:
    """The newest long share from 0 to 1, the long/short ratio, and the share's 24-hour change in percentage points.

    One percentile ranks the share, and the other ranks its 24-hour change. Both compare with the hours received.
    """

    long_share: Decimal | None
    ratio: Decimal | None
    change_24h: Decimal | None
    percentile: Percentile
    change_24h_percentile: Percentile
    stamp_ms: int | None


@dataclass(frozen=True, slots=True)
class TakerReport:
    """Share of buys in the taker volume of the last whole hour and day. It is None if an hour is missing."""

    buy_share_1h: Decimal | None
    buy_share_24h: Decimal | None
    percentile_1h: Percentile
    stamp_ms: int | None
    """End of the last whole hour."""


def share_report(points: Sequence[SharePoint], now_ms: int) -> ShareReport:
    """Describe one kind of long share. If the hourly list is stale, only its newest timestamp is used."""
    hours = by_hour(points, now_ms)
    stamp = max(hours, default=None)
    known = hours if is_fresh(stamp, now_ms) else {}
    newest = known[stamp] if known and stamp is not None else None
    changes = _daily_points(known)
    return ShareReport(
        long_share=newest.long_share if newest else None,
        ratio=newest.ratio if newest else None,
        change_24h=None if stamp is None else changes.get(stamp),
        percentile=percentile_of(
            newest.long_share if newest else None, {at: each.long_share for at, each in known.items() if at != stamp}
        ),
        change_24h_percentile=percentile_of(
            None if stamp is None else changes.get(stamp), {at: each for at, each in changes.items() if at != stamp}
        ),
        stamp_ms=stamp,
    )


def taker_report(points: Sequence[TakerPoint], now_ms: int) -> TakerReport:
    """Describe taker volume. A row has the timestamp of the start of its hour; a running hour is left out."""
    began = by_hour(points, now_ms)
    whole = {at + HOUR_MS: each for at, each in began.items() if at + HOUR_MS <= now_ms}
    stamp = max(whole, default=None)
    if stamp is None or not is_fresh(stamp, now_ms):
        return TakerReport(None, None, percentile_of(None, {}), stamp)
    shares = {at: share for at, each in whole.items() if (share := buy_share([each])) is not None}
    day = [hours_before(whole, stamp, back) for back in range(DAY_HOURS)]
    traded = [each for each in day if each is not None]
    return TakerReport(
        shares.get(stamp),
        buy_share(traded) if len(traded) == DAY_HOURS else None,
        percentile_of(shares.get(stamp), {at: each for at, each in shares.items() if at != stamp}),
        stamp,
    )


def buy_share(points: Sequence[TakerPoint]) -> Decimal | None:
    """Return bought volume over total volume, or None without volume."""
    bought = sum((each.bought for each in points), Decimal(0))
    total = bought + sum((each.sold for each in points), Decimal(0))
    return bought / total if total > 0 else None


def _daily_points(hours: Mapping[int, SharePoint]) -> dict[int, Decimal]:
    return {
        at: 100 * (point.long_share - before.long_share)
        for at, point in hours.items()
        if (before := hours_before(hours, at, DAY_HOURS)) is not None
    }
