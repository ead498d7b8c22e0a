"""Entries and exits: limits bound the largest possible loss, and refuse no order that leaves or lowers it.

The oracle walks fills and price scenarios of a whole account in plain numbers. It shares no line with the judgement.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, combinations
from typing import Any, Literal

import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.exposure import Holding, OpenOrder, floor_of, purpose_of, unclaimed
from mcp_binance_server.trading.judgement.guards import Situation, first_denial
from mcp_binance_server.trading.judgement.intent import Touch
from mcp_binance_server.trading.judgement.policy import read_policy
from mcp_binance_server.trading.judgement.terms import Terms
from support.terms import NOW_MS, terms

MID, BID = Decimal(100), Decimal("99.99")
# Every limit of count and money is used up.
CLOSED = """[limits]
per_order = "0.01"
per_day = "0.01"
per_symbol_day = "0.01"
daily_loss = "0.01"
position = { BTC = "0.01", ETH = "0.01" }
orders_per_minute = 0
orders_per_day = 0
open_orders = 0
"""
OF_COUNT_AND_MONEY = {
    "per_order", "per_day", "per_symbol_day:BTCUSDT", "per_symbol_day:BTCUSDC", "per_symbol_day:ETHBTC",
    "per_symbol_day:BTCEUR", "daily_loss", "position:BTC", "position:ETH", "orders_per_minute", "orders_per_day",
    "open_orders",
}  # fmt: skip
PAIRS = {"BTCUSDT": ("BTC", "USDT"), "BTCUSDC": ("BTC", "USDC"), "ETHBTC": ("ETH", "BTC"), "BTCEUR": ("BTC", "EUR")}
CASH = {"USDT", "USDC"}


@dataclass(frozen=True)
class Resting:
    """An open order of the account in plain numbers; an order elsewhere is unknown to the journal."""

    name: str
    pair: str
    side: Literal["BUY", "SELL"]
    quantity: Decimal
    price: Decimal
    trigger: Decimal | None = None
    is_elsewhere: bool = False
    trailing: int | None = None
    """Distance in percent."""


@dataclass(frozen=True)
class Book:
    """The coins of an account, each worth 100, and its open orders."""

    coins: dict[str, Decimal]
    resting: tuple[Resting, ...]

    def largest_losses(self) -> dict[str, Decimal]:
        """Return the largest loss per coin, were it to fall to zero; any sale without its coins is unbounded."""
        falling = {"BTC", "ETH", "EUR"}
        return {coin: max(self._loss(coin, filled) for filled in self._fills()) for coin in falling}

    def _fills(self) -> Iterator[tuple[Resting, ...]]:
        return chain.from_iterable(combinations(self.resting, size) for size in range(len(self.resting) + 1))

    def _loss(self, coin: str, filled: tuple[Resting, ...]) -> Decimal:
        coins, lost = dict(self.coins), Decimal(0)
        for each in filled:
            base, quote = PAIRS[each.pair]
            if each.side == "BUY":
                coins[base] = coins.get(base, Decimal(0)) + each.quantity
                lost += each.quantity * (each.price - MID) if base == coin else 0
            else:
                coins[base] = coins.get(base, Decimal(0)) - each.quantity
                if quote not in CASH:
                    coins[quote] = coins.get(quote, Decimal(0)) + each.quantity
        if any(amount < 0 for amount in coins.values()):
            return Decimal(10) ** 9
        left, back = coins.get(coin, Decimal(0)), Decimal(0)
        for each in self.resting:
            honoured = each.trigger is not None and each.price <= each.trigger
            if each not in filled and honoured and PAIRS[each.pair][0] == coin and PAIRS[each.pair][1] in CASH:
                sold = min(left, each.quantity)
                left, back = left - sold, back + sold * each.price
        return coins.get(coin, Decimal(0)) * MID - back + lost


def raises(before: Book, after: Book) -> bool:
    one, other = before.largest_losses(), after.largest_losses()
    return any(other[coin] > one[coin] for coin in one) or is_further(before, after)


def sold_on(path: list[Decimal], percent: int) -> int:
    """Return the step of a path at which a trailing stop sells, or one past its end."""
    for step, price in enumerate(path):
        if price <= max(path[: step + 1]) * (100 - percent) / 100:
            return step
    return len(path)


def paths() -> list[list[Decimal]]:
    """Return random walks of the price, each with a fall that every distance meets."""
    rng, made = random.Random(44), list[list[Decimal]]()
    for _ in range(5):
        price, path = MID, list[Decimal]()
        for step in range(60):
            price += Decimal(rng.randint(-6, 8) if step < 30 else rng.randint(-8, 2)) / 10
            path.append(price)
        made.append(path)
    return made


PATHS = paths()


def is_further(before: Book, after: Book) -> bool:
    """Return whether a stop in place of another that protects sells for less, or trails and sells later on any path."""
    gone = [each for each in before.resting if each not in after.resting and each.price <= (each.trigger or 0)]
    come = [each for each in after.resting if each not in before.resting and each.price <= (each.trigger or 0)]
    pairs = [(old.trailing, new.trailing) for old in gone for new in come if old.trailing and new.trailing]
    is_later = any(sold_on(path, new) > sold_on(path, old) for path in PATHS for old, new in pairs)
    return is_later or any(new.price < old.price for old in gone for new in come)


def drawn(rng: random.Random) -> tuple[Book, Book, Terms]:
    """Draw an account with open orders, and one more order: what stands before and after it, and its terms."""
    pair = rng.choice([*PAIRS, "BTCUSDT", "BTCUSDT"])
    coins = {"BTC": Decimal(rng.randint(0, 6)), "ETH": Decimal(rng.randint(0, 4))}
    resting: list[Resting] = []
    for number in range(rng.randint(0, 3)):
        of = rng.choice([pair, "BTCUSDT"])
        side: Literal["BUY", "SELL"] = rng.choice(["BUY", "SELL"])
        asset = PAIRS[of][0]
        sales = (each for each in resting if PAIRS[each.pair][0] == asset and each.side == "SELL")
        left = coins[asset] - sum((each.quantity for each in sales), Decimal(0))
        if side == "SELL" and left < 1:
            continue
        quantity = Decimal(rng.randint(1, int(left))) if side == "SELL" else Decimal(rng.randint(1, 4))
        is_stop = side == "SELL" and PAIRS[of][1] in CASH and rng.random() < 0.6
        price = Decimal(rng.randint(90, 95) if is_stop else rng.randint(99, 101))
        trigger = Decimal(rng.randint(92, 96)) if is_stop else None
        trailing = rng.randint(1, 6) if is_stop and rng.random() < 0.5 else None
        resting.append(Resting(f"mbp-{number}", of, side, quantity, price, trigger, rng.random() < 0.15, trailing))
    side = rng.choice(["BUY", "SELL"])
    # A sale into another coin is never an exit, also in place of another one.
    known = (
        []
        if side == "SELL" and PAIRS[pair][1] not in CASH
        else [each for each in resting if (each.pair, each.side) == (pair, side) and not each.is_elsewhere]
    )
    old = rng.choice(known) if known and rng.random() < 0.6 else None
    quantity = Decimal(rng.randint(1, 6))
    if old is not None and rng.random() < 0.5:
        quantity = old.quantity
    kind = rng.choice(["LIMIT", "STOP_LOSS_LIMIT", "TAKE_PROFIT_LIMIT", "OCO"]) if side == "SELL" else "LIMIT"
    price, trigger, exits = Decimal(rng.randint(99, 101)), None, None
    trailing = rng.randint(1, 6) if kind in ("STOP_LOSS_LIMIT", "OCO") and rng.random() < 0.5 else None
    if kind == "STOP_LOSS_LIMIT":
        trigger = Decimal(rng.randint(92, 96))
        price = max(Decimal(rng.randint(90, 97)), trigger * Decimal("0.98"))
        if trailing is not None:
            trigger = BID * (100 - trailing) / 100
            price = max(trigger - rng.randint(0, 1), trigger * Decimal("0.98"))
    elif kind == "TAKE_PROFIT_LIMIT":
        trigger = price = Decimal(104)
    elif kind == "OCO":
        old = None  # a pair replaces nothing
        floor = Decimal(rng.randint(92, 95))
        trigger, price = floor + 1, Decimal(104)
        if trailing is not None:
            trigger = BID * (100 - trailing) / 100
            floor = trigger * Decimal("0.99")
        bps = None if trailing is None else trailing * 100
        exits = Exits("OCO", Quantity(quantity), Price(Decimal(104)), Price(trigger), Price(floor), bps)
    placed = terms(
        symbol=Symbol(pair), side=side, kind=kind, quantity=Quantity(quantity), price=Price(price),
        stop_price=None if trigger is None else Price(trigger), exits=exits, counted=int(quantity * price * 100),
        replaces=None if old is None else old.name,
        trailing_bps=trailing * 100 if trailing is not None and exits is None else None,
    )  # fmt: skip
    floor_price = exits.stop_limit if exits is not None and exits.stop_limit is not None else price
    is_protective = kind in ("STOP_LOSS_LIMIT", "OCO")
    new = Resting("new", pair, side, quantity, floor_price, trigger if is_protective else None, trailing=trailing)
    before = Book(coins, tuple(resting))
    return before, Book(coins, (*(each for each in resting if each is not old), new)), placed


def situation_of(before: Book, placed: Terms) -> Situation:
    base, quote = PAIRS[placed.symbol]
    sales = [each for each in before.resting if each.side == "SELL" and PAIRS[each.pair][0] == base]
    orders = tuple(
        OpenOrder(
            client_order_id=each.name,
            symbol=each.pair,
            side=each.side,
            price=Price(each.price),
            left=Quantity(each.quantity),
            claimed=Quantity(each.quantity if each.side == "SELL" else Decimal(0)),
            locked=Quantity(each.quantity if each.side == "SELL" else Decimal(0)),
            floor=Price(each.price) if each.trigger is not None and each.price <= each.trigger else None,
            trailing_bps=None if each.trailing is None else each.trailing * 100,
        )
        for each in before.resting
        if PAIRS[each.pair][0] == base and not each.is_elsewhere
    )
    locked = sum((each.quantity for each in sales), Decimal(0))
    return Situation(
        mode="paper", policy=read_policy(CLOSED.encode()), terms=placed, way="policy", now_ms=NOW_MS,
        touch=Touch(Price(BID), Price(Decimal("100.01"))), book_age_ms=0, asset=base, quote=quote,
        lost_today=100,
        holding=Holding(base, Quantity(before.coins[base]), Quantity(locked), NOW_MS), orders=orders,
        held=1, open_buys=1,
    )  # fmt: skip


def test_limits_of_count_and_money_refuse_exactly_what_raises_the_largest_loss(
    sized: Callable[[int, int], int],
) -> None:
    rng, seen = random.Random(43), {"passed": 0, "refused": 0}
    for _ in range(sized(10_000, 2_000)):
        before, after, placed = drawn(rng)

        denied = first_denial(situation_of(before, placed))

        if raises(before, after):
            assert denied is not None, (before, placed)
            assert denied.guard in OF_COUNT_AND_MONEY
            seen["refused"] += 1
        else:
            assert denied is None, (before, placed, denied)
            seen["passed"] += 1
    assert min(seen.values()) > 100


def held(total: str = "2", locked: str = "0") -> Holding:
    return Holding("BTC", Quantity(Decimal(total)), Quantity(Decimal(locked)), NOW_MS)


def sale(quantity: str, **changes: Any) -> Terms:  # noqa: ANN401 - any member of the terms
    return terms(side="SELL", quantity=Quantity(Decimal(quantity)), price=Price(Decimal(100)), **changes)


def purpose(placed: Terms, holding: Holding | None = None, *orders: OpenOrder, quote: str = "USDT") -> str:
    return purpose_of(placed, quote, "USDT", holding or held(), orders)


TWO = Quantity(Decimal(2))
STOP = OpenOrder(
    "mbp-stop", "BTCUSDT", "SELL", Price(Decimal(90)), left=TWO, claimed=TWO, locked=TWO, floor=Price(Decimal(90))
)


@pytest.mark.parametrize(
    ("placed", "quote", "expected"),
    [
        (sale("2"), "USDT", "exit"),
        (sale("2"), "FDUSD", "exit"),
        (sale("2.00000001"), "USDT", "entry"),
        (sale("2"), "ETH", "entry"),
        (sale("2"), "EUR", "entry"),
        (terms(), "USDT", "entry"),
    ],
)
def test_a_sale_of_held_coins_for_dollars_is_an_exit(placed: Terms, quote: str, expected: str) -> None:
    assert purpose(placed, quote=quote) == expected


def test_coins_that_another_order_sells_are_claimed_here_and_elsewhere() -> None:
    one = replace(STOP, claimed=Quantity(Decimal("0.5")), locked=Quantity(Decimal("0.5")))

    assert unclaimed(held("2", "0.8"), [one]) == Decimal("1.2")
    assert purpose(sale("1.2"), held("2", "0.8"), one) == "exit"
    assert purpose(sale("1.3"), held("2", "0.8"), one) == "entry"


def test_an_unsettled_sale_claims_its_coins_before_the_exchange_locks_them() -> None:
    unknown = replace(STOP, client_order_id="mbp-unknown", floor=None, locked=Quantity(Decimal(0)))

    assert purpose(sale("0.1"), held("2", "0"), unknown) == "entry"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"stop_price": Price(Decimal(95)), "price": Price(Decimal(91))}, "exit"),
        ({"stop_price": Price(Decimal(91)), "price": Price(Decimal(90))}, "exit"),
        ({"stop_price": Price(Decimal(90)), "price": Price(Decimal(89))}, "entry"),
        ({"stop_price": Price(Decimal(95)), "price": Price(Decimal(91)), "quantity": Quantity(Decimal(1))}, "entry"),
        ({"stop_price": Price(Decimal(90)), "price": Price(Decimal(99))}, "entry"),
        ({"kind": "LIMIT", "price": Price(Decimal(120))}, "entry"),
    ],
)
def test_a_stop_may_be_moved_nearer_and_not_be_widened_or_shrunk(changes: dict[str, Any], expected: str) -> None:
    placed = replace(sale("2", kind="STOP_LOSS_LIMIT", replaces="mbp-stop"), **changes)

    assert purpose(placed, held("2", "2"), STOP) == expected


TRAILS = replace(STOP, trailing_bps=200)


@pytest.mark.parametrize(
    ("old", "trailing", "limit", "expected"),
    [
        (TRAILS, 200, 91, "exit"),  # the same stop, moved up behind a risen market
        (TRAILS, 150, 90, "exit"),
        (TRAILS, 201, 91, "entry"),
        (TRAILS, 150, 89, "entry"),  # nearer by its distance, but its limit has fallen with the market
        (TRAILS, None, 91, "exit"),
        (TRAILS, None, 89, "entry"),
        (STOP, 500, 91, "exit"),
        (STOP, 10, 89, "entry"),
    ],
)
def test_a_trailing_stop_is_moved_nearer_by_its_distance_and_never_below_its_limit(
    old: OpenOrder, trailing: int | None, limit: int, expected: str
) -> None:
    changes: dict[str, Any] = {"stop_price": Price(Decimal(95)), "price": Price(Decimal(limit))}
    changes |= {"trailing_bps": trailing}
    placed = replace(sale("2", kind="STOP_LOSS_LIMIT", replaces="mbp-stop"), **changes)

    assert purpose(placed, held("2", "2"), old) == expected


def test_a_trailing_stop_found_at_the_exchange_limits_the_loss_to_its_limit() -> None:
    found = sale("2", kind="STOP_LOSS_LIMIT", trailing_bps=200)

    assert floor_of(found) == found.price
    assert found.is_stop


@pytest.mark.parametrize(
    ("price", "quantity", "expected"), [(50, 2, "smaller_entry"), (50, 3, "entry"), (60, 2, "entry")]
)
def test_an_entry_may_be_replaced_by_one_of_no_more_worth(price: int, quantity: int, expected: str) -> None:
    old = OpenOrder("mbp-entry", "BTCUSDT", "BUY", Price(Decimal(50)), left=Quantity(Decimal(2)))
    placed = terms(quantity=Quantity(Decimal(quantity)), price=Price(Decimal(price)), replaces="mbp-entry")

    assert purpose(placed, held("0"), old) == expected
