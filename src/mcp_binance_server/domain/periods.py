"""Intervals, periods and candles."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.errors import InvalidArguments, echo

Edge = Literal["start", "end"]
Written = str | int

ACCEPTED = (
    'an ISO instant such as 2026-07-20 or 2026-07-20T15:00Z (UTC unless it names a zone), epoch milliseconds, "36h", '
    '"last 36 hours", "2 days ago", "today", "since yesterday", "this month", "now"'
)
LONGEST = 64
SECOND_MS = 1_000
DAY_MS = 86_400_000
LATEST_MS = 10**14

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WORDS = {
    "s": "s sec secs second seconds",
    "m": "m min mins minute minutes",
    "h": "h hr hrs hour hours",
    "d": "d day days",
    "w": "w wk wks week weeks",
    "month": "M mo mon month months",
    "year": "y yr yrs year years",
}
_UNIT_OF = {word: unit for unit, words in _WORDS.items() for word in words.split()}
_UNIT_MS = {"s": SECOND_MS, "m": 60_000, "h": 3_600_000, "d": DAY_MS, "w": 7 * DAY_MS}
_UNIT_MONTHS = {"month": 1, "year": 12}

_LEAD = re.compile(r"(?:(?:since|from|until|till|to|in|over|the) )+", re.IGNORECASE)
_ONE = re.compile(r"(?:last|past|an?|one) ([a-z]+)(?: ago)?", re.IGNORECASE)
_SOME = re.compile(r"(?:(?:last|past) )?((?:[0-9]{1,6} ?[a-z]+ ?)+?)(?: ?ago)?", re.IGNORECASE)
_PAIR = re.compile(r"([0-9]{1,6}) ?([a-z]+)", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}")
_EPOCH_MS = re.compile(r"[0-9]{11,14}")
_EPOCH_SECONDS = re.compile(r"[0-9]{9,10}")

# Case matters: 1m is a minute, 1M is a month.
Interval = Literal["1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"]
INTERVALS: tuple[str, ...] = get_args(Interval)


@dataclass(frozen=True, slots=True)
class Period:
    """Time range that includes both ends. A start of None is the beginning of time, an end of None is now."""

    start_ms: int | None = None
    end_ms: int | None = None


def read_period(start: Written | None, end: Written | None, now_ms: int) -> Period:
    """Parse the start and end of a period. An empty text means no limit, and an end in the future means now.

    Raises:
        InvalidArguments: a time has an unknown form, or the period is empty.
    """
    start_ms = None if start is None or start == "" else read_moment(start, now_ms, edge="start")
    end_ms = None if end is None or end == "" else read_moment(end, now_ms, edge="end")
    if start_ms is not None and start_ms > now_ms:
        raise _refused("start", "it is in the future")
    if end_ms is not None and end_ms >= now_ms:
        end_ms = None
    if start_ms is not None and end_ms is not None and start_ms > end_ms:
        raise _refused("start", "it is after end")
    return Period(start_ms, end_ms)


def read_moment(written: Written, now_ms: int, *, edge: Edge = "start") -> int:
    """Parse a time to milliseconds since 1970.

    For a whole day, week, month or year, return its start or its end, as `edge` says.

    Raises:
        InvalidArguments: the time has an unknown form.
    """
    text = _text(written)
    if 0 < len(text) <= LONGEST:
        bare = text[lead.end() :] if (lead := _LEAD.match(text)) else text
        for read in (_named, _number, _relative, _iso):
            found = read(bare, now_ms, edge)
            if found is not None:
                return max(0, found)
    raise _refused(edge, f"'{echo(text)}' is not a valid time; accepted: {ACCEPTED}")


def _text(written: Written) -> str:
    if isinstance(written, int):
        return str(written) if 0 <= written < LATEST_MS else "a number"
    return " ".join(written.split())


def _refused(argument: str, problem: str) -> InvalidArguments:
    return InvalidArguments(
        summary=f"Invalid time: {argument}: {problem}", errors=({"argument": argument, "problem": problem},)
    )


def _named(text: str, now_ms: int, edge: Edge) -> int | None:
    word = text.lower()
    today = now_ms // DAY_MS * DAY_MS
    if word == "now":
        return now_ms
    if word in {"today", "yesterday"}:
        begins = today if word == "today" else today - DAY_MS
        return begins if edge == "start" else begins + DAY_MS - 1
    if word == "this week":
        begins = today - moment_of(today).weekday() * DAY_MS
        return begins if edge == "start" else begins + 7 * DAY_MS - 1
    if word in {"this month", "this year"}:
        first = moment_of(today).replace(day=1)
        begins = first.replace(month=1) if word == "this year" else first
        return epoch_ms(begins) if edge == "start" else now_ms
    return None


def _number(text: str, _now_ms: int, _edge: Edge) -> int | None:
    if _EPOCH_MS.fullmatch(text):
        return int(text)
    # As milliseconds these numbers would lie in 1970, before any market data.
    return int(text) * SECOND_MS if _EPOCH_SECONDS.fullmatch(text) else None


def _relative(text: str, now_ms: int, _edge: Edge) -> int | None:
    if one := _ONE.fullmatch(text):
        pairs = [("1", one[1])]
    elif some := _SOME.fullmatch(text):
        pairs = [(pair[1], pair[2]) for pair in _PAIR.finditer(some[1])]
    else:
        return None
    back_ms, months = 0, 0
    for count, word in pairs:
        unit = _UNIT_OF.get(word) or _UNIT_OF.get(word.lower())
        if unit is None:
            return None
        back_ms += int(count) * _UNIT_MS.get(unit, 0)
        months += int(count) * _UNIT_MONTHS.get(unit, 0)
    return _months_before(now_ms, months) - back_ms


def _months_before(now_ms: int, months: int) -> int:
    today = moment_of(now_ms // DAY_MS * DAY_MS)
    year, month = divmod(today.year * 12 + today.month - 1 - months, 12)
    if year < EPOCH.year:
        return 0
    day = min(today.day, monthrange(year, month + 1)[1])
    return epoch_ms(today.replace(year=year, month=month + 1, day=day)) + now_ms % DAY_MS


def _iso(text: str, _now_ms: int, edge: Edge) -> int | None:
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    begins = epoch_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return begins + DAY_MS - 1 if edge == "end" and _DATE.fullmatch(text) else begins


def candle_opens(first_ms: int, interval: str, count: int) -> list[int]:
    """Return the opening times of consecutive candles."""
    if interval == "1M":
        return [_months_before(first_ms, -place) for place in range(count)]
    step_ms = int(interval[:-1]) * _UNIT_MS[interval[-1]]
    return [first_ms + place * step_ms for place in range(count)]


def moment_of(time_ms: int) -> datetime:
    """Convert milliseconds since 1970 to a UTC time."""
    return EPOCH + timedelta(milliseconds=time_ms)


def epoch_ms(moment: datetime) -> int:
    """Convert a time to milliseconds since 1970."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Candle:
    """Open, high, low and close of one interval, with the volume traded in it."""

    open_time_ms: int
    close_time_ms: int
    open: Price
    high: Price
    low: Price
    close: Price
    volume: Quantity
    quote_volume: Quantity
    trade_count: int
    taker_buy_volume: Quantity
