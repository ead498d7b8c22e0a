"""The reference price of a symbol and its price range, as the exchange answers them."""

from decimal import Decimal

import anyio
import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.orders.references import PriceRange
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.reference_price import ANY_RANGE, PriceRangeRule, ReferencePrice, TakerRange
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeRejected, ExchangeUnavailable
from mcp_binance_server.exchange.spot import rest
from support.clock import FakeClock
from support.desk import Desk, OpenDesk

BTC, BNB = Symbol("BTCUSDT"), Symbol("BNBUSDT")
PRICE = 5_000_012_345_678


async def test_a_reference_price_comes_with_the_range_of_each_side(desk: Desk, exchange: SimulatedExchange) -> None:
    references = exchange.orders.engine.references
    references.fixed["BTCUSDT"] = PRICE
    references.rules["BTCUSDT"] = PriceRange(bid_limit_mult_up="1.1", ask_limit_mult_down="0.9")

    reference = await desk.spot.ranged_reference(BTC)

    price = Decimal("50000.12345678")
    assert reference == ReferencePrice(Price(price), PriceRangeRule(bid_up=Decimal("1.1"), ask_down=Decimal("0.9")))
    assert reference.taker_range("BUY") == TakerRange(None, Price(price * Decimal("1.1")))
    assert reference.taker_range("SELL") == TakerRange(Price(price * Decimal("0.9")), None)


@pytest.mark.parametrize("fixed", [{"BNBUSDT": None}, {}])
async def test_a_symbol_without_a_reference_price_has_no_range(
    desk: Desk, exchange: SimulatedExchange, fixed: dict[str, int | None]
) -> None:
    exchange.orders.engine.references.fixed |= fixed

    reference = await desk.spot.ranged_reference(BNB)

    assert reference == ReferencePrice()
    assert reference.taker_range("BUY") is ANY_RANGE
    assert [request.path for request in exchange.requests] == ["/api/v3/referencePrice"]


async def test_a_symbol_without_a_rule_has_a_reference_price_alone(desk: Desk, exchange: SimulatedExchange) -> None:
    exchange.orders.engine.references.fixed["BNBUSDT"] = PRICE

    reference, again = [await desk.spot.ranged_reference(BNB) for _ in range(2)]

    assert again == reference
    assert (reference.price, reference.rule) == (Decimal("50000.12345678"), None)
    assert [request.path for request in exchange.requests] == ["/api/v3/referencePrice", "/api/v3/executionRules"]


async def test_the_price_is_shared_for_a_second_and_the_rules_for_minutes(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    for _ in range(3):
        await desk.spot.ranged_reference(BTC)
        clock.advance(1_001)

    paths = [(request.path.removeprefix("/api/v3/"), request.weight) for request in exchange.requests]
    assert paths == [("referencePrice", 2), ("executionRules", 2), ("referencePrice", 2), ("referencePrice", 2)]


async def test_another_refusal_is_an_error(desk: Desk, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", path="*referencePrice", status=400, code=-1130, msg="no"))

    with pytest.raises(ExchangeRejected):
        await desk.spot.ranged_reference(BTC)


class Silent(httpx2.AsyncBaseTransport):
    """A host that never answers."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await anyio.sleep_forever()
        raise AssertionError(request.url)


async def test_a_reference_price_that_does_not_come_is_not_waited_for(
    open_desk: OpenDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "REFERENCE_SECS", 0.05)

    async with open_desk(transport=Silent()) as desk:
        with pytest.raises(ExchangeUnavailable) as caught:
            await desk.spot.ranged_reference(BTC)

    assert caught.value.reason == "no reference price within 0.05 s"
