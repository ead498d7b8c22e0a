"""German, Spanish and spelt-out numbers, put into the words and digits that every rule reads."""

import re
from typing import Final

from mcp_binance_server.charts.language.normalise import fold

# Whole words; upper case stays, it is a ticker. A word that is also English, or a coin, is not here.
_WORDS: Final = {
    "last": "letzte letzten letzter letztes letztem último última últimos últimas ultimo ultima ultimos ultimas",
    "day": "tag día", "days": "tage tagen días dias", "week": "woche semana", "weeks": "wochen semanas",
    "month": "monat mes", "months": "monate monaten meses", "year": "jahr año", "years": "jahre jahren años",
    "hour": "stunde hora", "hours": "stunden horas", "minutes": "minuten minutos",
    "yesterday": "gestern ayer", "today": "heute hoy", "since": "seit desde", "until": "bis hasta",
    "hourly": "stündlich stundenchart", "daily": "täglich tageschart diario diaria", "monthly": "monatlich mensual",
    "weekly": "wöchentlich wochenchart semanal",
    "with": "mit con", "without": "ohne sin", "and": "und", "volume": "volumen",
    "support": "unterstützung soporte", "resistance": "widerstand resistencia",
    "line": "linie línea", "lines": "linien líneas", "periods": "perioden periodos períodos",
    "2": "zwei dos", "3": "drei tres", "4": "vier cuatro", "5": "fünf cinco", "6": "sechs seis", "7": "sieben siete",
    "8": "acht ocho", "9": "neun nueve", "10": "zehn diez", "12": "zwölf doce", "14": "vierzehn catorce",
    "15": "fünfzehn quince", "20": "zwanzig veinte", "24": "vierundzwanzig veinticuatro", "30": "dreißig treinta",
    "50": "fünfzig cincuenta", "100": "hundert cien", "200": "zweihundert doscientos doscientas",
}  # fmt: skip
_MEANING: Final = {word: meant for meant, words in _WORDS.items() for word in words.split()}
_WORD: Final = re.compile(
    rf"(?<![\w$#:/.])(?:{'|'.join(sorted(_MEANING, key=len, reverse=True))})(?![\w/:])", re.IGNORECASE
)
_PHRASES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), meant)
    for pattern, meant in (
        (r"\bgleitende[rnms]? durchschnitt(?:e[ns]?|s)?\b", "moving average"),
        (r"\bmedias? m[oó]vil(?:es)?\b", "moving average"),
        (r"\bbandas de bollinger\b", "bollinger bands"),
        (r"\b(?:bei|en)(?= \$?\d)", "at"),
        (r"\bde(?= \d+ )", "of"),
        # "50 y 200" are two numbers, "5 y" are years.
        (r"(?<=\d) [ye] (?=\d)|(?<=\d{3}) y (?=[a-z]{3})", " and "),
        (r"(?<=[a-z)]) y (?=[a-z])", " and "),
        (r"\bhalf[ -](?:an )?hourly\b", "30 minute candles"),
        (r"\b(?:a )?half[ -](?:an )?hour\b", "30 minutes"),
        (r"\b(?:a )?quarter[ -](?:of an )?hour(?:ly)?\b", "15 minutes"),
    )
)
_ONES: Final = {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine".split(), start=1)  # noqa: SIM905
}
_TEENS: Final = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "dozen": 12,
}  # fmt: skip
_TENS: Final = {
    word: 10 * number
    for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)  # noqa: SIM905
}
_BELOW_HUNDRED: Final = (
    rf"(?:(?P<tens>{'|'.join(_TENS)})(?:[ -](?P<ones>{'|'.join(_ONES)}))?|(?P<teen>{'|'.join(_TEENS)}))"
)
_HUNDREDS: Final = rf"(?:(?P<hundreds>a|{'|'.join(_ONES)})[ -])?(?P<hundred>hundred)"
# Below ten a word stays a word: ONE is a coin, and "two" is read where it counts something.
_NUMBER: Final = re.compile(
    rf"(?<![\w-])(?:{_HUNDREDS}(?: and)?(?: {_BELOW_HUNDRED.replace('?P<', '?P<more_')})?|{_BELOW_HUNDRED})(?![\w-])",
    re.IGNORECASE,
)


def translated(text: str) -> str:
    """Return the text with other languages' words in English and spelt-out numbers in digits."""
    for pattern, meant in _PHRASES:
        text = pattern.sub(meant, text)
    return _NUMBER.sub(_digits, _WORD.sub(_english, text))


def _english(found: re.Match[str]) -> str:
    return found[0] if found[0].isupper() else _MEANING[fold(found[0])]


def _digits(found: re.Match[str]) -> str:
    said = {name: fold(word) for name, word in found.groupdict().items() if word}
    total = 0
    if "hundred" in said:
        total = 100 * _ONES.get(said.get("hundreds", ""), 1)
    for before in ("", "more_"):
        total += _TENS.get(said.get(f"{before}tens", ""), 0) + _ONES.get(said.get(f"{before}ones", ""), 0)
        total += _TEENS.get(said.get(f"{before}teen", ""), 0)
    return str(total)
