"""Appearance in a text: style, theme, scale, session, timezone, size, format, and visible elements."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.language.reading import Mention, SentenceReader, quoted

_CHART: Final = r"(?: (?:chart|graph|style|plot|view|mode))?"
_STYLES: Final = {
    "heikinAshi": r"heikin[ -]?ashi|heiken[ -]?ashi|ha candles",
    "hollowCandle": r"hollow[ -]?(?:candle(?:stick)?s?)",
    "baseline": r"base[ -]?line",
    "hiLo": r"hi[ -]?lo|high[ -]low",
    "column": r"columns?",
    "area": r"area|mountain",
    "bar": r"ohlc bars?|bars?|ohlc",
    "line": r"(?:(?:just|only|as|simple|plain) )?(?:an? )?line|closing line",
    "candle": r"candle(?:stick)?s?|japanese candles",
}
_UNOFFERED_STYLES: Final = r"renko|kagi|point (?:and|&) figure|p&f|line break|range bars|three line break|tpo"
_THEMES: Final = {
    "dark": r"(?:on |in )?(?:an? )?(?:dark|night|black)(?: (?:mode|theme|background|colou?rs?|style))?",
    "light": r"(?:on |in )?(?:an? )?(?:light|day mode|bright)(?: (?:mode|theme|background|colou?rs?|style))?"
    r"|(?:on |with )?(?:an? )?white(?: (?:mode|theme|background))?",
}
_SCALES: Final = {
    "logarithmic": r"(?:on |in |with )?(?:an? )?log(?:arithmic)?(?:[ -]?(?:scale|axis|chart))?",
    "percent": r"(?:in )?(?:an? )?(?:percent(?:age)?|%) ?(?:scale|axis|change|view|terms)?",
    "indexedTo100": r"index(?:ed)? (?:to|at) 100(?: scale)?",
    "regular": r"(?:an? )?(?:linear|normal|regular) (?:scale|axis)",
}
_SESSIONS: Final = {
    "extended": r"(?:with |in )?(?:extended|pre[ -]?market|after[ -]?hours?|overnight)"
    r"(?: (?:trading )?(?:hours?|session|trading))?",
    "regular": r"regular (?:trading )?(?:hours?|session)",
}
_FORMATS: Final = {
    "png": r"(?:as |in )?(?:an? )?png(?: (?:format|image))?",
    "jpeg": r"(?:as |in )?(?:an? )?jpe?g(?: (?:format|image))?",
}
# Names of chart elements, with their switches and the default of each switch.
_SWITCHES: Final = {
    r"vertical grid(?: ?lines)?": {"showVertGrid": True},
    r"horizontal grid(?: ?lines)?": {"showHorzGrid": True},
    r"grid(?: ?lines)?": {"showVertGrid": True, "showHorzGrid": True},
    r"legend": {"showLegend": True},
    r"(?:last )?price line": {"showPriceLine": True},
    r"(?:symbol )?watermark": {"showSymbolWatermark": False},
    r"inver(?:ted|t)(?: (?:the )?(?:scale|axis|chart))?|upside[ -]down": {"showInvertScale": False},
}
_UTC: Final = "Etc/UTC"
_ZONES: Final = {
    _UTC: "utc gmt",
    "America/New_York": "eastern est et edt ny",
    "America/Los_Angeles": "pacific pst la california",
    "America/Chicago": "central cst",
    "Europe/Berlin": "cet germany",
    "Europe/London": "uk bst",
    "Asia/Tokyo": "jst japan",
    "Asia/Kolkata": "ist india mumbai",
    "Asia/Hong_Kong": "hkt",
    "Asia/Singapore": "sgt",
    "Asia/Shanghai": "beijing china",
}
_ZONE_OF: Final = {word: zone for zone, words in _ZONES.items() for word in words.split()}
_ZONE: Final = re.compile(
    r"(?<!\w)(?:(?:in |at |use |on )?(?P<city>[a-z]+(?: [a-z]+)?) time(?:zone| zone)?"
    r"|(?:timezone|time zone) (?P<name>[a-z]+(?:[/_ ][a-z]+){0,3})|(?:in )?(?P<short>utc|gmt))(?!\w)"
)
STYLE_WORDS: Final = frozenset(
    {
        "heikin",
        "ashi",
        "hollow",
        "baseline",
        "candlestick",
        "candlesticks",
        "logarithmic",
        "percent",
        "extended",
        "legend",
        "resistance",
        "support",
    }
)


@dataclass(slots=True)
class WantedLooks:
    """Appearance requested by the text. Fields that the text does not mention are None."""

    style: str | None = None
    theme: str | None = None
    scale: str | None = None
    session: str | None = None
    timezone: str | None = None
    format: str | None = None
    override: dict[str, bool] = field(default_factory=dict[str, bool])


def find_looks(reading: SentenceReader, catalogue: ChartCatalogue) -> WantedLooks:
    """Extract all words about appearance from the text."""
    return WantedLooks(
        scale=_one(reading, _SCALES),
        session=_one(reading, _SESSIONS),
        timezone=_timezone(reading, catalogue),
        format=_one(reading, _FORMATS),
        override=_override(reading),
        style=_style(reading),
        theme=_theme(reading),
    )


def _mentions(reading: SentenceReader, words: Mapping[str, str], tail: str = "") -> list[Mention[str]]:
    found: list[Mention[str]] = []
    for value, pattern in words.items():
        matches = re.finditer(rf"(?<![\w.$#])(?:{pattern}){tail}(?!\w)", reading.left)
        found.extend(reading.mention(value, *match.span()) for match in matches)
    return sorted(found, key=lambda each: each.start)


def _one(reading: SentenceReader, words: Mapping[str, str]) -> str | None:
    wanted = reading.wanted(_mentions(reading, words))
    return wanted[0].value if wanted else None


def _style(reading: SentenceReader) -> str | None:
    for match in re.finditer(rf"(?<!\w)(?:{_UNOFFERED_STYLES}){_CHART}(?!\w)", reading.left):
        reading.take(*match.span())
        if not reading.negated(match.start()):
            reading.warn("unknown_style", f"{quoted(match[0])} charts are not offered; candles are drawn")
    wanted = reading.wanted(_mentions(reading, _STYLES, _CHART))
    # In "a line chart of 4h candles" the word "candles" only means bars.
    named = list(dict.fromkeys(each.value for each in wanted if each.value != "candle"))
    if len(named) > 1:
        reading.warn("conflicting_style", f"{' and '.join(named)} were both requested; {named[0]} is drawn")
    return named[0] if named else "candle" if wanted else None


def _theme(reading: SentenceReader) -> str | None:
    mentions = _mentions(reading, _THEMES)
    wanted = list(dict.fromkeys(each.value for each in reading.wanted(mentions)))
    if len(wanted) > 1:
        reading.warn("conflicting_theme", f"{' and '.join(wanted)} were both requested; {wanted[0]} is drawn")
    if wanted or not mentions:
        return wanted[0] if wanted else None
    return "light" if mentions[0].value == "dark" else "dark"


def _timezone(reading: SentenceReader, catalogue: ChartCatalogue) -> str | None:
    known = {name.rpartition("/")[2].replace("_", " ").lower(): name for name in catalogue.options("timezone")}
    full = {name.lower(): name for name in (*catalogue.options("timezone"), _UTC)}
    found: list[Mention[str]] = []
    for match in _ZONE.finditer(reading.left):
        said = match["city"] or match["name"] or match["short"]
        words = said.split(" ")
        for begin in range(len(words)):
            name = " ".join(words[begin:])
            zone = (
                full.get(name)
                or full.get(name.replace(" ", "_"))
                or known.get(name.replace("_", " "))
                or _ZONE_OF.get(name)
            )
            if zone:
                found.append(reading.mention(zone, match.start() + match[0].index(name), match.end()))
                break
    wanted = reading.wanted(found)
    # UTC is missing from the service's list of timezones, but is its default: omit the key to select it.
    return wanted[0].value if wanted and wanted[0].value != _UTC else None


def _override(reading: SentenceReader) -> dict[str, bool]:
    override: dict[str, bool] = {}
    for pattern, switches in _SWITCHES.items():
        for match in re.finditer(rf"(?<!\w)(?:the |a )?(?:{pattern})(?!\w)", reading.left):
            reading.take(*match.span())
            shown = not reading.negated(match.start())
            for key, default in switches.items():
                if shown is not default:
                    override[key] = shown
    return override
