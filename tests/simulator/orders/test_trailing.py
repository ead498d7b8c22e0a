"""Trailing stops at the simulated exchange: its examples, its filter, and agreement with orders on paper.

The first scenarios are those of Binance, with every price divided by 400:
https://github.com/binance/binance-spot-api-docs/blob/master/faqs/trailing-stop-faq.md
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.listing import Symbol
from binance_simulator.orders.crowd_view import Print
from binance_simulator.orders.matching import Level, Taker
from binance_simulator.orders.order import LiveOrder
from binance_simulator.streams.user_events import execution_report
from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.trading.paper.market import PaperMarket
from mcp_binance_server.trading.paper.order import PaperOrder
from support.order_lists import around, oco, otoco
from support.orders.desk_flow import Flow, Parameters, QuietCrowd, rich_flow
from support.orders.reference_desk import UNIT
from support.trader import Trader

SCALE = 400
FILTER_FAILS, ENGINE_REFUSES, MISSING, NOT_NEEDED = -1013, -2010, -1102, -1106


def stop_order(flow: Flow, **changes: object) -> Parameters:
    """Return a trailing stop that sells one BTC, with changes."""
    usual: Parameters = {
        "side": "SELL", "type": "STOP_LOSS_LIMIT", "timeInForce": "GTC", "quantity": "1", "price": "50",
        "trailingDelta": 100, "newClientOrderId": f"t{len(flow.exchange.orders.records.orders)}",
    }  # fmt: skip
    return usual | changes


def newest(flow: Flow) -> LiveOrder:
    return [*flow.exchange.orders.records.orders.values()][-1]


def strike(flow: Flow, price: Decimal, quantity: int = UNIT) -> None:
    """Let a buyer trade with the crowd at a price."""
    flow.crowd.last_price = int(price * UNIT)
    symbol = flow.exchange.listing.symbols["BTCUSDT"]
    flow.exchange.orders.engine.strike(symbol, Print(flow.exchange.now_ms(), int(price * UNIT), quantity, sold=False))


def walked(start: str, ends: Iterable[str]) -> Iterable[tuple[bool, Decimal]]:
    """Return the prices of a series of linear moves, and whether a move has ended."""
    price = Decimal(start)
    for each in ends:
        end = Decimal(each)
        steps = max(1, int(abs(end - price) // 100))
        for step in range(1, steps + 1):
            yield step == steps, (price + (end - price) * step / steps) / SCALE
        price = end


@pytest.mark.parametrize(
    ("side", "kind", "stop", "delta", "limit", "moves"),
    [
        ("BUY", "STOP_LOSS_LIMIT", 44_000, 500, 45_000, ("37000", "45000", "46000", "42000", "44100")),
        ("SELL", "STOP_LOSS_LIMIT", 39_000, 1_000, 38_000, ("41500", "39000", "37000", "41000", "36900")),
        ("BUY", "TAKE_PROFIT_LIMIT", 38_000, 850, 38_500, ("42000", "37000", "39000", "38000", "40145")),
        ("SELL", "TAKE_PROFIT_LIMIT", 42_000, 750, 41_000, ("41500", "39000", "45000", "44000", "46500", "43012.5")),
        ("SELL", "STOP_LOSS_LIMIT", None, 700, 39_000, ("42000", "39500", "45500", "42315")),
    ],
)
def test_the_examples_of_the_exchange_trigger_at_their_last_trade_and_not_before(  # noqa: PLR0917 - columns
    side: str, kind: str, stop: int | None, delta: int, limit: int, moves: tuple[str, ...]
) -> None:
    flow = rich_flow()
    prices = {"price": Decimal(limit) / SCALE, "stopPrice": None if stop is None else Decimal(stop) / SCALE}
    assert flow.send("a", "POST", "order", stop_order(flow, side=side, type=kind, trailingDelta=delta, **prices)) == 0
    order, path = newest(flow), [*walked("40000", moves)]

    triggered: list[bool] = []
    for _, price in path:
        strike(flow, price)
        triggered.append(not order.waiting)

    assert triggered == [False] * (len(path) - 1) + [True]
    assert sum(ended for ended, _ in path) == len(moves)


@dataclass
class Shown:
    """One book for both: bids that follow the last price, and nothing on the other side."""

    last: Decimal = Decimal(100)
    away: int = 1
    depth: int = 2

    def bids(self) -> list[tuple[Decimal, Decimal]]:
        return [(self.last - Decimal("0.01") * (self.away + step), Decimal("0.3")) for step in range(self.depth)]

    def best_first(self, side: Side) -> Iterable[PriceLevel]:
        for price, quantity in self.bids() if side == "BUY" else []:
            yield PriceLevel(Price(price), Quantity(quantity))

    def displayed(self, side: Side, price: Price) -> Quantity | None:
        return Quantity(dict(self.bids()).get(price, Decimal(0)) if side == "BUY" else Decimal(0))


class ShownCrowd(QuietCrowd):
    """The same book at the exchange."""

    shown: Shown

    def levels(self, symbol: Symbol, taker: Taker, now_ms: int) -> list[Level]:  # noqa: ARG002 - one book for all
        if taker.buys:
            return []
        return [(int(price * UNIT), int(quantity * UNIT)) for price, quantity in self.shown.bids()]


@pytest.mark.slow
def test_an_order_on_paper_and_at_the_exchange_trigger_and_fill_alike(sized: Callable[[int, int], int]) -> None:
    seen = {"filled": 0, "rests": 0, "waits": 0}
    for seed in range(sized(2_000, 100)):
        chance, flow, shown = random.Random(seed), rich_flow(), Shown()
        crowd = ShownCrowd(flow.exchange.stage.market)
        crowd.shown = shown
        flow.crowd = flow.exchange.orders.engine.crowd = crowd
        delta, limit = chance.randint(10, 300), Decimal(chance.randint(9_500, 10_050)) / 100
        sent = stop_order(flow, trailingDelta=delta, price=limit)
        assert flow.send("a", "POST", "order", sent) == 0
        order, market = newest(flow), PaperMarket(shown)
        paper = PaperOrder(
            1, "SELL", "STOP_LOSS_LIMIT", "GTC", Price(limit), Quantity(Decimal(1)), 0, trailing_bps=delta, status="NEW"
        )
        market.waiting.append(paper)
        received = Decimal(0)

        for number in range(60):
            shown.last += Decimal(chance.randint(-80, 70)) / 100
            shown.away, shown.depth = chance.randint(1, 120), chance.randint(0, 5)
            market.shown()
            strike(flow, shown.last, 2 * UNIT)
            given = [*market.trade(number, number, Price(shown.last), Quantity(Decimal(2)), buyer_is_maker=False)]

            assert paper.is_triggered == (not order.waiting), (seed, number)
            received += sum((each.price * each.quantity for each in given), Decimal(0))
            assert (paper.status, paper.filled) == (order.status, Decimal(order.executed) / UNIT), (seed, number)
            assert received == Decimal(order.value) / UNIT, (seed, number)
            assert all(each.price >= limit for each in given)
            if paper.best is not None and order.tracked_ms is not None and order.waiting:
                assert int(paper.best * UNIT) == order.extreme
        seen["filled" if paper.status == "FILLED" else "rests" if paper.is_triggered else "waits"] += 1
    assert min(seen.values()) > 0, seen


async def refusal(trader: Trader, **changes: object) -> tuple[int, str]:
    usual = {"side": "SELL", "type": "STOP_LOSS_LIMIT", "price": around(trader, "0.95"), "newClientOrderId": "t"}
    answer = await trader.place(**usual | changes)
    body = answer.json()
    return body.get("code", 0), body.get("msg", "")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("side", "delta", "passes"),
    [
        ("SELL", 19, False), ("SELL", 20, True), ("SELL", 300, True), ("SELL", 301, False), ("SELL", 0, False),
        ("BUY", 39, False), ("BUY", 40, True), ("BUY", 500, True), ("BUY", 501, False),
    ],
)  # fmt: skip
async def test_each_direction_has_its_own_edges(
    trader: Trader,
    exchange: SimulatedExchange,
    side: str,
    delta: int,
    passes: bool,  # noqa: FBT001 - a column
) -> None:
    record = next(each for each in exchange.listing.records if each["symbol"] == "BTCUSDT")
    bounds = {"minTrailingAboveDelta": 40, "maxTrailingAboveDelta": 500, "minTrailingBelowDelta": 20}
    entry = {"filterType": "TRAILING_DELTA", **bounds, "maxTrailingBelowDelta": 300}
    filters = msgspec.convert(record["filters"], list[dict[str, Any]])
    record["filters"] = [entry if each["filterType"] == "TRAILING_DELTA" else each for each in filters]

    code, message = await refusal(trader, side=side, trailingDelta=delta, price=around(trader, "1.01"))

    assert (code == 0) == passes
    assert passes or (code, message) == (FILTER_FAILS, "Filter failure: TRAILING_DELTA")


@pytest.mark.anyio
async def test_an_order_without_a_trigger_or_with_a_delta_that_it_cannot_have_is_refused(
    trader: Trader, exchange: SimulatedExchange
) -> None:
    assert (await refusal(trader))[0] == MISSING
    assert (await refusal(trader, type="LIMIT", trailingDelta=100))[0] == NOT_NEEDED
    record = next(each for each in exchange.listing.records if each["symbol"] == "BTCUSDT")
    record["allowTrailingStop"] = False

    assert await refusal(trader, trailingDelta=100) == (
        ENGINE_REFUSES,
        "Trailing stop orders are not supported for this symbol.",
    )


@pytest.mark.anyio
async def test_answers_and_events_have_the_delta_and_the_time_since_when_it_follows(
    trader: Trader, exchange: SimulatedExchange
) -> None:
    limit, before = around(trader, "0.95"), exchange.orders.records.executions.newest
    answer = await trader.place(
        side="SELL",
        type="STOP_LOSS_LIMIT",
        price=limit,
        trailingDelta=100,
        newClientOrderId="t",
        newOrderRespType="FULL",
    )
    waits = await trader.order("t")
    (placed,) = exchange.orders.records.executions.since(before)
    await trade(trader, around(trader, "1"))
    follows = await trader.order("t")
    await trade(trader, around(trader, "0.98"))
    triggered = exchange.orders.records.executions.since(placed.number)[0]

    assert {name: answer.json()[name] for name in ("trailingDelta", "trailingTime", "workingTime", "status")} == {
        "trailingDelta": 100, "trailingTime": -1, "workingTime": -1, "status": "NEW",
    }  # fmt: skip
    assert (waits["stopPrice"], waits["trailingTime"], waits["isWorking"]) == ("0.00000000", -1, False)
    assert follows["trailingTime"] >= waits["time"]
    first, second = execution_report(placed), execution_report(triggered)
    assert (first["d"], first.get("D"), first["w"]) == (100, None, False)
    assert (second["d"], second["D"], second["x"], second["w"]) == (100, follows["trailingTime"], "NEW", True)


async def trade(trader: Trader, price: object) -> None:
    body = {"symbol": "BTCUSDT", "price": str(price), "quantity": "0.001", "sold": True}
    answer = await trader.api.post("/control/orders/trade", json=body)
    assert answer.status_code == 200, answer.text


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["oco", "otoco"])
async def test_a_stop_of_a_list_trails_and_ends_the_other_order(trader: Trader, path: str) -> None:
    place = "below" if path == "oco" else "pendingBelow"
    made = oco(trader) if path == "oco" else otoco(trader, workingPrice=around(trader, "1.001"))
    changes = {f"{place}StopPrice": None, f"{place}TrailingDelta": 150, f"{place}Price": around(trader, "0.96")}
    answer = await trader.send("POST", f"orderList/{path}", made | changes)
    assert answer.status_code == 200, answer.text

    for share in ("1.0", "1.01", "0.996", "0.994"):
        await trade(trader, around(trader, share))

    below, above = await trader.order("below"), await trader.order("above")
    assert below["trailingDelta"] == 150
    assert (above["status"], above["expiryReason"]) == ("EXPIRED", "OCO_TRIGGER")
    assert below["status"] == "FILLED"
