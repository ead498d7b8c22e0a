"""An account that would trade with itself, in each of the modes."""

from decimal import Decimal

import pytest

from binance_simulator.exchange import SimulatedExchange
from support.trader import CENT, Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

Fate = tuple[str, str]


async def meet(trader: Trader, mode: str, maker: str, taker: str) -> tuple[Fate, Fate]:
    """Rest one order inside the spread and send another of the same account into it."""
    await _open_the_spread(trader)
    price = trader.bid() + CENT
    assert (await trader.place(newClientOrderId="maker", price=price, quantity=maker)).json()["status"] == "NEW"
    await trader.place(newClientOrderId="taker", side="SELL", price=price, quantity=taker, selfTradePreventionMode=mode)
    return await _fate(trader, "maker"), await _fate(trader, "taker")


async def _open_the_spread(trader: Trader) -> None:
    while trader.ask() - trader.bid() < 2 * CENT:
        await trader.exchange.clock.sleep_ms(1_000)


async def _fate(trader: Trader, name: str) -> Fate:
    order = await trader.order(name)
    return order["status"], order["executedQty"]


NOTHING, ONE = "0.00000000", "0.01000000"


@pytest.mark.parametrize(
    ("mode", "maker", "taker"),
    [
        ("NONE", ("FILLED", ONE), ("FILLED", ONE)),
        ("EXPIRE_TAKER", ("NEW", NOTHING), ("EXPIRED_IN_MATCH", NOTHING)),
        ("EXPIRE_MAKER", ("EXPIRED_IN_MATCH", NOTHING), ("NEW", NOTHING)),
        ("EXPIRE_BOTH", ("EXPIRED_IN_MATCH", NOTHING), ("EXPIRED_IN_MATCH", NOTHING)),
        ("DECREMENT", ("EXPIRED_IN_MATCH", NOTHING), ("EXPIRED_IN_MATCH", NOTHING)),
        ("TRANSFER", ("EXPIRED_IN_MATCH", NOTHING), ("EXPIRED_IN_MATCH", NOTHING)),
    ],
)
async def test_the_mode_of_the_taker_decides_who_gives_way(trader: Trader, mode: str, maker: Fate, taker: Fate) -> None:
    before = await trader.balances()

    assert await meet(trader, mode, "0.01", "0.01") == (maker, taker)

    kinds = [one.kind for one in trader.exchange.orders.executions_since(0, None, trader.exchange.now_ms())]
    assert kinds.count("TRADE_PREVENTION") == [maker[0], taker[0]].count("EXPIRED_IN_MATCH")
    for name, status in (("maker", maker[0]), ("taker", taker[0])):
        if status == "NEW":
            await trader.cancel(name)
    if mode != "NONE":
        assert await trader.balances() == before


async def test_without_prevention_an_account_pays_both_commissions(trader: Trader) -> None:
    before = await trader.balances()

    await meet(trader, "NONE", "0.01", "0.01")

    after = await trader.balances()
    trades = (await trader.send("GET", "myTrades", {"symbol": "BTCUSDT"})).json()[-2:]
    fees = {trade["commissionAsset"]: Decimal(trade["commission"]) for trade in trades}
    assert trades[0]["id"] == trades[1]["id"]
    for asset, fee in fees.items():
        assert after[asset] == (before[asset][0] - fee, before[asset][1])


@pytest.mark.parametrize(
    ("quantities", "smaller", "larger"), [(("0.004", "0.01"), "maker", "taker"), (("0.01", "0.004"), "taker", "maker")]
)
async def test_decrement_ends_the_smaller_and_lowers_the_larger(
    trader: Trader, exchange: SimulatedExchange, quantities: tuple[str, str], smaller: str, larger: str
) -> None:
    await meet(trader, "DECREMENT", *quantities)

    gone, left = await trader.order(smaller), await trader.order(larger)
    assert (gone["status"], left["status"]) == ("EXPIRED_IN_MATCH", "NEW")
    assert gone["preventedQuantity"] == left["preventedQuantity"] == "0.00400000"
    assert gone["preventedMatchId"] == left["preventedMatchId"]
    prevented = [
        one.prevention
        for one in exchange.orders.executions_since(0, None, exchange.now_ms())
        if one.prevention is not None
    ]
    assert {(one.last_prevented, one.other_prevented) for one in prevented} == {("0.00400000", "0.00400000")}
    assert {one.other_order_id for one in prevented} == {gone["orderId"], left["orderId"]}
    (resting,) = exchange.orders.engine.book(exchange.listing.symbols["BTCUSDT"]).orders.values()
    assert resting.left == 600_000


async def test_an_order_of_another_account_is_no_self_trade(trader: Trader, guest: Trader) -> None:
    await _open_the_spread(trader)
    price = trader.bid() + CENT
    await trader.place(newClientOrderId="mine", price=price)

    sold = await guest.place(side="SELL", price=price, selfTradePreventionMode="EXPIRE_BOTH")

    assert sold.json()["status"] == "FILLED"
    assert (await trader.order("mine"))["status"] == "FILLED"


async def test_the_symbols_own_mode_holds_when_none_is_sent(trader: Trader) -> None:
    placed = (await trader.place()).json()

    assert placed["selfTradePreventionMode"] == "EXPIRE_MAKER"
