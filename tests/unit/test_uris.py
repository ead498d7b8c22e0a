"""binance:// addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.errors import ResourceNotFound
from mcp_binance_server.surface.uris import LONGEST_URI, ResourceUri, as_written, parse
from support.requirement import requirement


@requirement("resources/uri-parts", "data-model/uri-format")
@pytest.mark.parametrize(
    ("uri", "parsed"),
    [
        ("binance://market/btcusdt", ResourceUri("market", "btcusdt")),
        ("binance://orders/open", ResourceUri("orders", "open")),
        ("binance://market/%E5%B8%81USDT", ResourceUri("market", "币USDT")),
        ("binance://market/BTC%2FUSDT", ResourceUri("market", "BTC/USDT")),
        ("binance://market/a%2541", ResourceUri("market", "a%41")),
        ("binance://market/btcusdt/orderbook", ResourceUri("market", "btcusdt/orderbook")),
        ("binance://market", ResourceUri("market", "")),
        ("binance://account/", ResourceUri("account", "")),
        ("BINANCE://Market/BtcUsdt", ResourceUri("market", "BtcUsdt")),
        ("Binance://ORDERS", ResourceUri("orders", "")),
    ],
)
def test_an_address_is_split_and_decoded_once(uri: str, parsed: ResourceUri) -> None:
    assert parse(uri) == parsed


@requirement("resources/unparseable-uri", "resources/incorrect-uri")
@pytest.mark.parametrize(
    "uri",
    [
        "",
        "btcusdt",
        "http://market/btcusdt",
        "binance:/market/btcusdt",
        "binance://",
        "binance:///btcusdt",
        "binance://market/%ff",
        "binance://market/" + "a" * LONGEST_URI,
    ],
)
def test_anything_else_is_not_found_and_shown_at_no_more_than_200_characters(uri: str) -> None:
    with pytest.raises(ResourceNotFound) as caught:
        parse(uri)

    assert len(caught.value.provided_uri) <= 200


@requirement("resources/symbol-case-uri")
@given(st.text(max_size=20))
def test_addresses_spell_ascii_letters_small_and_leave_all_others(symbol: str) -> None:
    expected = "".join(chr(ord(letter) + 32) if "A" <= letter <= "Z" else letter for letter in symbol)

    assert as_written(symbol) == expected
