"""Dates, months, quarters and years in a text. A date without a year is the latest such date in the past."""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from mcp_binance_server.charts.language.words import NUMBERS, UNIT_OF

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Dates of well-known events that a text can name.
EVENTS: Final = {
    "halving": datetime(2024, 4, 20, tzinfo=UTC),
    "merge": datetime(2022, 9, 15, tzinfo=UTC),
    "ftx collapse": datetime(2022, 11, 8, tzinfo=UTC),
    "ftx crash": datetime(2022, 11, 8, tzinfo=UTC),
    "etf approval": datetime(2024, 1, 10, tzinfo=UTC),
    "covid crash": datetime(2020, 3, 12, tzinfo=UTC),
}
SECOND: Final = timedelta(seconds=1)
DAY: Final = timedelta(days=1)

LATEST: Final = 2100

_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?![\d:.])"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_ORDINALS: Final = ("first", "second", "third", "fourth", "1st", "2nd", "3rd", "4th")
_ORDINAL: Final = "|".join(_ORDINALS)
_CLOCK: Final = r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d{1,6})?)?)?"
_HOURS: Final = {"noon": 12, "midday": 12, "midnight": 0}
_OF_DAY: Final = (
    r"(?:(?P<before>today|yesterday)(?: at|,)? )?(?:(?P<named>noon|midday|midnight)"
    r"|(?P<hour>\d{1,2})(?=:\d\d| ?[ap]m)(?::(?P<minute>\d\d))?(?: ?(?P<half>am|pm))?)(?!\w)"
    r"(?: (?P<after>today|yesterday)(?!\w))?"
)


@dataclass(frozen=True, slots=True)
class Stretch:
    """First and last second of a date, the end of its words in the text, and an optional warning."""

    begin: datetime
    end: datetime
    after: int
    warning: tuple[str, str] | None = None
    names_year: bool = True
    names_day: bool = True


Reader = Callable[[re.Match[str], datetime], Stretch | None]


def read_date(folded: str, place: int, now: datetime) -> Stretch | None:
    """Read the date, month, quarter or year at a position, or return None."""
    for pattern, reader in _FORMS:
        if (found := pattern.match(folded, place)) is not None:
            try:
                return reader(found, now)
            except ValueError:
                return None
    return None


def month_at(year: int, month: int) -> tuple[datetime, datetime]:
    """Return the first and last second of a month."""
    begin = datetime(year, month, 1, tzinfo=UTC)
    return begin, begin + monthrange(year, month)[1] * DAY - SECOND


def midnight(moment: datetime) -> datetime:
    """Return midnight of the day of a time."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _iso(found: re.Match[str], _now: datetime) -> Stretch:
    begin = datetime.fromisoformat(found["date"]).replace(tzinfo=UTC)
    if found["hour"] is None:
        return Stretch(begin, begin + DAY - SECOND, found.end())
    moment = begin.replace(hour=int(found["hour"]), minute=int(found["minute"] or 0), second=int(found["second"] or 0))
    return Stretch(moment, moment, found.end())


def _slashes(found: re.Match[str], _now: datetime) -> Stretch:
    first, second, year = int(found["first"]), int(found["other"]), int(found["year"])
    day_first = found["sign"] == "." or first > 12
    month, day = (second, first) if day_first else (first, second)
    begin = datetime(year, month, day, tzinfo=UTC)
    doubtful = not day_first and second <= 12 and first != second
    said = ("ambiguous_date", f"'{found[0]}' is read with the month first, {begin:%Y-%m-%d}; write the date as ISO")
    return Stretch(begin, begin + DAY - SECOND, found.end(), said if doubtful else None)


def _day(found: re.Match[str], now: datetime) -> Stretch:
    month, day = _month_number(found["month"]), int(found["day"])
    year = int(found["year"]) if found["year"] else now.year
    begin = datetime(year, month, day, tzinfo=UTC)
    if not found["year"] and begin > now:
        begin = begin.replace(year=year - 1)
    return Stretch(begin, begin + DAY - SECOND, found.end(), names_year=bool(found["year"]))


def _month(found: re.Match[str], now: datetime) -> Stretch:
    month = _month_number(found["month"])
    year = int(found["year"]) if found["year"] else now.year - (month > now.month)
    return Stretch(*month_at(year, month), found.end(), names_year=bool(found["year"]))


def _part_of_month(found: re.Match[str], now: datetime) -> Stretch:
    whole = _month(found, now)
    first, last = {"early": (1, 10), "mid": (11, 20), "late": (21, whole.end.day)}[found["part"]]
    begin, end = whole.begin.replace(day=first), whole.end.replace(day=last)
    said = ("ambiguous_date", f"'{found[0]}' is read as {begin:%Y-%m-%d} to {end:%Y-%m-%d}")
    return Stretch(begin, end, found.end(), said, names_year=whole.names_year)


def _quarter(found: re.Match[str], now: datetime) -> Stretch:
    number = int(found["quarter"] or 0) or 1 + _ORDINALS.index(found["ordinal"]) % 4
    first = 3 * number - 2
    year = int(found["year"]) if found["year"] else now.year - (first > now.month)
    return Stretch(month_at(year, first)[0], month_at(year, first + 2)[1], found.end(), names_year=bool(found["year"]))


def _this_quarter(found: re.Match[str], now: datetime) -> Stretch:
    first = (now.month - 1) // 3 * 3 + 1
    return Stretch(month_at(now.year, first)[0], month_at(now.year, first + 2)[1], found.end())


def _half(found: re.Match[str], _now: datetime) -> Stretch:
    first, year = 6 * int(found["half"]) - 5, int(found["year"])
    said = ("ambiguous_range", f"'{found[0]}' is read as a half of the year, not as an interval")
    return Stretch(month_at(year, first)[0], month_at(year, first + 5)[1], found.end(), said)


def _year(found: re.Match[str], _now: datetime) -> Stretch:
    year = int(found["year"])
    return Stretch(datetime(year, 1, 1, tzinfo=UTC), datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC), found.end())


def _weekday(found: re.Match[str], now: datetime) -> Stretch:
    back = (now.weekday() - WEEKDAYS.index(found["weekday"])) % 7
    begin = midnight(now) - back * DAY
    said = ("ambiguous_range", f"'{found[0]}' is read as {begin:%Y-%m-%d}, the most recent one")
    return Stretch(begin, begin + DAY - SECOND, found.end(), said if found["last"] else None)


def _near(found: re.Match[str], now: datetime) -> Stretch:
    begin = midnight(now) - (DAY if found[0].startswith("yesterday") else timedelta())
    return Stretch(begin, begin + DAY - SECOND, found.end())


def _ago(found: re.Match[str], now: datetime) -> Stretch | None:
    count = int(found["count"]) if found["count"].isdigit() else NUMBERS.get(found["count"])
    unit = UNIT_OF.get(found["unit"])
    if count is None or unit is None or count > 10_000:
        return None
    if unit in "DWMQY":
        days = {"D": 1, "W": 7, "M": 30, "Q": 91, "Y": 365}[unit] * count
        begin = midnight(now - days * DAY)
        return Stretch(begin, begin + DAY - SECOND, found.end())
    moment = now - count * {"s": SECOND, "m": timedelta(minutes=1), "h": timedelta(hours=1)}[unit]
    return Stretch(moment, moment, found.end())


def _clock(found: re.Match[str], now: datetime) -> Stretch | None:
    hour, half = _HOURS.get(found["named"] or "", int(found["hour"] or 0)), found["half"]
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    day = found["before"] or found["after"]
    begin = midnight(now) - (DAY if day == "yesterday" else timedelta())
    moment = begin.replace(hour=hour, minute=int(found["minute"] or 0))
    return Stretch(moment, moment, found.end(), names_day=bool(day))


def _morning(found: re.Match[str], now: datetime) -> Stretch:
    return Stretch(midnight(now), midnight(now).replace(hour=12), found.end())


def _event(found: re.Match[str], _now: datetime) -> Stretch:
    begin = EVENTS[found["event"]]
    said = (
        "event_date_assumed",
        f"'{found['event']}' is read as {begin:%Y-%m-%d}; write the date if you mean another",
    )
    return Stretch(begin, begin + DAY - SECOND, found.end(), said)


def _month_number(text: str) -> int:
    return next(number for number, name in enumerate(MONTHS, start=1) if name.startswith(text[:3]))


def shifted(stretch: Stretch, by: timedelta) -> Stretch:
    """Return the span moved by a duration."""
    return replace(stretch, begin=stretch.begin + by, end=stretch.end + by)


_FORMS: Final[tuple[tuple[re.Pattern[str], Reader], ...]] = (
    (re.compile(rf"(?P<date>\d{{4}}-\d\d-\d\d)(?!\d)(?:[t ]{_CLOCK}(?<=:\d\d)(?:\.\d+)? ?(?:z|utc)?)?(?!\w)"), _iso),
    (re.compile(rf"(?P<first>\d{{1,2}})(?P<sign>[/.])(?P<other>\d{{1,2}})(?P=sign){_YEAR}"), _slashes),
    (re.compile(rf"{_MONTH} (?:the )?{_DAY}(?:,? {_YEAR})?(?!\w)"), _day),
    (re.compile(rf"(?:the )?{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?(?!\w)"), _day),
    (re.compile(rf"(?P<part>early|mid|late)[ -]{_MONTH}(?: (?:of )?{_YEAR})?(?!\w)"), _part_of_month),
    (re.compile(rf"{_MONTH}(?: (?:of )?{_YEAR})?(?!\w)"), _month),
    (re.compile(rf"(?:q(?P<quarter>[1-4])|(?P<ordinal>{_ORDINAL}) quarter)(?: (?:of )?{_YEAR})?(?!\w)"), _quarter),
    (re.compile(rf"h(?P<half>[12]) (?:of )?{_YEAR}(?!\w)"), _half),
    (re.compile(rf"(?:the year )?{_YEAR}(?![\w-])"), _year),
    (re.compile(rf"(?P<last>last )?(?P<weekday>{'|'.join(WEEKDAYS)})(?!\w)"), _weekday),
    (re.compile(r"(?:the )?(?:this|current) quarter(?!\w)"), _this_quarter),
    (re.compile(_OF_DAY), _clock),
    (re.compile(r"this morning(?!\w)"), _morning),
    (re.compile(r"(?:today|yesterday)(?!\w)"), _near),
    (re.compile(r"(?P<count>\d{1,5}|[a-z]+)[ -]?(?P<unit>[a-z]+) ago(?!\w)"), _ago),
    (re.compile(rf"(?:the )?(?:last |bitcoin |btc )?(?P<event>{'|'.join(EVENTS)})(?!\w)"), _event),
)
