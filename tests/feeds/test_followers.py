"""Being told of a symbol's events, and reading a tape from where one left off."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binance_simulator.faults import StreamFault
from feeds.conftest import OpenFloor
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.tape import Tape

BTC, ETH = Symbol("BTCUSDT"), Symbol("ETHUSDT")

pytestmark = pytest.mark.anyio


@pytest.mark.slow
async def test_a_follower_is_told_of_its_symbol_alone_and_of_its_loss(open_floor: OpenFloor) -> None:
    told = {BTC: 0, ETH: 0}

    def count(symbol: Symbol) -> None:
        told[symbol] += 1

    async with open_floor() as floor:
        with floor.hub.following(BTC, lambda: count(BTC)) as feed, floor.hub.reading(ETH):
            assert feed is not None
            await floor.run(3_000)
            assert feed.is_live
            seen = told[BTC]
            floor.exchange.hub.faults.add(StreamFault(kind="cut", stream="btcusdt@depth@100ms"))
            await floor.run(200)
            assert not feed.is_live
        after = told[BTC]
        await floor.run(3_000)

    assert 30 <= seen < after
    assert told == {BTC: after, ETH: 0}


async def test_two_followers_leave_each_on_their_own_and_no_room_is_told(open_floor: OpenFloor) -> None:
    told = [0, 0]

    def first() -> None:
        told[0] += 1

    def second() -> None:
        told[1] += 1

    async with open_floor(most=1) as floor:
        with floor.hub.following(BTC, first):
            with floor.hub.following(BTC, second), floor.hub.following(ETH, first) as none:
                assert none is None
                await floor.run(1_000)
            assert [each.readers for each in floor.hub.watched()] == [1]
            left = told[1]
            await floor.run(1_000)
        assert [each.readers for each in floor.hub.watched()] == [0]

    assert told[0] > told[1] == left > 0


def trade(trade_id: int) -> Trade:
    return Trade(trade_id, Price(Decimal(1)), Quantity(Decimal(1)), trade_id, True, trade_id, trade_id)  # noqa: FBT003


@given(ids=st.sets(st.integers(0, 200)), after=st.integers(-1, 201), most=st.integers(1, 50))
def test_a_tape_goes_on_after_any_id(ids: set[int], after: int, most: int) -> None:
    tape = Tape(span_ms=1_000, most=1_000)
    for each in sorted(ids):
        tape.add(trade(each))

    assert [each.trade_id for each in tape.after(after, most)] == sorted(each for each in ids if each > after)[:most]
