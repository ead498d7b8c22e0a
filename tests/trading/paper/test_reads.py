"""An account on paper, asked as the exchange is asked."""

from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import pytest

from mcp_binance_server.domain.access import LOCAL, Visitor
from mcp_binance_server.domain.account import Commission, Venue
from mcp_binance_server.domain.account_reader import AccountReader, ReaderByVisitor
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import WrittenOrder
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeRejected, InsufficientScope
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.preview import USUAL
from mcp_binance_server.trading.paper.account import Pair, account_of
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.matcher import SymbolMatcher, matcher_token
from mcp_binance_server.trading.paper.reads import PaperReads
from support.clock import FakeClock
from support.terms import NOW_MS
from trading.paper.displayed import usual_book

pytestmark = pytest.mark.anyio

SYMBOL, PAIR = Symbol("ABXY"), Pair("AB", "XY")
START = {"XY": Decimal(1000), "AB": Decimal(10), "CD": Decimal(0)}
ANN = Visitor("ann")


class Bench:
    """An exchange on paper whose time the test moves."""

    def __init__(self, exchange: PaperExchange, clock: FakeClock) -> None:
        self.exchange, self.clock = exchange, clock
        self.nobodys = PaperReads(exchange, "mainnet")
        self.reads = self.nobodys.of_visitor(LOCAL)

    async def placed(self, name: str, price: int = 90, symbol: str = SYMBOL, *, after_ms: int = 0) -> int:
        self.clock.advance(after_ms)
        order = WrittenOrder(name, Symbol(symbol), "BUY", "LIMIT", "GTC", Quantity(Decimal(1)), Price(Decimal(price)))
        return (await self.exchange.accept("paper", order, PAIR)).order.order_id

    async def met(self) -> None:
        token = await matcher_token(self.exchange.store, "me", NOW_MS)
        assert token is not None
        matcher = SymbolMatcher(SYMBOL, PAIR, self.exchange.store, START, USUAL, token, usual_book())
        await matcher.load()
        await matcher.meet((), self.exchange.now_ms())


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    clock = FakeClock()
    async with opened_store(tmp_path / "trading") as store:
        yield Bench(PaperExchange(store, START, 0, lambda: NOW_MS + int(clock.monotonic_ms())), clock)


async def test_it_is_read_like_any_other_account(bench: Bench) -> None:
    reader: AccountReader = bench.reads
    await bench.placed("a", 90)

    reading = await reader.account()

    assert isinstance(reader, ReaderByVisitor)
    assert {each.asset: (each.free, each.locked) for each in reading.value.balances} == {"AB": (10, 0), "XY": (910, 90)}
    assert reading.value.commission == Commission(Decimal("0.001"), Decimal("0.001"))
    assert (reading.value.can_trade, reading.value.can_withdraw, reading.value.can_deposit) == (True, False, False)
    assert reader.venue(reading.host) == reader.venue("api.binance.com") == Venue("mainnet", "paper", simulated=True)
    assert await reader.key_rights() is None


async def test_each_visitor_has_an_account_of_their_own(bench: Bench) -> None:
    await bench.placed("a")
    anns = bench.reads.of_visitor(ANN)

    assert anns.require_key() == account_of(ANN) != account_of(Visitor("bob"))
    assert anns.require_key().startswith("paper-")
    assert (await anns.open_orders()).value == ()
    assert len((await anns.of_visitor(LOCAL).open_orders()).value) == 1
    with pytest.raises(ExchangeRejected, match="does not exist"):
        await anns.order(SYMBOL, "a")


async def test_who_may_read_no_account_has_none(bench: Bench) -> None:
    await bench.placed("a")
    reads = bench.reads.of_visitor(None)

    assert not bench.nobodys.has_key
    assert not reads.has_key
    for ask in (
        reads.account, reads.open_orders, lambda: reads.order(SYMBOL, "a"), lambda: reads.order_history(SYMBOL, 9),
        lambda: reads.fills(SYMBOL, 9),
    ):  # fmt: skip
        with pytest.raises(InsufficientScope):
            await ask()


async def test_open_orders_are_of_one_symbol_or_of_all(bench: Bench) -> None:
    await bench.placed("a")
    await bench.placed("b", symbol="CDXY")

    assert [each.client_order_id for each in (await bench.reads.open_orders()).value] == ["a", "b"]
    assert [each.client_order_id for each in (await bench.reads.open_orders(SYMBOL)).value] == ["a"]


async def test_an_order_is_found_by_either_id(bench: Bench) -> None:
    number = await bench.placed("a")
    await bench.placed("b")

    assert (await bench.reads.order(SYMBOL, "a")).value.order_id == number
    assert (await bench.reads.order(SYMBOL, order_id=number)).value.client_order_id == "a"
    for wrong in (
        bench.reads.order(SYMBOL, "c"), bench.reads.order(Symbol("CDXY"), "a"), bench.reads.order(SYMBOL, order_id=99)
    ):  # fmt: skip
        with pytest.raises(ExchangeRejected) as caught:
            await wrong
        assert caught.value.exchange_code == -2013


async def test_history_is_the_newest_or_what_follows_a_start(bench: Bench) -> None:
    for name in "abcde":
        await bench.placed(name, 10, after_ms=1000)

    async def names(limit: int, start: int | None = None, end: int | None = None) -> str:
        since = [None if each is None else NOW_MS + each * 1000 for each in (start, end)]
        return "".join(each.client_order_id for each in (await bench.reads.order_history(SYMBOL, limit, *since)).value)

    assert await names(9) == "abcde"
    assert await names(2) == "de"
    assert await names(2, start=2) == "bc"
    assert await names(9, start=2, end=4) == "bcd"
    assert await names(2, end=4) == "cd"
    assert await names(9, start=6) == ""


async def test_fills_are_of_the_account_or_of_one_order(bench: Bench) -> None:
    first = await bench.placed("a", 101)
    second = await bench.placed("b", 101)
    await bench.met()

    assert [each.order_id for each in (await bench.reads.fills(SYMBOL, 9)).value] == [first, second]
    assert [each.order_id for each in (await bench.reads.fills(SYMBOL, 1)).value] == [second]
    (fill,) = (await bench.reads.fills(SYMBOL, 9, order_id=first)).value
    assert (fill.price, fill.quantity, fill.quote_quantity, fill.commission_asset) == (101, 1, 101, "AB")
    assert (await bench.reads.of_visitor(ANN).fills(SYMBOL, 9)).value == ()


async def test_fills_are_the_newest_up_to_an_end_or_what_follows_a_start(bench: Bench) -> None:
    orders: list[int] = []
    for name in "abcd":
        orders.append(await bench.placed(name, 101, after_ms=1000))
        await bench.met()
    times = [each.time_ms for each in (await bench.reads.fills(SYMBOL, 9)).value]

    async def places(limit: int, **span: int) -> list[int]:
        found = (await bench.reads.fills(SYMBOL, limit, **{name: times[place] for name, place in span.items()})).value
        return [orders.index(each.order_id) for each in found]

    assert sorted({*times}) == times
    assert await places(2, start_ms=1) == [1, 2]
    assert await places(9, start_ms=2) == [2, 3]
    assert await places(2, end_ms=2) == [1, 2]
