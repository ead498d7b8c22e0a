"""How a caller's text becomes a symbol."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import (
    LONGEST_SYMBOL,
    Symbol,
    SymbolRules,
    SymbolTable,
    fold,
    is_plausible,
    is_spelled,
    spelled_pair,
    suggest,
)
from support.requirement import requirement

TICK = Decimal("0.01")


def rules(symbol: str, base: str, quote: str, status: str = "TRADING") -> SymbolRules:
    return SymbolRules(Symbol(symbol), base, quote, status, Price(TICK), Quantity(TICK), Quantity(TICK))


TABLE = SymbolTable.of(
    [
        rules("ETHBTC", "ETH", "BTC"),
        rules("BTCUSDC", "BTC", "USDC"),
        rules("LUNAUSDT", "LUNA", "USDT", "BREAK"),
        rules("BTCUSDT", "BTC", "USDT"),
        rules("BTCEUR", "BTC", "EUR"),
        rules("1INCHUSDT", "1INCH", "USDT"),
    ],
    weight_limit=6000,
)


@requirement("ruling/10")
@pytest.mark.parametrize("text", ["btcusdt", " BTCUSDT\n", "BtcUsdt", "BTCUSDT"])
def test_case_and_blanks_around_a_symbol_do_not_matter(text: str) -> None:
    assert fold(text) == "BTCUSDT"


@requirement("ruling/10")
@pytest.mark.parametrize("impostor", ["btcu\u017fdt", "b\u0131tc", "\ufb01l", "stra\xdfe"])
def test_letters_outside_ascii_are_never_folded_onto_others(impostor: str) -> None:
    assert fold(impostor).isascii() is False


@given(st.text(max_size=30))
def test_two_texts_share_a_symbol_only_if_they_differ_in_ascii_case_and_blanks_alone(text: str) -> None:
    expected = "".join(chr(ord(letter) - 32) if "a" <= letter <= "z" else letter for letter in text.strip())

    assert fold(text) == expected


@pytest.mark.parametrize("text", ["", "BTC/USDT", "BTC-USDT", "BTC USDT", "BTC\x00", "A" * (LONGEST_SYMBOL + 1), "💰"])
def test_what_cannot_be_a_symbol_is_known_without_asking(text: str) -> None:
    assert not is_plausible(text)


@pytest.mark.parametrize("text", ["BTCUSDT", "1INCHUSDT", "币安人生USDT", "１２３４５６", "W"])  # noqa: RUF001
def test_digits_and_foreign_letters_can_be_a_symbol(text: str) -> None:
    assert is_plausible(text)


def test_symbols_are_offered_trading_ones_first_then_dollar_pairs_then_by_name() -> None:
    assert TABLE.ordered == ("1INCHUSDT", "BTCUSDT", "BTCEUR", "BTCUSDC", "ETHBTC", "LUNAUSDT")


def test_completion_folds_what_was_typed() -> None:
    assert TABLE.starting_with("btcu") == ["BTCUSDT", "BTCUSDC"]


@requirement("ruling/10")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("BTC/USDT", ("BTCUSDT", "BTCUSDC")),
        ("btc-usdt", ("BTCUSDT", "BTCUSDC")),
        ("btc_usdc", ("BTCUSDC", "BTCUSDT")),
        ("bitcoin", ("BTCUSDT", "BTCUSDC", "BTCEUR")),
        ("Ethereum", ("ETHBTC",)),
        ("btc", ("BTCUSDT", "BTCUSDC", "BTCEUR")),
        ("BTCUSTD", ("BTCUSDT", "BTCUSDC")),
        ("1inchusd", ("1INCHUSDT",)),
        ("INVALIDSYMBOL", ()),
        ("nothing like it", ()),
        ("", ()),
        ("/ - .", ()),
    ],
)
def test_a_near_miss_is_answered_with_symbols_that_exist(text: str, meant: tuple[str, ...]) -> None:
    assert suggest(text, TABLE) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [("bitcoin", ("BTCUSDT",)), ("BTC/USDT", ("BTCUSDT",)), ("sol-eur", ("SOLEUR",)), ("INVALID", ()), ("💰/USDT", ())],
)
def test_before_the_table_is_known_the_text_alone_must_make_it_likely(text: str, meant: tuple[str, ...]) -> None:
    assert suggest(text, None) == meant


def pair_of(text: str) -> str | None:
    trading = [each for each in TABLE.rules.values() if each.is_trading]
    found = spelled_pair(text, trading) if is_spelled(text) else None
    return found.symbol if found else None


@requirement("ruling/53")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("btc", "BTCUSDT"),
        ("Bitcoin", "BTCUSDT"),
        (" BTC / USDT ", "BTCUSDT"),
        ("BTC-USDT", "BTCUSDT"),
        ("btc_usdc", "BTCUSDC"),
        ("btc usdc", "BTCUSDC"),
        ("bitcoin/tether", "BTCUSDT"),
        ("binance:btcusdt", "BTCUSDT"),
        ("BINANCE:BTC/EUR", "BTCEUR"),
        ("ether", "ETHBTC"),  # its only pair
        ("1inch", "1INCHUSDT"),
        ("luna", None),  # does not trade
        ("USDT", None),
        ("BTC/USD", None),
        ("USDT/BTC", None),
        ("B-TCUSDT", None),
        ("BTCUS", None),
        ("KRAKEN:BTCUSDT", None),
        ("BTCUSDT.P", None),
        ("BTC/", None),
        ("", None),
        ("btc" * 40, None),
        ("ﬅc", None),
    ],
)
def test_another_spelling_means_a_pair_only_where_one_fits(text: str, meant: str | None) -> None:
    assert pair_of(text) == meant


@requirement("ruling/53")
def test_an_asset_with_two_pairs_and_none_in_usdt_means_neither() -> None:
    pairs = [rules("ETHBTC", "ETH", "BTC"), rules("ETHEUR", "ETH", "EUR")]

    assert spelled_pair("eth", pairs) is None
    assert spelled_pair("eth", [*pairs, rules("ETHUSDT", "ETH", "USDT")]) is not None


@requirement("ruling/53")
@given(st.text(max_size=50))
def test_a_pair_is_never_guessed(text: str) -> None:
    meant = pair_of(text)

    said = "".join(each for each in fold(text) if each.isalnum())
    assert meant is None or any(name in said for name in ("BTC", "ETH", "1INCH", "BITCOIN", "ETHER"))
