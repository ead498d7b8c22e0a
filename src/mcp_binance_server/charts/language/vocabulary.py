"""Index of all words with a meaning: studies, markets and exchanges."""

from dataclasses import dataclass
from typing import Final

from mcp_binance_server.charts.catalogue import CatalogueStudy, ChartCatalogue, StudyInput
from mcp_binance_server.charts.language.names import EXCHANGE_NAMES, Named, named_markets
from mcp_binance_server.charts.language.reading import Phrases
from mcp_binance_server.charts.language.times.dates import MONTHS, WEEKDAYS
from mcp_binance_server.charts.language.words import FILLER, NUMBERS, STOP_TICKERS, UNIT_OF, Speller

# Often requested studies that the catalogue lacks. Some of these names contain the name of an offered study.
_NOT_OFFERED: Final = (
    "anchored vwap", "avwap", "atr trailing stop", "pivot points", "pivots", "pivot", "fair value gap", "fvg",
    "moon phase", "order block", "market profile", "cumulative volume delta", "volume delta", "cvd", "open interest",
    "funding rate", "funding", "liquidation heatmap", "liquidations", "heatmap", "footprint", "smart money concepts",
    "smart money concept", "elliott wave", "harmonic pattern", "gann fan", "gann", "linear regression channel",
    "session volume profile", "fixed range volume profile", "rsi divergence", "divergence", "seasonality",
    "volume footprint", "td sequential", "squeeze momentum", "wavetrend", "liquidity zones",
    "supply and demand zones",
)  # fmt: skip
# Additional names of studies. The catalogue's own aliases lack them.
_ALSO_CALLED: Final = {
    "stochastic oscillator": "Stochastic",
    "parabolic": "Parabolic SAR",
    "directional index": "Average Directional Index",
    "rsi stochastic": "Stochastic RSI",
    "traded volume": "Volume",
    "dma": "Moving Average",
    "exponential average": "Moving Average Exponential",
    "simple average": "Moving Average",
    "weighted average": "Moving Average Weighted",
    "hull average": "Hull Moving Average",
}
# A golden or death cross is drawn as two averages.
CROSSES: Final = ("golden cross", "death cross")
CROSS_LENGTHS: Final = (50, 200)
_INTERVAL_WORDS: Final = ("hourly", "daily", "weekly", "monthly")
# Inputs that a number without a name never sets.
_SECONDARY: Final = frozenset(
    {"smoothingLength", "valueArea", "daysPerYear", "marketClosed", "jawOffset", "teethOffset", "lipsOffset"}
)
_INPUT_WORDS: Final = {
    "length": "length, period, periods, len, lookback, window",
    "stdDev": "stddev, std dev, standard deviation, deviation, deviations, stdev, std, sd, dev, mult, multiplier",
    "mult": "mult, multiplier, factor, atr mult",
    "factor": "factor, mult, multiplier",
    "max": "max, maximum",
    "increment": "increment, step",
}


@dataclass(frozen=True, slots=True)
class StudyWord:
    """One study with the inputs that a number without a name can set, in their usual order."""

    indicator: CatalogueStudy
    inputs: tuple[StudyInput, ...]
    keys: Phrases[str]
    has_levels: bool

    @property
    def is_average(self) -> bool:
        name = self.indicator.api_name
        return "Moving Average" in name or name.endswith(("EMA", "VWMA"))

    @classmethod
    def of(cls, indicator: CatalogueStudy) -> "StudyWord":
        numeric = [
            each
            for each in indicator.input.values()
            if each.type in {"Integer", "Float"} and each.public not in _SECONDARY and not _is_shift(each)
        ]
        # A single number sets the length if the study has one.
        numeric.sort(key=lambda each: each.public != "length")
        words = [
            (word, each.public)
            for each in numeric
            for word in (*_INPUT_WORDS.get(each.public, each.public).split(", "), each.public, each.label)
            if word
        ]
        levels = {"UpperLimit.value", "LowerLimit.value"} <= indicator.override.keys()
        return cls(indicator, tuple(numeric), Phrases(words), levels)


@dataclass(frozen=True, slots=True)
class UnsupportedStudy:
    """A well-known study that this server does not offer."""

    name: str


StudyName = StudyWord | UnsupportedStudy | str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All phrases with a meaning, and a spelling corrector for them."""

    catalogue: ChartCatalogue
    studies: Phrases[StudyName]
    markets: Phrases[Named]
    exchanges: Phrases[str]
    speller: Speller

    @classmethod
    def of(cls, catalogue: ChartCatalogue, style_words: frozenset[str], assets: frozenset[str]) -> "Vocabulary":
        """Build the vocabulary from a catalogue and the table of names."""
        studies = Phrases(_study_names(catalogue))
        markets = Phrases(named_markets().items())
        exchanges = Phrases(_exchange_names(catalogue))
        meant = {*studies.words(), *markets.words(), *style_words, *exchanges.words(), *_INTERVAL_WORDS}
        known = {
            *meant, *_input_words(catalogue), *FILLER, *STOP_TICKERS, *NUMBERS, *UNIT_OF, *MONTHS, *WEEKDAYS,
            *(each.lower() for each in assets),
        }  # fmt: skip
        return cls(catalogue, studies, markets, exchanges, Speller(known, meant - FILLER))


def _input_words(catalogue: ChartCatalogue) -> set[str]:
    return {word for each in catalogue.indicators for word in StudyWord.of(each).keys.words()}


def _is_shift(rule: StudyInput) -> bool:
    return rule.type == "Integer" and rule.public.lower().endswith("offset")


def _study_names(catalogue: ChartCatalogue) -> list[tuple[str, StudyName]]:
    names: list[tuple[str, StudyName]] = [(name, UnsupportedStudy(name)) for name in _NOT_OFFERED]
    names += [(name, name) for name in CROSSES]
    for indicator in catalogue.indicators:
        study = StudyWord.of(indicator)
        own = {indicator.api_name, indicator.display_name, indicator.name.partition("@")[0], *indicator.aliases}
        names += [(name.lower(), study) for name in sorted(own, key=len, reverse=True)]
    for name, api_name in _ALSO_CALLED.items():
        if (found := catalogue.indicator(api_name)) is not None:
            names.append((name, StudyWord.of(found)))
    return names


def _exchange_names(catalogue: ChartCatalogue) -> list[tuple[str, str]]:
    own = [
        (name.lower(), each.id)
        for each in catalogue.exchanges
        if each.type == "crypto" and each.id != "CRYPTOCAP"
        for name in (each.id, each.name)
    ]
    return [*own, *EXCHANGE_NAMES.items()]
