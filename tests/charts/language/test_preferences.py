"""Arguments beside the words: they beat the words, and the answer says so."""

import pytest

from charts.language.talk import codes, said
from mcp_binance_server.charts.language.preferences import Preferences
from support.requirement import requirement


@requirement("charts/construct_chart_config/preferences")
@pytest.mark.parametrize(
    ("given", "key", "value", "note"),
    [
        (Preferences(theme="light"), "theme", "light", "used the given theme, light, instead of dark"),
        (Preferences(interval="15m"), "interval", "15m", "used the given interval, 15m, instead of 4h"),
        (Preferences(range="3M"), "range", "3M", "used the given range, 3M, instead of 7 days"),
        (Preferences(range="2w"), "range", "14D", "used the given range"),
        (Preferences(range="last 10 days"), "range", "10D", "used the given range"),
        (Preferences(resolution="1920x1080"), "width", 1920, "used the given resolution, 1920x1080"),
        (Preferences(symbol="ETHUSDT"), "symbol", "BINANCE:ETHUSDT", "used the given symbol, ETHUSDT"),
        (Preferences(symbol="solana"), "symbol", "BINANCE:SOLUSDT", "used the given symbol, solana"),
        (Preferences(symbol="nasdaq:aapl"), "symbol", "NASDAQ:AAPL", "used the given symbol"),
        (Preferences(symbol="one"), "symbol", "BINANCE:ONEUSDT", "used the given symbol"),
        (Preferences(symbol="FOOUSDT"), "symbol", "BINANCE:FOOUSDT", "used the given symbol"),
    ],
)
def test_a_preference_beats_the_words_and_says_so(given: Preferences, key: str, value: object, note: str) -> None:
    made = said("BTC 4h, last 7 days, dark, 800x600", given)

    assert made.config[key] == value
    assert note in made.reasoning


def test_an_exchange_beats_the_one_in_the_words() -> None:
    made = said("BTC on bybit 4h", Preferences(exchange="kraken"))

    assert made.config["symbol"] == "KRAKEN:BTCUSD"
    assert "used the given exchange, KRAKEN, instead of BYBIT" in made.reasoning


def test_a_preference_that_agrees_is_not_worth_a_word() -> None:
    given = Preferences(symbol="BTCUSDT", theme="dark", interval="4h", range="7D", resolution="800x600")

    made = said("BTCUSDT 4h, last 7 days, dark, 800x600", given)

    assert "used the given" not in made.reasoning


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (Preferences(interval="soon"), "interval_snapped"),
        (Preferences(range="whenever"), "unparsed_range"),
        (Preferences(resolution="huge"), "size_clamped"),
        (Preferences(exchange="wobble"), "symbol_unverified"),
        (Preferences(symbol="???"), "symbol_unverified"),
    ],
)
def test_a_preference_nobody_understands_is_said_and_the_words_hold(given: Preferences, code: str) -> None:
    made = said("BTC 4h last 7 days", given)

    assert code in codes(made)
    assert (made.config["symbol"], made.config["interval"], made.config["range"]) == ("BINANCE:BTCUSDT", "4h", "7D")


def test_an_interval_that_is_not_offered_becomes_the_next_longer_one_wherever_it_is_written() -> None:
    written, given = said("BTC 7m"), said("BTC 4h", Preferences(interval="7m"))

    assert (written.config["interval"], given.config["interval"]) == ("15m", "15m")
    assert codes(written) == codes(given) == {"interval_snapped"}
    assert "15m is drawn" in given.warnings[0]
    assert "instead of 4h" in given.reasoning


@pytest.mark.parametrize(
    ("text", "exchange", "drawn"),
    [
        ("Apple on NYSE daily", None, "NASDAQ:AAPL"),
        ("Apple daily", "NYSE", "NASDAQ:AAPL"),
        ("Apple on Binance", None, "NASDAQ:AAPL"),
        ("BINANCE:BTCUSDT 1h on kraken", None, "BINANCE:BTCUSDT"),
        ("gold on nasdaq", None, "OANDA:XAUUSD"),
        ("bitcoin on the nyse", None, "BINANCE:BTCUSDT"),
        ("bitcoin", "NASDAQ", "BINANCE:BTCUSDT"),
    ],
)
def test_an_exchange_that_does_not_have_the_market_is_not_passed_over_in_silence(
    text: str, exchange: str | None, drawn: str
) -> None:
    made = said(text, Preferences(exchange=exchange))

    assert made.config["symbol"] == drawn
    assert [
        each for each in made.warnings if each.startswith(f"symbol_assumed: {drawn} is drawn; this market is not on")
    ]


@pytest.mark.parametrize("text", ["Apple on nasdaq", "Apple, not on the nyse", "btc on kraken", "nasdaq 100 daily"])
def test_an_exchange_that_has_the_market_needs_no_word(text: str) -> None:
    assert "symbol_assumed" not in codes(said(text))


def test_a_symbol_beside_the_words_is_enough() -> None:
    assert said("4h with rsi", Preferences(symbol="BTCUSDT")).config["symbol"] == "BINANCE:BTCUSDT"
