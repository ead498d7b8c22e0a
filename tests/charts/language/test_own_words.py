"""What traders type beyond the shared phrasings, what nobody can chart, and that an answer explains itself."""

import pytest

from charts.language.everyday_words import EVERYDAY
from charts.language.own_words import OWN
from charts.language.talk import Heard, codes, heard, said
from mcp_binance_server.errors import InvalidArguments
from support.requirement import requirement


@requirement("charts/construct_chart_config", "charts/construct_chart_config/defaults")
@pytest.mark.parametrize(("text", "expected"), OWN.items(), ids=list(OWN))
def test_words_become_the_chart_they_mean(text: str, expected: Heard) -> None:
    assert heard(text) == expected


@pytest.mark.parametrize(("text", "expected"), EVERYDAY.items(), ids=list(EVERYDAY))
def test_everyday_words_are_understood_or_asked_about(text: str, expected: Heard) -> None:
    assert heard(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("the best coin 1h", "no_symbol"),
        ("fear and greed index", "no_symbol"),
        ("hello", "no_symbol"),
        ("SHOW ME A CHART", "no_symbol"),
        ("xyzzy 4h rsi", "no_symbol"),
        ("币安人生 1h", "no_symbol"),
        ("$ÄRZ 1h", "no_symbol"),
        ("", "empty_input"),
        ("\u200b\n\t", "empty_input"),
        ("btc " * 501, "input_too_long"),
        ("\ufdfa" * 200, "input_too_long"),
    ],
)
def test_what_names_no_market_is_asked_for_again(text: str, code: str) -> None:
    with pytest.raises(InvalidArguments, match=f"^{code}: ") as caught:
        said(text)

    assert caught.value.data()["errors"][0]["reason"] == code
    assert len(caught.value.message) < 250


@requirement("charts/detect-bitcoin", "charts/detect-ethereum", "charts/detect-apple", "charts/detect-euro")
@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("Bitcoin", "BINANCE:BTCUSDT"),
        ("BTC", "BINANCE:BTCUSDT"),
        ("Ethereum", "BINANCE:ETHUSDT"),
        ("ETH", "BINANCE:ETHUSDT"),
        ("Apple", "NASDAQ:AAPL"),
        ("AAPL", "NASDAQ:AAPL"),
        ("EUR/USD", "FX:EURUSD"),
    ],
)
def test_the_contract_s_markets_are_detected(text: str, symbol: str) -> None:
    assert said(text).config["symbol"] == symbol


@requirement("charts/detect-week", "charts/detect-month", "charts/detect-year", "charts/detect-today")
@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("last 7 days", "7D"),
        ("past week", "7D"),
        ("last month", "1M"),
        ("30 days", "1M"),
        ("last year", "1Y"),
        ("today", "1D"),
    ],
)
def test_the_contract_s_ranges_are_detected(text: str, span: str) -> None:
    assert said(f"BTC {text}").config["range"] == span


@requirement(
    "charts/interval-below-a-day",
    "charts/interval-up-to-a-week",
    "charts/interval-up-to-a-quarter",
    "charts/interval-beyond-a-quarter",
)
@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("last 3 hours", {"5m", "15m"}),
        ("last 20 hours", {"5m", "15m"}),
        ("last 24 hours", {"1h"}),
        ("last 7 days", {"1h"}),
        ("last month", {"4h", "1D"}),
        ("last 3 months", {"4h", "1D"}),
        ("last 6 months", {"1D", "1W"}),
        ("last 10 years", {"1D", "1W"}),
    ],
)
def test_the_interval_suits_the_range(text: str, allowed: set[str]) -> None:
    assert said(f"BTC {text}").config["interval"] in allowed


@requirement("charts/detect-bollinger-bands", "charts/detect-rsi", "charts/detect-macd", "charts/detect-moving-average")
@pytest.mark.parametrize(
    ("text", "study"),
    [
        ("Bollinger Bands", "BollingerBands@tv-basicstudies"),
        ("RSI", "RSI@tv-basicstudies"),
        ("Relative Strength", "RSI@tv-basicstudies"),
        ("MACD", "MACD@tv-basicstudies"),
        ("Moving Average", "MA@tv-basicstudies"),
        ("MA", "MA@tv-basicstudies"),
    ],
)
def test_the_contract_s_indicators_are_detected(text: str, study: str) -> None:
    studies = said(f"BTC with {text}").config["studies"]

    assert isinstance(studies, list)
    assert studies[0]["name"] == study


@requirement("charts/construct_chart_config/warnings")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("BTC 1h wobble", "unrecognized_text"),
        ("BTC with wobble bands", "unknown_indicator"),
        ("BTC since the great wobble", "unparsed_range"),
        ("BTC 1h 1200 wobbles", "unrecognized_text"),
        ("BTC 1h 77", "unrecognized_text"),
        ("BTC 1h <b>bold</b>", "unrecognized_text"),
        ("BTC 1h no wobble", "unrecognized_text"),
        ("BTC 1h area and line chart", "conflicting_style"),
        ("BTC last week and last year", "ambiguous_range"),
        ("BTC 800x600 1600x900", "conflicting_size"),
        ("BTC EMA 20.5", "param_integer_only"),
    ],
)
def test_nothing_asked_for_is_dropped_in_silence(text: str, code: str) -> None:
    assert code in codes(said(text))


def test_a_warning_quotes_at_most_a_line_of_what_was_not_understood() -> None:
    made = said("BTC 1h " + "wobble " * 200)

    assert [len(each) < 200 for each in made.warnings] == [True]


@requirement("charts/construct_chart_config/reasoning")
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Solana 4h", ("Detected Solana (SOLUSDT)", "used the requested 4h interval")),
        ("tesla ytd", ("Detected NASDAQ:TSLA", "'ytd' as range 'YTD'", "selected 1D interval for good resolution")),
        ("eth ema 21 and rsi", ("selected 1D interval by default", "added Moving Average Exponential (21), RSI (14)")),
        ("btc 1h line at 70k", ("drew 1 drawing at the prices given",)),
        ("how is btc near 70k doing", ("took 'near 70k' as a remark about the price",)),
        ("btc between jan 1 and feb 1", ("interpreted 'between jan 1 and feb 1' as two moments in UTC",)),
    ],
)
def test_the_answer_explains_what_was_understood_and_chosen(text: str, parts: tuple[str, ...]) -> None:
    reasoning = said(text).reasoning

    assert all(part in reasoning for part in parts), reasoning


def test_a_plan_that_is_known_bounds_the_default_size_and_an_unknown_one_does_not() -> None:
    from mcp_binance_server.charts.plans import PLANS

    small, free = said("BTC 1h", plan=PLANS["BASIC"]), said("BTC 1h", plan=None)

    assert (small.config["width"], small.config["height"]) == (800, 450)
    assert codes(small) == {"size_clamped"}
    assert (free.config["width"], free.config["height"]) == (1200, 675)
    assert codes(free) == set()
