"""Money on paper: nothing is made and nothing is lost but the commission, to the last unit."""

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.money import EXACT_DIGITS, Price, Quantity
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.paper.account import Pair, PaperAccount
from mcp_binance_server.trading.paper.order import PaperFill, PaperOrder
from trading.paper.displayed import order

PAIR = Pair("AB", "XY")
RATES = Commission(maker=Decimal("0.001"), taker=Decimal("0.002"))


def account() -> PaperAccount:
    return PaperAccount.starting_with({"XY": Decimal(1000), "AB": Decimal(10)})


def fill(of: PaperOrder, price: int, quantity: int, *, is_maker: bool = False) -> PaperFill:
    of.filled = Quantity(of.filled + quantity)
    return PaperFill(of.order_id, Price(Decimal(price)), Quantity(Decimal(quantity)), is_maker, 0)


def holds(account: PaperAccount) -> dict[str, tuple[Decimal, Decimal]]:
    return {each.asset: (each.free, each.locked) for each in account.balances}


def test_a_buy_holds_its_whole_value_and_gets_back_what_it_did_not_need() -> None:
    mine, buy = account(), order("BUY", 100, 4)
    mine.hold(PAIR, buy)
    assert holds(mine)["XY"] == (600, 400)

    kept = mine.settle(buy, fill(buy, 90, 3), PAIR, RATES)
    assert (kept, holds(mine)) == (Decimal("0.006"), {"AB": (Decimal("12.994"), 0), "XY": (630, 100)})

    mine.release(PAIR, buy)
    assert holds(mine)["XY"] == (730, 0)


def test_a_sale_holds_what_it_sells_and_pays_in_what_it_receives() -> None:
    mine, sale = account(), order("SELL", 100, 4)
    mine.hold(PAIR, sale)
    assert holds(mine)["AB"] == (6, 4)

    kept = mine.settle(sale, fill(sale, 110, 4, is_maker=True), PAIR, RATES)

    assert (kept, holds(mine)) == (Decimal("0.44"), {"AB": (6, 0), "XY": (Decimal("1439.56"), 0)})


@pytest.mark.parametrize(("side", "price", "quantity", "asset"), [("BUY", 251, 4, "XY"), ("SELL", 1, 11, "AB")])
def test_what_is_not_free_is_not_held(side: str, price: int, quantity: int, asset: str) -> None:
    mine = account()
    before = holds(mine)

    with pytest.raises(InsufficientBalance) as caught:
        mine.hold(PAIR, order(side, price, quantity))  # type: ignore[arg-type]

    assert caught.value.asset == asset
    assert holds(mine) == before


EIGHT = st.decimals("0.00000001", "9999.99999999", places=8)


@given(st.sampled_from(["BUY", "SELL"]), EIGHT, EIGHT, st.lists(st.tuples(EIGHT, st.integers(1, 9)), max_size=6))
def test_whatever_is_filled_everything_adds_up(
    side: str, price: Decimal, quantity: Decimal, parts: list[tuple[Decimal, int]]
) -> None:
    with localcontext(prec=EXACT_DIGITS):
        start = {"XY": Decimal(10**9), "AB": Decimal(10**5)}
        mine = PaperAccount.starting_with(start)
        made = order(side, 1, 1)  # type: ignore[arg-type]
        made.price, made.quantity = Price(price), Quantity(quantity)
        mine.hold(PAIR, made)
        base, quote, kept = Decimal(0), Decimal(0), {"AB": Decimal(0), "XY": Decimal(0)}
        for better, share in parts:
            got = Quantity((made.left * share / 10).quantize(Decimal("0.00000001")))
            at = Price(min(price, better) if side == "BUY" else max(price, better))
            made.filled = Quantity(made.filled + got)
            commission = mine.settle(made, PaperFill(1, at, got, is_maker=False, at_ms=0), PAIR, RATES)
            kept["AB" if side == "BUY" else "XY"] += commission
            base, quote = base + got, quote + got * at
        mine.release(PAIR, made)

        way = 1 if side == "BUY" else -1
        assert holds(mine) == {
            "AB": (start["AB"] + way * base - kept["AB"], 0),
            "XY": (start["XY"] - way * quote - kept["XY"], 0),
        }
