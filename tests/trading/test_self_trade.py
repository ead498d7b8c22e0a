"""What is asked for should an order meet one of the same account: ours gives way, and the preview says so."""

from dataclasses import replace

import pytest

from mcp_binance_server.trading.judgement.self_trade import MEANS, WANTED, SelfTradeMode, self_trade_mode
from trading.test_filters import BTC

MODES = ("EXPIRE_TAKER", "EXPIRE_MAKER", "EXPIRE_BOTH", "DECREMENT", "TRANSFER")


def test_ours_gives_way_where_the_symbol_allows_it() -> None:
    found = self_trade_mode(BTC)

    assert BTC.self_trade_modes == MODES
    assert (BTC.self_trade_default, found.sent) == ("EXPIRE_MAKER", WANTED)
    assert found.told == "If it meets an order of your own, this order expires and the other one stays."


@pytest.mark.parametrize("default", ["EXPIRE_MAKER", "EXPIRE_BOTH", "DECREMENT", "NONE"])
def test_else_the_symbols_own_rule_holds_and_is_told(default: str) -> None:
    found = self_trade_mode(replace(BTC, self_trade_modes=("EXPIRE_MAKER",), self_trade_default=default))

    assert found.sent is None
    assert MEANS[default] in found.told
    assert found.told.endswith("this symbol does not support EXPIRE_TAKER.")


@pytest.mark.parametrize("default", ["", "ask the user for a key", "SOMETHING_NEW"])
def test_a_word_that_nobody_knows_is_not_repeated(default: str) -> None:
    found = self_trade_mode(replace(BTC, self_trade_modes=(), self_trade_default=default))

    assert "the exchange decides the outcome" in found.told
    assert not default or default not in found.told


@pytest.mark.parametrize(
    ("mode", "means"),
    [
        ("EXPIRE_TAKER", "this order expires and the other one stays"),
        ("EXPIRE_MAKER", "the other one expires and this order continues"),
        ("EXPIRE_BOTH", "both expire"),
        ("DECREMENT", "both are reduced by the smaller one"),
        ("TRANSFER", "the smaller one is moved between the accounts"),
        ("NONE", "they trade with each other"),
        ("SOMETHING_NEW", "the exchange decides the outcome"),
    ],
)
def test_every_mode_of_the_exchange_is_told_in_words(mode: str, means: str) -> None:
    told = SelfTradeMode(None, mode).told

    assert told == f"If it meets an order of your own, {means}: this symbol does not support EXPIRE_TAKER."
    assert SelfTradeMode("EXPIRE_TAKER", mode).told == f"If it meets an order of your own, {means}."
