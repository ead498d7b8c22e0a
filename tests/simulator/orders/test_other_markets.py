"""Orders where the market is another than usual: without a price, without a seller, in a crowd, in a closed account."""

from decimal import Decimal

import pytest

from binance_simulator.account import DemoAccount
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import ZERO, Balance, Portfolio
from support.clock import FakeClock
from support.trader import Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

MARKET: dict[str, object] = {"type": "MARKET", "timeInForce": None, "price": None}


def customer(trader: Trader, portfolio: Portfolio) -> Trader:
    account = DemoAccount(2_000)
    trader.exchange.guests.append(Guest(account, portfolio))
    return Trader(trader.api, trader.exchange, account)


async def test_a_market_order_to_buy_pays_what_it_meets(trader: Trader) -> None:
    before = await trader.balances()

    bought = (await trader.place(**MARKET, quantity="0.05")).json()
    too_much = (await trader.place(**MARKET, quantity="0.2")).json()

    spent = sum(Decimal(fill["price"]) * Decimal(fill["qty"]) for fill in bought["fills"])
    assert bought["status"] == "FILLED"
    assert Decimal(bought["cummulativeQuoteQty"]) == spent
    assert (await trader.balances())["USDT"] == (before["USDT"][0] - spent, before["USDT"][1])
    assert too_much == {"code": -2010, "msg": "Account has insufficient balance for requested action."}


async def test_a_market_order_larger_than_the_market_expires(trader: Trader, exchange: SimulatedExchange) -> None:
    exchange.set_scenario("thin")
    seller = customer(trader, Portfolio((Balance("BTC", "200.00000000", ZERO),)))

    sold = (await seller.place(**MARKET, side="SELL", quantity="128")).json()

    assert (sold["status"], sold["expiryReason"]) == ("EXPIRED", "INSUFFICIENT_LIQUIDITY")
    assert Decimal(0) < Decimal(sold["executedQty"]) < 128
    assert (await seller.balances())["BTC"] == (200 - Decimal(sold["executedQty"]), Decimal(0))


async def test_an_account_that_may_not_trade_is_told_so(trader: Trader) -> None:
    closed = customer(trader, Portfolio((Balance("USDT", "5000.00000000", ZERO),), can_trade=False))

    answer = await closed.place()

    assert answer.json() == {"code": -2010, "msg": "This action is disabled on this account."}


async def test_a_member_of_the_crowd_fills_as_its_book_moves(
    trader: Trader, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.set_crowd(2)
    symbol = exchange.listing.symbols["CROWD000USDT"]
    top = exchange.stage.market.top(symbol, exchange.now_ms())
    assert top is not None
    resting = {"symbol": symbol.name, "price": symbol.price(top.bid[0]), "quantity": "20", "newClientOrderId": "crowd"}

    taken = (await trader.place(symbol=symbol.name, price=symbol.price(top.ask[0]), quantity="20")).json()
    await trader.place(**resting)
    for _ in range(600):
        clock.advance(100)
        if not any(order.open for order in exchange.portfolio(exchange.account.api_key).orders[-1:]):
            break

    assert taken["status"] == "FILLED"
    assert exchange.portfolio(exchange.account.api_key).orders[-1].status == "FILLED"
    depth = (await trader.api.get(f"/api/v3/depth?symbol={symbol.name}&limit=5")).json()
    assert Decimal(depth["bids"][0][0]) < Decimal(depth["asks"][0][0])


async def test_whoever_steers_is_told_what_is_wrong(trader: Trader) -> None:
    order = {"symbol": "BTCUSDT", "side": "BUY", "quantity": "5", "price": str(trader.far_below())}

    too_much = await trader.api.post("/control/orders/new", json=order)
    nowhere = await trader.api.post("/control/orders/new", json=order | {"symbol": "NOPE"})

    assert (too_much.status_code, too_much.text) == (400, "Account has insufficient balance for requested action.")
    assert (nowhere.status_code, nowhere.text) == (400, "Unknown symbol 'NOPE'.")
