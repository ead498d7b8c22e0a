"""A hundred requests as people say them: times of day, slips, German, Spanish, numbers in words, loose lines.

Written before the rules that read them. What cannot be known is asked about: then the warning is what is expected.
"""

from charts.language.talk import Heard

_EMA, _BANDS = "MovingAverageExponential", "BollingerBands 20 2"
_FUZZY, _ASKED = frozenset({"fuzzy_match"}), frozenset({"unrecognized_text"})
_NEEDS_POINTS, _NOT_OFFERED = frozenset({"drawing_needs_points"}), frozenset({"unknown_indicator"})
_NO_VOLUME = {"override": {"showVolume": False}}
_NOON, _MIDNIGHT = "2026-11-13T12:00:00Z", "2026-11-14T00:00:00Z"


def _btc(interval: str = "1D", range: str | tuple[str, str | None] | None = None, *studies: str) -> Heard:  # noqa: A002 - as it is called in a chart
    return Heard("BINANCE:BTCUSDT", interval, range, studies)


def _eth(interval: str = "1D", range: str | tuple[str, str | None] | None = None, *studies: str) -> Heard:  # noqa: A002 - as it is called in a chart
    return Heard("BINANCE:ETHUSDT", interval, range, studies)


def _asked(heard: Heard, warnings: frozenset[str], *drawings: str) -> Heard:
    return Heard(
        heard.symbol, heard.interval, heard.range, heard.studies, drawings or heard.drawings, heard.looks, warnings
    )


def _drawn(heard: Heard, *drawings: str) -> Heard:
    return _asked(heard, frozenset(), *drawings)


EVERYDAY: dict[str, Heard] = {
    # Times of day
    "BTC from noon yesterday until now": _btc("1h", (_NOON, None)),
    "btc since noon yesterday": _btc("1h", (_NOON, None)),
    "eth since noon": _eth("15m", ("2026-11-14T12:00:00Z", None)),
    "sol since midnight": Heard("BINANCE:SOLUSDT", "15m", (_MIDNIGHT, None)),
    "eth since 9am today": _eth("15m", ("2026-11-14T09:00:00Z", None)),
    "eth since 9am yesterday": _eth("1h", ("2026-11-13T09:00:00Z", None)),
    "btc from 14:00 to 18:30 yesterday": _btc("5m", ("2026-11-13T14:00:00Z", "2026-11-13T18:30:00Z")),
    "btc between 3pm and 9pm today": _btc("5m", ("2026-11-14T15:00:00Z", "2026-11-14T21:00:00Z")),
    "btc from 6pm yesterday to 6am today": _btc("15m", ("2026-11-13T18:00:00Z", "2026-11-14T06:00:00Z")),
    "btc from yesterday 8am": _btc("1h", ("2026-11-13T08:00:00Z", None)),
    "eth from yesterday 8am to yesterday 4pm": _eth("5m", ("2026-11-13T08:00:00Z", "2026-11-13T16:00:00Z")),
    "eth yesterday from noon to midnight": _eth("15m", (_NOON, _MIDNIGHT)),
    "btc from yesterday at noon till now 15m": _btc("15m", (_NOON, None)),
    "btc 1h from 10:00": _btc("1h", ("2026-11-14T10:00:00Z", None)),
    "btc since last night": _asked(_btc(), frozenset({"unparsed_range"})),
    "ada this morning": Heard("BINANCE:ADAUSDT", "15m", (_MIDNIGHT, "2026-11-14T12:00:00Z")),
    # Spans in words
    "bnb past half hour": Heard(
        "BINANCE:BNBUSDT", "5m", ("2026-11-14T21:30:00Z", None), warnings=frozenset({"few_bars"})
    ),
    "btc last half hour 1m": _btc("1m", ("2026-11-14T21:30:00Z", None)),
    "eth last twenty four hours": _eth("1h", "1D"),
    "eth last twenty-four hours": _eth("1h", "1D"),
    "doge past dozen hours": Heard("BINANCE:DOGEUSDT", "15m", ("2026-11-14T10:00:00Z", None)),
    "btc last forty five minutes": _asked(_btc("5m", ("2026-11-14T21:15:00Z", None)), frozenset({"few_bars"})),
    "btc the last hundred days": _btc("1D", "100D"),
    "btc last one hundred and twenty days": _btc("1D", "120D"),
    "btc last seven days": _btc("1h", "7D"),
    "btc the last couple of days": _asked(_btc("1h", "2D"), frozenset({"ambiguous_range"})),
    "btc half-hourly": _btc("30m"),
    "btc quarter-hour candles": _btc("15m"),
    "btc half hour candles": _btc("30m"),
    "eth every 2 hours": _eth("2h"),
    "btc thirty minute candles": _btc("30m"),
    "sol 90 min candles": Heard("BINANCE:SOLUSDT", "2h", warnings=frozenset({"interval_snapped"})),
    # Slips of the pen
    "ltc past 3 dayz": Heard("BINANCE:LTCUSDT", "1h", "3D", warnings=_FUZZY),
    "sol last 2 moths": Heard("BINANCE:SOLUSDT", "4h", "2M", warnings=_FUZZY),
    "btc last 6 horus": _asked(_btc("5m", ("2026-11-14T16:00:00Z", None)), _FUZZY),
    "eth past 10 mintues 1m": _asked(_eth("1m", ("2026-11-14T21:50:00Z", None)), _FUZZY),
    "bnb last 3 weks": Heard("BINANCE:BNBUSDT", "4h", "21D", warnings=_FUZZY),
    "btc last 2 yeras": _asked(_btc("1D", "2Y"), _FUZZY),
    "btc 4 huor": _asked(_btc("4h"), _FUZZY),
    "eth 15 minuts": _asked(_eth("15m"), _FUZZY),
    "eth 15 minutse rsi": _asked(_eth("15m", None, "RSI 14"), _FUZZY),
    "xrp dayly": Heard("BINANCE:XRPUSDT", "1D", warnings=_FUZZY),
    "ada houly rsi": Heard("BINANCE:ADAUSDT", "1h", None, ("RSI 14",), warnings=_FUZZY),
    "btc wekly": _asked(_btc("1W"), _FUZZY),
    "eth bolinger bnads 4h": _asked(_eth("4h", None, _BANDS), _FUZZY),
    "btc candels 4h": _btc("4h"),
    # German
    "BTC letzte 30 Tage": _btc("4h", "1M"),
    "Bitcoin letzte zwei Wochen mit RSI": _btc("4h", "14D", "RSI 14"),
    "ETH Tageschart mit gleitendem Durchschnitt 200": _eth("1D", None, "MA 200"),
    "ETH vier Stunden": _eth("4h"),
    "btc EMA zwanzig": _btc("1D", None, f"{_EMA} 20"),
    "sol letzten drei Tage 15m": Heard("BINANCE:SOLUSDT", "15m", "3D"),
    "eth stündlich": _eth("1h"),
    "ada wöchentlich": Heard("BINANCE:ADAUSDT", "1W"),
    "btc monatlich seit 2020": _btc("1M", ("2020-01-01T00:00:00Z", None)),
    "btc seit gestern": _btc("1h", ("2026-11-13T00:00:00Z", None)),
    "sol heute 5m": Heard("BINANCE:SOLUSDT", "5m", "1D"),
    "btc gestern": _btc("15m", ("2026-11-13T00:00:00Z", "2026-11-13T23:59:59Z")),
    "eth letzter Monat": _eth("4h", "1M"),
    "eth 50 und 200 ema": _eth("1D", None, f"{_EMA} 50", f"{_EMA} 200"),
    "btc ohne Volumen mit MACD": Heard("BINANCE:BTCUSDT", "1D", None, ("MACD 12 26 9",), looks=_NO_VOLUME),
    "sol Unterstützung bei 180 Widerstand bei 210": Heard(
        "BINANCE:SOLUSDT", "1D", drawings=("horizontalLine 180 support", "horizontalLine 210 resistance")
    ),
    "btc Linie bei 97500": _drawn(_btc(), "horizontalLine 97500"),
    # Spanish
    "btc ema 50 y 200": _btc("1D", None, f"{_EMA} 50", f"{_EMA} 200"),
    "ETH 1h medias móviles 50 y 200": _eth("1h", None, "MA 50", "MA 200"),
    "bitcoin con rsi y macd, últimos 7 días": _btc("1h", "7D", "RSI 14", "MACD 12 26 9"),
    "sol cuatro horas": Heard("BINANCE:SOLUSDT", "4h"),
    "btc últimas veinticuatro horas": _btc("1h", "1D"),
    "btc ema veinte": _btc("1D", None, f"{_EMA} 20"),
    "eth últimos tres meses": _eth("1D", "3M"),
    "xrp semanal": Heard("BINANCE:XRPUSDT", "1W"),
    "btc diario con bandas de bollinger": _btc("1D", None, _BANDS),
    "bnb desde ayer": Heard("BINANCE:BNBUSDT", "1h", ("2026-11-13T00:00:00Z", None)),
    "eth hoy": _eth("1h", "1D"),
    "eth sin volumen con rsi": Heard("BINANCE:ETHUSDT", "1D", None, ("RSI 14",), looks=_NO_VOLUME),
    "ada último mes": Heard("BINANCE:ADAUSDT", "4h", "1M"),
    "btc soporte en 90000 y resistencia en 99000": _drawn(
        _btc(), "horizontalLine 90000 support", "horizontalLine 99000 resistance"
    ),
    "btc línea en 97500": _drawn(_btc(), "horizontalLine 97500"),
    "btc rsi de 14 periodos": _btc("1D", None, "RSI 14"),
    "btc rsi 9 und 21 y 50": _btc("1D", None, "RSI 9", "RSI 21", "RSI 50"),
    # Averages of something else, and numbers in words
    "btc volume MA 20": _asked(_btc("1D", None, "Volume"), _NOT_OFFERED),
    "btc volume sma 30 4h": _asked(_btc("4h", None, "Volume"), _NOT_OFFERED),
    "eth 4h volume with a 20 period average": _asked(_eth("4h", None, "Volume"), _NOT_OFFERED),
    "eth vwap and volume average 50": _asked(_eth("1D", None, "VWAP", "Volume"), _NOT_OFFERED),
    "btc obv ma 20": _asked(_btc("1D", None, "OnBalanceVolume"), _NOT_OFFERED),
    "btc ma of volume": _asked(_btc("1D", None, "Volume"), _NOT_OFFERED),
    "btc volume, ma 20": _btc("1D", None, "Volume", "MA 20"),
    "sol ema fifty and two hundred": Heard("BINANCE:SOLUSDT", "1D", None, (f"{_EMA} 50", f"{_EMA} 200")),
    "btc fifty day moving average": _btc("1D", None, "MA 50"),
    "eth EMA: 8, 13, 21": _eth("1D", None, f"{_EMA} 8", f"{_EMA} 13", f"{_EMA} 21"),
    # Lines
    "btc 4h a line at 97000 and another at 94000": _drawn(_btc("4h"), "horizontalLine 97000", "horizontalLine 94000"),
    "eth with a line at 3100, another at 3400": _drawn(_eth(), "horizontalLine 3100", "horizontalLine 3400"),
    "eth support at 3000 and another one at 2900": _drawn(
        _eth(), "horizontalLine 3000 support", "horizontalLine 2900 support"
    ),
    "btc a line at 100k, one more at 95k": _drawn(_btc(), "horizontalLine 100000", "horizontalLine 95000"),
    "eth resistance at 3.5k and again at 3.8k": _drawn(
        _eth(), "horizontalLine 3500 resistance", "horizontalLine 3800 resistance"
    ),
    "btc 1h draw a line there": _asked(_btc("1h"), _NEEDS_POINTS),
    "eth put a line here": _asked(_eth(), _NEEDS_POINTS),
    "draw 3 lines on btc": _asked(_btc(), _NEEDS_POINTS),
    "eth with two lines, 3000 and 3300": _drawn(_eth(), "horizontalLine 3000", "horizontalLine 3300"),
    "xrp line at 2.7431": _drawn(Heard("BINANCE:XRPUSDT", "1D"), "horizontalLine 2.7431"),
    "btc line at 97.500": _asked(_btc(), frozenset({"ambiguous_token"}), "horizontalLine 97.5"),
    "eth 4h with lines at 3000, 3100 and another at 3250": _drawn(
        _eth("4h"), "horizontalLine 3000", "horizontalLine 3100", "horizontalLine 3250"
    ),
    "btc 1h line chart": Heard("BINANCE:BTCUSDT", "1h", looks={"style": "line"}),
}
