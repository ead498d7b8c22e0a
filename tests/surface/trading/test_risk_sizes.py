"""Quantities for a risk, compared with a program that shares no code with the server, on random accounts."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any

import pytest

from binance_simulator.account import DemoAccount
from binance_simulator.exchange import SimulatedExchange
from support.desk import raw
from support.paper import SYMBOL, PaperTrader
from support.spot import SEED, spot_trader

pytestmark = pytest.mark.anyio

STEP, TICK, UNIT = Fraction(1, 100_000), Fraction(1, 100), 10**8
FEE = Fraction(1, 1000)
SLIPPAGE, STOP_SLIPS, COLLAR = Fraction(50, 10_000), 4, Fraction(2, 100)
# Previews in a minute whose weight the exchange allows.
AT_ONCE = 120


@dataclass(frozen=True, slots=True)
class Program:
    """Loss of a buy at its stop, from the raw book."""

    asks: list[tuple[Fraction, Fraction]]
    middle: Fraction
    fee: Fraction
    price: Fraction | None
    stop: Callable[[Fraction], Fraction]

    def bought(self, quantity: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return the cost of a quantity and the last price; None if the book does not hold it."""
        if self.price is not None:
            return quantity * self.price, self.price
        left, cost = quantity, Fraction(0)
        for price, size in self.asks:
            taken = min(left, size)
            left, cost = left - taken, cost + taken * price
            if not left:
                return cost, price
        return None

    def loss(self, quantity: Fraction) -> Fraction:
        found = self.bought(quantity)
        assert found is not None
        trigger = Fraction(ceil(self.stop(found[0] / quantity) / TICK)) * TICK
        limit = ceil(trigger * (1 - min(SLIPPAGE * STOP_SLIPS, COLLAR)) / TICK) * TICK
        coins = quantity * (1 - self.fee)
        return found[0] - coins * limit * (1 - self.fee)

    def can_buy(self, quantity: Fraction, free: Fraction) -> bool:
        found = self.bought(quantity)
        if found is None:
            return False
        if self.price is not None:
            return found[0] <= free
        worst = min(found[1] * (1 + SLIPPAGE), self.middle * (1 + COLLAR))
        best = self.asks[0][0]
        slips = (found[0] / quantity - best) / best
        return quantity * floor(worst / TICK) * TICK <= free and slips <= SLIPPAGE


def hold(exchange: SimulatedExchange, draw: random.Random) -> dict[str, tuple[Fraction, Fraction]]:
    """Give the account random balances, and return what is free and locked."""
    account = exchange.order_account(DemoAccount(SEED).api_key)
    for each in account.balances():
        account.release(each.asset, account.total(each.asset) - account.free(each.asset))
        account.spend(each.asset, account.free(each.asset))
    held: dict[str, tuple[Fraction, Fraction]] = {}
    for asset, most in (("USDT", 10 ** draw.randrange(2, 7)), ("BTC", 2), ("ETH", 30)):
        free, locked = draw.randrange(most * UNIT), draw.choice((0, draw.randrange(most * UNIT)))
        account.receive(asset, free + locked)
        account.lock(asset, locked)
        held[asset] = Fraction(free, UNIT), Fraction(locked, UNIT)
    return held


async def one(trader: PaperTrader, draw: random.Random) -> str:
    """Size one order, check it, and return what has bound its quantity."""
    exchange = trader.market.exchange
    held = hold(exchange, draw)
    book, tops = await raw(exchange, f"depth?symbol={SYMBOL}&limit=100"), await raw(exchange, "ticker/bookTicker")
    bids = {each["symbol"]: Fraction(each["bidPrice"]) for each in tops}
    asks = [(Fraction(price), Fraction(size)) for price, size in book["asks"]]
    bid, is_market = Fraction(book["bids"][0][0]), draw.random() < 0.5
    price = None if is_market else floor(bid * Fraction(draw.randrange(900, 1000), 1000) / TICK) * TICK
    away, percent = Fraction(draw.randrange(3, 100), 1000), Fraction(draw.randrange(1, 60), 10)
    level = ceil((price or bid) * (1 - away) / TICK) * TICK
    is_away, is_share = draw.random() < 0.5, draw.random() < 0.5
    equity = sum(sum(held[asset]) * bids[f"{asset}USDT"] for asset in ("BTC", "ETH")) + sum(held["USDT"])
    amount = Fraction(draw.randrange(1, 10 ** draw.randrange(3, 7)), 100)
    money = equity * percent / 100 if is_share else amount
    program = Program(
        asks, (bid + asks[0][0]) / 2, FEE, price, lambda entry: entry * (1 - away) if is_away else Fraction(level)
    )
    wish: dict[str, Any] = {"symbol": SYMBOL, "side": "BUY", "type": "MARKET"}
    if price is not None:
        wish |= {"type": "LIMIT", "price": f"{float(price):.2f}"}
    wish["stop_loss"] = f"-{float(away * 100):.1f}%" if is_away else f"{float(level):.2f}"
    wish["risk"] = f"{float(percent):.1f}%" if is_share else f"{float(amount):.2f}"

    told = await trader.call("preview_order", **wish)

    free = held["USDT"][0]
    if told.is_error:
        least = floor(6 / bid / STEP + 1) * STEP  # worth more than an order must be
        is_small = program.loss(least) > money or not program.can_buy(least, free)
        assert is_small or "NOTIONAL" not in told.text, (wish, told.text)
        assert is_small or "MAX" in told.text, (wish, told.text)
        return "too small"
    quantity = Fraction(told.data["order"]["quantity"])
    more = quantity + STEP
    assert program.loss(quantity) <= money, wish
    assert program.can_buy(quantity, free), wish
    shown = Fraction(told.data["result"]["loss_at_stop"])
    assert abs(shown - program.loss(quantity)) <= Fraction(1, 100), wish
    is_full = not program.can_buy(more, free)
    assert is_full or program.loss(more) > money, wish
    assert is_full is ("allows only" in told.text), wish
    return "money" if is_full else "risk"


@pytest.mark.slow
async def test_a_risk_is_never_exceeded_and_used_to_one_step(tmp_path: Path, sized: Callable[[int, int], int]) -> None:
    draw, found = random.Random(44), Counter[str]()
    async with spot_trader(tmp_path) as trader:
        for number in range(sized(2_000, 30)):
            if number % AT_ONCE == AT_ONCE - 1:
                await trader.market.run(61)
            found[await one(trader, draw)] += 1

    assert min(found["risk"], found["money"]) > 0, found
