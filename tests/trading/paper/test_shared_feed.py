"""Two workers with tables in common on one streamed market: whoever has the right matches, for both."""

from collections.abc import AsyncGenerator
from decimal import Decimal

import pytest

from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.shared import LeaseRight
from support.stepped import live_market
from trading.paper.shared_floor import agree, workers_on
from trading.paper.trading_floor import BTC, TradingFloor, order

pytestmark = pytest.mark.anyio

Floors = tuple[TradingFloor, TradingFloor]


@pytest.fixture
async def floors() -> AsyncGenerator[Floors]:
    async with live_market() as market, workers_on([MemoryEngine(market.clock)] * 2) as workers:
        one, other = (TradingFloor(market, each, right=LeaseRight(each)) for each in workers)
        with one.hub.reading(BTC):
            await one.in_step()
            yield one, other
        assert await agree(workers)


async def placed(floor: TradingFloor, name: str, *, away: int) -> None:
    await floor.exchange.accept("paper", order(name, "BUY", floor.touch("BUY") + away), Pair("BTC", "USDT"))


async def becomes(floor: TradingFloor, name: str, wanted: str) -> None:
    async def is_so() -> bool:
        row = await floor.exchange.find("paper", BTC, name)
        return row is not None and row.order.status == wanted

    await floor.until(is_so)


async def test_an_order_of_one_worker_is_filled_by_the_other(floors: Floors) -> None:
    one, other = floors
    async with other.feed("other").running():
        await placed(one, "a", away=5000)
        await becomes(one, "a", "FILLED")

    assert other.told == ["paper"]
    assert sum(each.quantity for each in await one.exchange.fills("paper", BTC, 9)) == Decimal("0.01")


async def test_one_of_two_workers_matches_and_the_other_goes_on_when_it_leaves(floors: Floors) -> None:
    one, other = floors
    async with other.feed("other").running():
        async with one.feed("one").running():
            await placed(one, "a", away=-500)
            await becomes(other, "a", "NEW")
            await placed(other, "b", away=5000)
            await becomes(one, "b", "FILLED")
        await placed(one, "c", away=5000)
        await becomes(other, "c", "FILLED")

    fills = await one.exchange.fills("paper", BTC, 99)
    assert sum(each.quantity for each in fills) == Decimal("0.02")
    assert len(one.told) + len(other.told) >= 3


async def test_a_worker_hears_of_what_another_one_has_filled(floors: Floors) -> None:
    one, other = floors
    async with other.feed("other").running():
        await placed(one, "a", away=-500)
        await becomes(one, "a", "NEW")
        async with one.feed("one").running():
            await one.run(1)
            heard = len(one.told)
            await placed(other, "b", away=5000)
            await becomes(one, "b", "FILLED")
            await one.run(1)

    assert one.told[heard:] != []
    assert {*one.told} == {"paper"}
