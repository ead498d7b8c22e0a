"""Common words, numbers and units, and a spelling corrector."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcp_binance_server.charts.language.names import KNOWN_QUOTES
from mcp_binance_server.charts.language.reading import fold

FILLER: Final = frozenset(
    """a about above across action add added adding after again against ahead all along alongside also am an
    analysis and any anything appear around as asap at away background bare basic be bearish because been before
    being below beside best between big bit both breakout bring bro build bullish but by c'mon call can candle
    candles canvas cause chart charting charts check clean clear close closer cmon coin coins come compare
    compared comparing comparison complete could cross crossing crossover crypto cryptocurrency currency current
    currently data dear default detail detailed did dip display do does doing done draw drawing drawings dump
    dumping during each either else enough etc every everything exchange far feel few find fine first focus
    follow following for format friend from full further generate get give given go going good got graph great
    guy guys had has have having he hello help her here hey hi him his histogram history hmm hold how however
    hows i i'd i'll i'm idea if image in include included including index indicator indicators interested
    interval into is it it's its itself just keep kind kinda kindly know lately latest least left let let's lets
    level like line lines little live load long look looking looks lot lower made main make man many marked
    market markets mate maybe me mean might mind mine mode model more most much must my name need needed needs
    network new next nice normal now of off oh ok okay old on once one ones only or oscillator other our out
    over overbought overlaid overlay overlays oversold own pair pair's pane panel part perhaps period pic
    picture place plain please plot plotted plotting pls plus plz point possible preferably pretty price prices
    pricing print protocol pull pump pumping put quick quickly quote rally range ratio real really recent
    recently regular relative render resolution result ribbon right right-hand run same say scale screen second
    see seen send set setting settings setup share shares should show showing shown shows side simple simply
    since sir size small snapshot so some someone something soon spot squeeze still stock stocks studies study
    stuff style sure symbol take tell term test tf than thank thanks that that's the their them theme themed
    themes then there these they thing think this those though through thx ticker till time timeframe times
    timezone to today together token tokens too top toward towards trade traded trader trading trend try turn
    two ty type uh um under until up update upper us use used using usual value values versus very via view
    visible visual visualise visualize visually vs wanna want wanted wants was way we well were what what's
    whats when where which while who whole why will window wise wish with within would wrong ya ye yeah yes yet
    yo you your yours zoom""".split()  # noqa: SIM905 - readable as a block of words
)

# Plain words that are also asset codes. In a text the plain word is far more likely.
PLAIN_WORDS: Final = frozenset(
    """a ai all apt at bar be c cake coin d day for g gas go high id in it just link low ma mask me move near not
    now on one op open or people s safe sun t the ton v w""".split()  # noqa: SIM905
)
# Less common words. They are not read as a market if the text names a certain one, but are reported if unread.
STOP_TICKERS: Final = PLAIN_WORDS | frozenset(
    """ace act alt auction beam bio bond cat city cow dar data dent fire flow form fun gun hard home hood hook
    hot io key layer magic marathon mob og om ong pixel pond portal prom pump quick rare red riot sign slf
    strategy super sys tko tree turbo win wing""".split()  # noqa: SIM905
)

NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40,
    "forty-five": 45, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100, "couple of": 2, "couple": 2,
    "a couple of": 2, "few": 3, "a few": 3, "several": 3,
}  # fmt: skip
VAGUE: Final = frozenset({"couple of", "couple", "a couple of", "few", "a few", "several"})

# Units and their words. The single letter m means minutes, and M means months.
UNITS: Final = {
    "s": ("s", "sec", "secs", "second", "seconds"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours", "hourly"),
    "D": ("d", "day", "days"),
    "W": ("w", "wk", "wks", "week", "weeks"),
    "M": ("mo", "mos", "mth", "month", "months"),
    "Q": ("quarter", "quarters"),
    "Y": ("y", "yr", "yrs", "year", "years"),
}
UNIT_OF: Final = {word: unit for unit, words in UNITS.items() for word in words}
MINUTES: Final = {
    "s": 1 / 60, "m": 1.0, "h": 60.0, "D": 1_440.0, "W": 10_080.0, "M": 43_200.0, "Q": 129_600.0, "Y": 525_600.0,
}  # fmt: skip
BARS: Final = frozenset({"candle", "candles", "bar", "bars", "kline", "klines", "candlestick", "candlesticks"})

# Shorter words are not corrected, because they are too similar: "goal" must not become gold.
SHORTEST: Final = 5
LONG: Final = 8
_WORD: Final = re.compile(r"(?<![\w:$#.])[^\W\d_]{3,24}(?![\w:])")
_LEADS: Final = ("last", "past", "previous")
_COUNT: Final = re.compile(r"(?<![\w.,$])\d{1,4} ?$")
_TIME_WORDS: Final = (
    "day", "days", "week", "weeks", "month", "months", "year", "years", "hour", "hours", "minute", "minutes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mended:
    """A text after spelling correction, and the pairs (written, corrected)."""

    text: str
    changes: tuple[tuple[str, str], ...]


class Speller:
    """Spelling corrector for the words of the vocabulary."""

    def __init__(self, known: Iterable[str], meant: Iterable[str]) -> None:
        self._known = frozenset(known)
        self._meant = tuple(sorted({word for word in meant if len(word) >= SHORTEST and word.isalpha()}))

    def mend(self, text: str) -> Mended:
        """Replace each unknown word by a known one. The known word must be the only one within the edit distance."""
        changes: list[tuple[str, str]] = []

        def replace(found: re.Match[str]) -> str:
            word = fold(found[0])
            before = text[: found.start()].rstrip().lower()
            counted = _COUNT.search(text[: found.start()]) is not None
            better = self._better(word, is_time=counted or before.endswith(_LEADS))
            if better is None:
                return found[0]
            changes.append((found[0], better))
            return better

        return Mended(_WORD.sub(replace, text), tuple(changes))

    def _better(self, word: str, *, is_time: bool) -> str | None:
        if word in self._known or word.removesuffix("s") in self._known or word in UNIT_OF:
            return None
        if is_time and (unit := _only(word, _TIME_WORDS, 1)) is not None:
            return unit
        if len(word) < SHORTEST or word.endswith(tuple(quote.lower() for quote in KNOWN_QUOTES)):
            return None
        alike = [each for each in self._meant if each[0] == word[0] and abs(len(each) - len(word)) <= 2]
        return _only(word, alike, 2 if len(word) >= LONG else 1)


def _only(word: str, candidates: Iterable[str], most: int) -> str | None:
    letters = set(word)
    # A slip changes at most two letters, so most words need no distance.
    near = [each for each in candidates if len(letters.symmetric_difference(each)) <= 2 * most]
    ranked = sorted((slips, each) for each in near if (slips := edit_distance(word, each)) <= most)
    if not ranked or (len(ranked) > 1 and ranked[0][0] == ranked[1][0] and not ranked[1][1].startswith(ranked[0][1])):
        return None
    return ranked[0][1]


def edit_distance(word: str, other: str) -> int:
    """Count the slips between two words: letters added, left out, changed, or swapped with the next one.

    This is the optimal string alignment distance, the restricted form of Damerau-Levenshtein.
    """
    before, above = list[int](), list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        current = [row]
        for column, its in enumerate(other, 1):
            least = min(above[column] + 1, current[-1] + 1, above[column - 1] + (letter != its))
            if row > 1 < column and (letter, its) == (other[column - 2], word[row - 2]):
                least = min(least, before[column - 2] + 1)
            current.append(least)
        before, above = above, current
    return above[-1]
