"""Lines, levels and other drawings requested by a text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_binance_server.charts.language.reading import Mention, Phrases, SentenceReader, quoted, tokenise
from mcp_binance_server.charts.language.times.dates import read_date
from mcp_binance_server.charts.language.vocabulary import StudyName

PRICE: Final = r"\$?(?:\d{1,3}(?:,\d{3})+|\d{1,9})(?:\.\d{1,10})?(?:k|mm?)?(?![\w%/:]|[.,]\d|-\d)"
_UNIT: Final = r"(?! ?(?:m|h|d|w|y|min|mins|minutes?|hours?|days?|weeks?|months?|years?|candles|bars|x|by)\b)"
ONE_PRICE: Final = PRICE + _UNIT
_SHAPE: Final = re.compile(r"\$?(?P<number>[\d,]+(?:\.\d+)?)(?P<scale>k|mm?)?")
_SCALES: Final = {"k": 1_000, "m": 1_000_000, "mm": 1_000_000}

# Prices that only describe the market: "near 70k", "above 100,000", "$3200".
_WHERE: Final = "near|around|above|below|over|under|at|past|hit|hits|hitting|about|~|crossed|broke|touch(?:ed)?"
IN_PASSING: Final = re.compile(rf"(?<!\w)(?:{_WHERE}) ?{ONE_PRICE}|(?<!\w)\${PRICE}")

Coordinates = dict[str, int | float | str]


def price_of(text: str) -> int | float | None:
    """Parse a price, or return None. The result is a chart coordinate, not money, so a float is exact enough."""
    found = _SHAPE.fullmatch(text.strip())
    if found is None:
        return None
    scaled = float(found["number"].replace(",", "")) * _SCALES.get(found["scale"] or "", 1)
    rounded = round(scaled, 10)
    if not 0 < rounded < 1e15:
        return None
    return int(rounded) if rounded.is_integer() else rounded


@dataclass(frozen=True, slots=True)
class WantedDrawing:
    """One drawing in the tools' dialect."""

    type: str
    coordinates: Coordinates


_AND: Final = r" ?(?:,|and|&|\+|/|or) ?"
_MORE: Final = rf"{_AND}(?:(?:another(?: one| line| level)?|one more|again) )?(?:at )?"
_COUNTED: Final = r"two|three|four|five|\d"
_AT: Final = r"(?: ?(?:at|@|=|:) ?| (?:of|near|around) | )"
_NAMES: Final = r"support|resistance"
_PLAIN: Final = (
    r"(?:horizontal |price |alert |stop |target |entry |tp |sl |h)?(?:lines?|levels?)|alerts?|hlines?"
    r"|(?:s/r|support and resistance)(?: (?:lines?|levels?|zones?))?"
)
_LINES: Final = re.compile(
    rf"(?<!\w)(?:an? |the |(?:{_COUNTED}) )?(?:(?P<name>{_NAMES})(?: (?:lines?|levels?|zones?))?s?{_AT}"
    rf"|(?:{_PLAIN})(?: ?(?:at|@|=|:) ?| )|(?:{_COUNTED}) lines, )"
    rf"(?P<prices>{ONE_PRICE}(?:{_MORE}{ONE_PRICE})*)"
)
_PRICED: Final = re.compile(
    rf"(?<![\w.,])(?:an? |the )?(?P<price>{ONE_PRICE}) (?P<name>{_NAMES})(?: (?:line|level))?(?!\w)"
)
_MARKED: Final = re.compile(
    rf"(?<!\w)(?:mark|highlight|draw)(?: (?:a|the))? (?P<prices>{ONE_PRICE}(?! lines?\b)(?:{_AND}{ONE_PRICE})*)"
)
_EACH: Final = re.compile(ONE_PRICE)
# In many countries 97.500 means ninety-seven thousand five hundred.
_THOUSANDS: Final = re.compile(r"\$?\d{1,3}\.\d\d0")
_SIDE: Final = re.compile(
    r"(?<!\w)(?:go |going )?(?P<side>long|short|buy|sell)(?: (?:position|trade|setup|entry|idea))?(?!\w)(?! ?-?term)"
)
_ENTRY: Final = re.compile(
    rf"(?<!\w)(?:(?:entry|enter|entered|buy|sell|from|at|in)(?: (?:at|of|price))? ?[@:=]? ?|@ ?)?(?P<price>{ONE_PRICE})"
)
_TARGET: Final = re.compile(
    rf"(?<!\w)(?:target|tp|take[ -]profit|tgt|goal)1?(?!\w)(?: (?:at|of))? ?[@:=]? ?(?P<price>{ONE_PRICE})"
)
_STOP: Final = re.compile(rf"(?<!\w)(?:stop[ -]?loss|stop|sl)(?!\w)(?: (?:at|of))? ?[@:=]? ?(?P<price>{ONE_PRICE})")
_TALK: Final = frozenset({"buy", "sell"})
_VERTICAL: Final = re.compile(r"(?<!\w)(?:an? |the )?(?:vertical line|vline)(?: ?(?:at|on|@|for) ?| )")
_POINTED: Final = {
    "trend line": r"trend[ -]?lines?|ray",
    "fib retracement": r"fib(?:onacci)?(?: (?:retracements?|levels?|extension))?s?",
    "rectangle": r"rectangles?|box(?:es)?|supply zone|demand zone",
    "channel": r"(?:parallel |trend )channels?",
    "arrow": r"arrows?",
    "callout": r"callouts?",
    "vertical line": r"vertical lines?|vlines?",
    "text": r"text label|annotation",
    "horizontal line": rf"lines? (?:there|here)|(?:{_COUNTED}) lines?|horizontal lines?"
    r"|support(?: and resistance)?(?: (?:lines?|levels?|zones?))?"
    r"|resistance(?: (?:lines?|levels?|zones?))?|key levels?|price levels?|alert lines?",
}
_NEEDS: Final = {"horizontal line": "a price", "vertical line": "a time"}
_POINTS: Final = {
    name: re.compile(rf"(?<!\w)(?:an? |the |some )?(?:{words})(?!\w)") for name, words in _POINTED.items()
}
LAST_SWING_SAID: Final = "drew the Fibonacci retracement between the highest high and the lowest low of the bars shown"
_SWING: Final = re.compile(
    r" (?:of|on|for|over|from) (?:the |its )?(?:(?:last|latest|most recent|recent|major|big|main|whole) )*"
    r"(?:swing|move|leg|rally|drop|swing high (?:and|to) (?:swing )?low)(?!\w)"
)
_FROM_TO: Final = re.compile(rf" ?(?:from|between|at) {ONE_PRICE} ?(?:to|and|-) ?{ONE_PRICE}")


def find_drawings(reading: SentenceReader, studies: Phrases[StudyName]) -> list[Mention[WantedDrawing]]:
    """Extract every drawing. A drawing without prices or dates is removed from the text with a warning."""
    found = [*_positions(reading), *_vertical(reading), *_retracements(reading), *_priced(reading)]
    found += _lines(reading, studies)
    _without_points(reading)
    return sorted(found, key=lambda each: each.start)


def _lines(reading: SentenceReader, studies: Phrases[StudyName]) -> Iterator[Mention[WantedDrawing]]:
    for pattern in (_LINES, _MARKED):
        for match in pattern.finditer(reading.left):
            # The numbers in "RSI levels 80 and 20" are not prices.
            if studies.ends(tokenise(reading.left[: match.start()])):
                continue
            name = match.groupdict().get("name")
            start, end = match.span()
            prices = [each[0] for each in _EACH.finditer(match["prices"])]
            for each in filter(_THOUSANDS.fullmatch, prices):
                meant = f"'{each}' is read as {price_of(each)}; for thousands write {each.replace('.', '')}"
                reading.warn("ambiguous_token", meant)
            read = [price for each in prices if (price := price_of(each)) is not None]
            mentions = [reading.mention(_line(price, name), start, end) for price in read]
            yield from mentions


def _priced(reading: SentenceReader) -> Iterator[Mention[WantedDrawing]]:
    for match in _PRICED.finditer(reading.left):
        # In "support 65000 resistance 70000" each price belongs to the name before it.
        if re.search(rf"(?:{_NAMES}|line|level)s?{_AT}$", reading.left[: match.start()]):
            continue
        price = price_of(match["price"])
        if price is not None:
            yield reading.mention(_line(price, match["name"]), *match.span())


def _line(price: float, name: str | None) -> WantedDrawing:
    text: Coordinates = {"text": name} if name else {}
    return WantedDrawing("horizontalLine", {"price": price, **text})


def _vertical(reading: SentenceReader) -> Iterator[Mention[WantedDrawing]]:
    for match in _VERTICAL.finditer(reading.left):
        date = read_date(reading.left, match.end(), reading.now)
        if date is not None:
            moment = date.begin.isoformat().replace("+00:00", "Z")
            yield reading.mention(WantedDrawing("verticalLine", {"time": moment}), match.start(), date.after)


def _retracements(reading: SentenceReader) -> Iterator[Mention[WantedDrawing]]:
    for match in _POINTS["fib retracement"].finditer(reading.left):
        if between := _FROM_TO.match(reading.left, match.end()):
            start, end = (price_of(each[0]) for each in list(_EACH.finditer(between[0]))[:2])
            if start is not None and end is not None and start != end:
                drawn = WantedDrawing("fibRetracement", {"start": start, "end": end})
                yield reading.mention(drawn, match.start(), between.end())
            continue
        swing = _SWING.match(reading.left, match.end())
        if not reading.negated(match.start()):
            reading.notes.append(LAST_SWING_SAID)
        drawn = WantedDrawing("fibRetracement", {"swing": "last"})
        yield reading.mention(drawn, match.start(), swing.end() if swing else match.end())


def _positions(reading: SentenceReader) -> Iterator[Mention[WantedDrawing]]:
    side = _SIDE.search(reading.left)
    if side is None:
        return
    target, stop = _TARGET.search(reading.left, side.end()), _STOP.search(reading.left, side.end())
    labelled = [match for match in (target, stop) if match]
    entry = _entry(reading.left, side.end(), labelled)
    # "buy" and "sell" request a drawing only together with a target or a stop.
    if not labelled and (entry is None or side["side"] in _TALK):
        return
    for match in (side, *labelled, *([entry] if entry else [])):
        reading.take(*match.span())
    prices = [price_of(match["price"]) if match else None for match in (entry, target, stop)]
    if None in prices:
        missing = [name for name, price in zip(("entry", "target", "stop"), prices, strict=True) if price is None]
        reading.warn("drawing_needs_points", f"a {side['side']} position needs {' and '.join(missing)} as well")
        return
    at, goal, exit_at = (price or 0 for price in prices)
    long = side["side"] in {"long", "buy"}
    if not (exit_at < at < goal if long else goal < at < exit_at):
        order = "stop to entry to target" if long else "target to entry to stop"
        rule = f"for a {side['side']} position the prices must rise from {order}"
        reading.warn("drawing_inconsistent", f"{rule}; it is drawn as requested")
    coordinates: Coordinates = {"entry": at, "target": goal, "stop": exit_at}
    yield Mention(WantedDrawing("longPosition" if long else "shortPosition", coordinates), *side.span())


def _entry(left: str, place: int, labelled: list[re.Match[str]]) -> re.Match[str] | None:
    for match in _ENTRY.finditer(left, place):
        inside = any(other.start() <= match.start("price") < other.end() for other in labelled)
        # The entry price directly follows the side, or follows a word such as "entry".
        said = match[0] != match["price"] or re.fullmatch(r" ?(?:\w+ )?", left[place : match.start()])
        if not inside and said:
            return match
    return None


def _without_points(reading: SentenceReader) -> None:
    for name, pattern in _POINTS.items():
        for match in pattern.finditer(reading.left):
            prices = _FROM_TO.match(reading.left, match.end())
            start, end = match.start(), prices.end() if prices else match.end()
            said = reading.take(start, end)
            if not reading.negated(start):
                needs = _NEEDS.get(name, "times and prices")
                reading.warn("drawing_needs_points", f"{quoted(said)}: a {name} needs {needs}; it is not drawn")
