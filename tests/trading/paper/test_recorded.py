"""Paper fills against a recorded market: whatever is filled, the recorded book or tape had it to give.

The oracle reads the raw strings, keeps its own book and its own sums, and knows nothing of the matching.
"""

import gzip
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.trading.paper.market import PaperMarket
from mcp_binance_server.trading.paper.order import PaperFill, PaperOrder
from support.fixtures import RECORDED_MARKET, UNPUBLISHED, needs

pytestmark = [needs(RECORDED_MARKET), pytest.mark.flood]

TICK, STEP = Decimal("0.01"), Decimal("0.00001")
AWAY = (-300, -100, -20, -5, -1, 0, 0, 1, 2, 50, 500)
SIZES = ("0.0005", "0.01", "0.2", "4")
OVER = {"FILLED", "EXPIRED", "REJECTED", "EXPIRED_IN_MATCH"}


def frames(pair: str, days: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield snapshots, depth events and trades with the exchange's own time, in the order of receipt."""
    for day in ("20240808", "20240809")[:days]:
        with gzip.open(UNPUBLISHED[RECORDED_MARKET].path / f"{pair}_{day}.gz", "rt") as lines:
            for line in lines:
                body = json.loads(line.split(" ", 1)[1])
                if "stream" not in body:
                    yield "snapshot", body
                elif "@depth" in body["stream"] or "@trade" in body["stream"]:
                    yield "depth" if "@depth" in body["stream"] else "trade", body["data"]


@dataclass
class RawBook:
    """Levels as the exchange wrote them, by side of who stands there."""

    levels: dict[Side, dict[Decimal, Decimal]] = field(default_factory=lambda: {"BUY": {}, "SELL": {}})

    def begin(self, body: dict[str, Any]) -> None:
        self.levels = {"BUY": _levels(body["bids"]), "SELL": _levels(body["asks"])}

    def change(self, body: dict[str, Any]) -> None:
        for held, changes in ((self.levels["BUY"], body["b"]), (self.levels["SELL"], body["a"])):
            for price, quantity in _levels(changes).items():
                held.pop(price, None)
                if quantity:
                    held[price] = quantity

    def best_first(self, side: Side) -> Iterable[PriceLevel]:
        held = self.levels[side]
        for price in sorted(held, reverse=side == "BUY"):
            yield PriceLevel(Price(price), Quantity(held[price]))

    def displayed(self, side: Side, price: Price) -> Quantity | None:
        return Quantity(self.levels[side].get(price, Decimal(0)))

    def touch(self, side: Side) -> Decimal:
        return max(self.levels["BUY"]) if side == "BUY" else min(self.levels["SELL"])


def _levels(rows: list[list[str]]) -> dict[Decimal, Decimal]:
    return {Decimal(price): Decimal(quantity) for price, quantity in rows}


@dataclass
class Oracle:
    """What the recording would have given each order at best."""

    shown: dict[int, list[tuple[Decimal, Decimal]]] = field(default_factory=dict[int, list[tuple[Decimal, Decimal]]])
    volume: dict[int, Decimal] = field(default_factory=dict[int, Decimal])
    alive: dict[int, PaperOrder] = field(default_factory=dict[int, PaperOrder])
    touched: set[int] = field(default_factory=set[int])

    def arrived(self, order: PaperOrder, book: RawBook) -> None:
        is_buy = order.side == "BUY"
        near = book.levels["SELL" if is_buy else "BUY"]
        within = [each for each in near.items() if (each[0] <= order.price if is_buy else each[0] >= order.price)]
        self.shown[order.order_id] = sorted(within, reverse=not is_buy)
        self.volume[order.order_id] = Decimal(0)
        self.alive[order.order_id] = order

    def printed(self, price: Decimal, quantity: Decimal, *, taker_sells: bool) -> None:
        for order_id, order in [*self.alive.items()]:
            if order.status in OVER:
                del self.alive[order_id]
            elif (order.side == "BUY") == taker_sells and (
                price <= order.price if taker_sells else price >= order.price
            ):
                self.volume[order_id] += quantity
                self.touched.add(order_id)

    def ideal(self, order_id: int, quantity: Decimal) -> Decimal:
        """Return what so much costs, or brings, level by level from the best."""
        cost = Decimal(0)
        for price, stands in self.shown[order_id]:
            got = min(stands, quantity)
            cost, quantity = cost + got * price, quantity - got
        assert not quantity, "more than was displayed"
        return cost


def random_order(chance: random.Random, number: int, book: RawBook, at_ms: int) -> PaperOrder:
    side: Side = chance.choice(("BUY", "SELL"))
    away = chance.choice(AWAY) * TICK
    touch = book.touch(side)
    maker = chance.random() < 0.2
    return PaperOrder(
        number,
        side,
        "LIMIT_MAKER" if maker else "LIMIT",
        "GTC" if maker else chance.choice(("GTC", "GTC", "GTC", "IOC", "FOK")),
        Price(touch + away if side == "BUY" else touch - away),
        Quantity(Decimal(chance.choice(SIZES))),
        at_ms + chance.choice((0, 80, 250)),
    )


@pytest.mark.parametrize("pair", ["btcusdt", "ethusdt"])
def test_no_fill_is_better_than_the_recording_allows(pair: str, scale: int, sized: Callable[[int, int], int]) -> None:
    for seed in range(1, 1 + scale):
        played(pair, seed, min(sized(2, 1), 2))


def played(pair: str, seed: int, days: int) -> None:
    """Play the recordings of some days with orders at random, and hold every fill against the oracle."""
    chance = random.Random(seed)
    book, oracle = RawBook(), Oracle()
    market = PaperMarket(book)
    orders: dict[int, PaperOrder] = {}
    fills: list[PaperFill] = []
    last_id = -1
    for kind, data in frames(pair, days):
        if kind == "snapshot":
            last_id = data["lastUpdateId"]
            book.begin(data)
            market.shown()
            continue
        if last_id < 0 or (kind == "depth" and data["u"] <= last_id):
            continue
        at_ms = data["E"]
        for order in market.waiting:
            if order.arrives_ms <= at_ms:
                oracle.arrived(order, book)
        fills += market.advance(at_ms)
        if kind == "depth":
            book.change(data)
            market.shown()
            if chance.random() < 0.35:
                made = random_order(chance, len(orders) + 1, book, at_ms)
                orders[made.order_id] = made
                market.waiting.append(made)
        else:
            price, quantity, taker_sells = Decimal(data["p"]), Decimal(data["q"]), data["m"]
            oracle.printed(price, quantity, taker_sells=taker_sells)
            given = [*market.trade(at_ms, data["t"], Price(price), Quantity(quantity), buyer_is_maker=taker_sells)]
            assert sum(each.quantity for each in given) <= quantity  # a print is given away once
            fills += given
    judge(orders, fills, oracle)
    resters = [each for each in orders.values() if each.time_in_force == "GTC" and each.order_id in oracle.shown]
    resters = [each for each in resters if each.status not in ("REJECTED", "EXPIRED_IN_MATCH")]
    whole = sum(each.quantity for each in resters)
    ours = sum(each.filled for each in resters) / whole
    easy = sum(each.quantity if each.order_id in oracle.touched else each.filled for each in resters) / whole
    assert ours < easy


def judge(orders: dict[int, PaperOrder], fills: list[PaperFill], oracle: Oracle) -> None:
    made: dict[int, Decimal] = defaultdict(Decimal)
    took: dict[int, Decimal] = defaultdict(Decimal)
    paid: dict[int, Decimal] = defaultdict(Decimal)
    for fill in fills:
        order = orders[fill.order_id]
        assert fill.price <= order.price if order.side == "BUY" else fill.price >= order.price
        if fill.is_maker:
            assert fill.price == order.price
            made[fill.order_id] += fill.quantity
        else:
            took[fill.order_id] += fill.quantity
            paid[fill.order_id] += fill.quantity * fill.price
    assert sum(made.values())
    assert sum(took.values())
    for order_id, order in orders.items():
        assert made[order_id] + took[order_id] == order.filled <= order.quantity
        if order_id in oracle.shown:
            assert made[order_id] <= oracle.volume[order_id]  # no more than what traded at its price or through it
            ideal = oracle.ideal(order_id, took[order_id])
            assert paid[order_id] >= ideal if order.side == "BUY" else paid[order_id] <= ideal


@dataclass
class Trail:
    """A trailing stop as the raw prints had it: the extreme, the moment of the turn, and what the book then gave."""

    order: PaperOrder
    began: int
    shown: list[tuple[Decimal, Decimal]] = field(default_factory=list[tuple[Decimal, Decimal]])
    turned: int | None = None
    volume: Decimal = Decimal(0)
    sold: list[PaperFill] = field(default_factory=list[PaperFill])

    def turn_in(self, prints: list[Decimal]) -> int | None:
        """Walk the raw prints from the start: return the first that has turned by the distance."""
        share, is_sale = Decimal(self.order.trailing_bps or 0) / 10_000, self.order.side == "SELL"
        best: Decimal | None = None
        for number, price in enumerate(prints[self.began :], self.began):
            best = price if best is None else max(best, price) if is_sale else min(best, price)
            if price <= best * (1 - share) if is_sale else price >= best * (1 + share):
                return number
        return None


@pytest.mark.night
@pytest.mark.parametrize("pair", ["btcusdt", "ethusdt"])
def test_a_trailing_stop_follows_the_recorded_tape_and_is_never_filled_better(
    pair: str,
) -> None:
    chance, book, prints = random.Random(7), RawBook(), list[Decimal]()
    market, trails, last_id = PaperMarket(book), list[Trail](), -1
    for kind, data in frames(pair, 2):
        if kind == "snapshot":
            last_id = data["lastUpdateId"]
            book.begin(data)
            market.shown()
        elif last_id < 0 or (kind == "depth" and data["u"] <= last_id):
            continue
        elif kind == "depth":
            book.change(data)
            market.shown()
            if chance.random() < 0.05:
                trails.append(Trail(random_stop(chance, len(trails), book, data["E"]), len(prints)))
                market.waiting.append(trails[-1].order)
            _take(trails, market.advance(data["E"]))
        else:
            price, quantity = Decimal(data["p"]), Decimal(data["q"])
            prints.append(price)
            resting = [each for each in trails if each.turned is not None and each.order.is_open]
            amounts = Price(price), Quantity(quantity)
            _take(trails, market.trade(data["E"], data["t"], *amounts, buyer_is_maker=data["m"]))
            for each in resting:
                is_sale = each.order.side == "SELL"
                reaches = price >= each.order.price if is_sale else price <= each.order.price
                each.volume += quantity if is_sale != data["m"] and reaches else 0
            for each in trails:
                if each.order.is_triggered and each.turned is None:
                    near = book.levels["BUY" if each.order.side == "SELL" else "SELL"]
                    each.turned, each.shown = len(prints) - 1, sorted(near.items(), reverse=each.order.side == "SELL")
    judge_trails(trails, prints)


def random_stop(chance: random.Random, number: int, book: RawBook, at_ms: int) -> PaperOrder:
    side: Side = chance.choice(("BUY", "SELL"))
    away = 1 + Decimal(chance.choice((-60, -5, 2, 5))) / 10_000 * (1 if side == "SELL" else -1)
    limit = Price((book.touch(side) * away).quantize(TICK))
    size = Quantity(Decimal(chance.choice(SIZES)))
    trailing = chance.choice((1, 2, 5, 10, 20))
    return PaperOrder(
        number, side, "STOP_LOSS_LIMIT", "GTC", limit, size, at_ms, trailing_bps=trailing, triggers_above=side == "BUY"
    )


def _take(trails: list[Trail], fills: Iterable[PaperFill]) -> None:
    for fill in fills:
        trails[fill.order_id].sold.append(fill)


def judge_trails(trails: list[Trail], prints: list[Decimal]) -> None:
    """Hold each stop against the raw prints: when it turned, and that no fill was early or better than the market."""
    seen = {"taken": 0, "made": 0, "waiting": 0}
    for each in trails:
        order, is_sale = each.order, each.order.side == "SELL"
        assert each.turned == each.turn_in(prints), order
        seen["waiting"] += each.turned is None
        assert each.turned is not None or not each.sold
        took = [fill for fill in each.sold if not fill.is_maker]
        made = [fill for fill in each.sold if fill.is_maker]
        assert all(fill.price >= order.price if is_sale else fill.price <= order.price for fill in each.sold)
        assert all(fill.price == order.price for fill in made)
        assert sum(fill.quantity for fill in made) <= each.volume
        left, ideal = sum((fill.quantity for fill in took), Decimal(0)), Decimal(0)
        for price, stands in each.shown:
            got = min(stands, left)
            left, ideal = left - got, ideal + got * price
        paid = sum((fill.quantity * fill.price for fill in took), Decimal(0))
        assert not left, "more than was displayed"
        assert paid <= ideal if is_sale else paid >= ideal
        seen["taken"] += bool(took)
        seen["made"] += bool(made)
    assert min(seen.values()) > 5, seen
