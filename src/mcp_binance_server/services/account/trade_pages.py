"""Pages of the account's trades over several pairs. No trade is skipped or repeated. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.domain.orders import Fill

# Maximum number of rows in an answer. The weight does not depend on the number of rows.
MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class TradePage:
    """Trades ordered by time. `goes_on` is True if more exist in the direction of paging."""

    fills: tuple[Fill, ...]
    goes_on: bool


def oldest_first(fill: Fill) -> tuple[int, str, int]:
    return fill.time_ms, fill.symbol, fill.trade_id


def cut_page(found: Sequence[Sequence[Fill]], limit: int, *, forward: bool) -> TradePage:
    """Return the first trades of several pairs or, when paging backward, the last ones.

    An order often has several trades in one millisecond. The next page starts at a different millisecond. So this page
    holds all trades of its last millisecond. Only a millisecond with more trades than the limit makes a page longer.
    """
    rows = sorted((fill for each in found for fill in each), key=oldest_first, reverse=not forward)
    # After a full answer the pair may have more trades, even in the millisecond of the last row.
    ends = {each[-1 if forward else 0].time_ms for each in found if len(each) >= MOST_ROWS}
    known = next((place for place, fill in enumerate(rows) if fill.time_ms in ends), len(rows))
    cut = min(limit, known)
    while 0 < cut < len(rows) and rows[cut - 1].time_ms == rows[cut].time_ms:
        cut -= 1
    if rows and not cut:
        cut = sum(1 for fill in rows if fill.time_ms == rows[0].time_ms)
    shown = rows[:cut] if forward else rows[:cut][::-1]
    return TradePage(tuple(shown), cut < len(rows) or bool(ends))
