"""Pages of the account's trades over several pairs, cut so that no trade is skipped or told twice. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.domain.orders import Fill

# What the exchange answers at most in one call; the weight is the same for one row and for all of them.
MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class TradePage:
    """Trades in the order of time, and whether there are more in the direction that was walked."""

    fills: tuple[Fill, ...]
    goes_on: bool


def oldest_first(fill: Fill) -> tuple[int, str, int]:
    return fill.time_ms, fill.symbol, fill.trade_id


def cut_page(found: Sequence[Sequence[Fill]], limit: int, *, forward: bool) -> TradePage:
    """Return the first trades of several pairs, or walking back the last of them.

    An order often has several trades in one millisecond. The next page begins at another one, so this page ends with
    all of its last; only a single millisecond with more trades than the limit makes a longer page.
    """
    rows = sorted((fill for each in found for fill in each), key=oldest_first, reverse=not forward)
    # Behind the end of a full answer there is more of that pair, and some of it may be of the same millisecond.
    ends = {each[-1 if forward else 0].time_ms for each in found if len(each) >= MOST_ROWS}
    known = next((place for place, fill in enumerate(rows) if fill.time_ms in ends), len(rows))
    cut = min(limit, known)
    while 0 < cut < len(rows) and rows[cut - 1].time_ms == rows[cut].time_ms:
        cut -= 1
    if rows and not cut:
        cut = sum(1 for fill in rows if fill.time_ms == rows[0].time_ms)
    shown = rows[:cut] if forward else rows[:cut][::-1]
    return TradePage(tuple(shown), cut < len(rows) or bool(ends))
