"""The start of a server that trades at the exchange: in which order, what it adopts, what it counts, what it leaves."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Fate, Target
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeUnavailable
from mcp_binance_server.trading.desk import LEFT
from mcp_binance_server.trading.journal.integrity import examine
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.judgement.charges import DAY_MS
from mcp_binance_server.trading.reconciling import PAGE, StartStep, TradedAccount, terms_of
from mcp_binance_server.trading.requests import written_order
from support.clock import FakeClock
from support.terms import NOW_MS, intent
from trading.bench import ACCOUNT, Bench, Scripted, opened_bench, own, placed, started_bench

pytestmark = pytest.mark.anyio

STEPS = [
    "the key is known to be harmless",
    "the clock is read",
    "the open orders at Binance are read",
    LEFT,
    "orders missing from the journal are recorded",
    "today's orders at Binance are counted",
]


def order_of(new: NewIntent, status: str = "NEW", executed: str = "0", **changes: object) -> Order:
    amount = Decimal(executed)
    made = replace(
        placed(written_order(new.terms, new.client_order_id), status),
        order_id=int(new.terms.nonce) + 1,
        executed=Quantity(amount),
        quote_spent=Quantity(amount * new.terms.price),
    )
    return replace(made, **changes)


def holding(*orders: Order) -> Scripted:
    return Scripted(stands={each.client_order_id: each for each in orders})


async def found(bench: Bench, new: NewIntent) -> Intent:
    intent_found = await bench.desk.ledger.find(new.preview_id)
    assert intent_found is not None
    return intent_found


async def whole(bench: Bench) -> None:
    assert (await examine(bench.desk.ledger.store)).problems == ()


async def test_an_order_of_ours_that_only_the_exchange_knows_is_adopted_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    exchange = holding(order_of(own(), created_ms=NOW_MS - 1_000))

    async with started_bench(tmp_path, exchange) as made:
        await made.desk.ready()

        adopted = await found(made, own())
        assert (adopted.state, adopted.status, adopted.way) == ("ADOPTED", "NEW", "policy")
        assert (adopted.terms.quantity, adopted.terms.price) == (own().terms.quantity, own().terms.price)
        assert (adopted.prepared_ms, adopted.order_id) == (NOW_MS - 1_000, 1)
        used = await made.used(own())
        assert (used["open_orders"], used["orders_per_day"], used["per_day"]) == (1, 1, 60_00)
        assert [each.client_order_id for each in await made.desk.reader.adopted(ACCOUNT, NOW_MS)] == [
            own().client_order_id
        ]
        await whole(made)
    assert [each.levelno for each in caplog.records if "ALARM" in each.message] == [logging.ERROR]
    assert exchange.reached == []


async def test_an_adopted_order_is_followed_to_its_end_and_gives_back_what_it_did_not_use(tmp_path: Path) -> None:
    exchange = holding(order_of(own()))
    async with started_bench(tmp_path, exchange) as made:
        await made.desk.ready()
        exchange.stands[own().client_order_id] = order_of(own(), "CANCELED", "0.0005")

        await made.desk.catch_up()

        ended = await found(made, own())
        assert (ended.state, ended.status, ended.executed) == ("ADOPTED", "CANCELED", Decimal("0.0005"))
        used = await made.used(own())
        assert (used["open_orders"], used["per_day"]) == (0, 30_00)
        await whole(made)


async def test_an_adopted_order_can_be_cancelled(tmp_path: Path) -> None:
    exchange = holding(order_of(own()))
    async with started_bench(tmp_path, exchange) as made:
        await made.desk.ready()

        outcome = await made.desk.cancel(ACCOUNT, Target(own().terms.symbol, own().client_order_id), "me")

        assert (outcome.cancel, outcome.intent.status) == ("CANCELLED", "CANCELED")
        await whole(made)


async def test_placing_the_preview_of_an_adopted_order_again_sends_nothing(tmp_path: Path) -> None:
    exchange = holding(order_of(own()))
    async with started_bench(tmp_path, exchange) as made:
        await made.desk.ready()

        outcome = await made.place(own())

    assert (outcome.intent.state, exchange.reached) == ("ADOPTED", [])


@pytest.mark.parametrize(
    "name",
    ["web_77aa", "mbl-" + "a" * 20, "mbd-" + "a" * 20, "mbp-" + "a" * 20, "mbt-by-hand", "mbt-" + "a" * 20 + "-c", ""],
)
async def test_an_order_that_does_not_bear_our_name_is_never_touched(tmp_path: Path, name: str) -> None:
    exchange = holding(order_of(own(), client_order_id=name))

    async with started_bench(tmp_path, exchange, 'symbols = ["BTCUSDT"]') as made:
        await made.desk.ready()

        assert await made.desk.reader.newest(10) == []
        assert (await made.used(own()))["orders_per_day"] == 0
    assert (exchange.cancels, exchange.questions) == ([], 0)


async def test_orders_of_today_that_are_over_are_counted_once_however_often_a_server_starts(tmp_path: Path) -> None:
    today = NOW_MS // DAY_MS * DAY_MS
    exchange = Scripted(
        past=[
            order_of(own(0), "FILLED", "0.001", created_ms=today - 1),
            order_of(own(1), "FILLED", "0.001", created_ms=today),
            order_of(own(2), "CANCELED", "0.0001", created_ms=today + 1),
            order_of(own(3), "EXPIRED", created_ms=today + 2, client_order_id="android_1"),
        ]
    )
    for _ in range(2):
        async with started_bench(tmp_path, exchange, 'symbols = ["BTCUSDT", "ETHUSDT"]') as made:
            await made.desk.ready()

            used = await made.used(own())
            assert (used["open_orders"], used["orders_per_day"], used["per_day"]) == (0, 2, 66_00)
            bought = await made.desk.reader.traded(ACCOUNT, NOW_MS)
            assert [(each.symbol, each.bought) for each in bought] == [("BTCUSDT", Decimal("0.0011"))]
            await whole(made)
    assert exchange.calls.count("history ETHUSDT") == 2


async def test_what_journal_and_exchange_both_know_counts_once(tmp_path: Path) -> None:
    exchange = Scripted()
    async with started_bench(tmp_path, exchange) as made:
        await made.desk.ready()
        await made.place(own(0))
    only_there = own(1, side="SELL")
    exchange.stands[only_there.client_order_id] = order_of(only_there)

    async with started_bench(tmp_path, exchange) as made:
        await made.desk.ready()

        used = await made.used(own())
        assert (used["open_orders"], used["orders_per_day"], used["per_day"]) == (2, 2, 120_00)
        assert ((await found(made, own(0))).state, (await found(made, only_there)).state) == ("ACKED", "ADOPTED")


async def test_a_long_day_is_read_page_by_page(tmp_path: Path) -> None:
    today = NOW_MS // DAY_MS * DAY_MS
    noise = [order_of(own(0), "FILLED", created_ms=today + number, client_order_id="web", order_id=number)
             for number in range(PAGE + 5)]  # fmt: skip
    last = order_of(own(1), "FILLED", "0.001", created_ms=today + PAGE + 9, order_id=PAGE + 9)
    exchange = Scripted(past=[*noise, last])

    async with started_bench(tmp_path, exchange, 'symbols = ["BTCUSDT"]') as made:
        await made.desk.ready()

        assert (await found(made, own(1))).state == "ADOPTED"
    assert exchange.calls.count("history BTCUSDT") == 2


async def test_an_order_that_the_journal_says_never_was_stops_trading(tmp_path: Path) -> None:
    exchange = Scripted(fate=Fate.REFUSED)
    async with started_bench(tmp_path, exchange) as made:
        await made.desk.ready()
        await made.place(own())
    exchange.stands[own().client_order_id] = order_of(own())

    async with started_bench(tmp_path, exchange) as made:
        await made.desk.ready()

        stopped = await made.desk.ledger.stopped(ACCOUNT)
        assert stopped is not None
        assert "as never placed (REJECTED)" in stopped.why
        assert (await found(made, own())).state == "REJECTED"


async def test_a_name_of_ours_on_an_order_that_we_never_send_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    exchange = holding(order_of(own(), kind="STOP_LOSS"))

    async with started_bench(tmp_path, exchange) as made:
        await made.desk.ready()

        assert await made.desk.reader.newest(10) == []
    assert any("ignored" in each.message for each in caplog.records)


def steps_of(calls: list[str], failures: int = 0) -> Callable[[FakeClock], tuple[StartStep, ...]]:
    """Return two steps that write down that they were done; the second one fails a few times first."""
    left = [failures]

    def doing(name: str) -> Callable[[], Awaitable[None]]:
        async def do() -> None:
            await anyio.lowlevel.checkpoint()
            if name == STEPS[1] and left[0]:
                left[0] -= 1
                raise ExchangeUnavailable(reason="away")
            calls.append(name)

        return do

    return lambda _: tuple(StartStep(name, doing(name)) for name in STEPS[:2])


async def test_the_start_goes_step_by_step_and_names_the_one_it_is_at(tmp_path: Path) -> None:
    exchange = Scripted()
    async with opened_bench(tmp_path, exchange) as made:
        dead = HostLedger(made.desk.ledger.store, "dead")
        for number in range(2):
            await dead.claim(own(number), (), NOW_MS)
        await dead.mark_sent(own(1).preview_id, NOW_MS)
    exchange.stands = {each.client_order_id: order_of(each) for each in (own(1), own(2))}
    exchange.calls.clear()
    seen: list[str] = []

    async with started_bench(tmp_path, exchange, "", steps_of(exchange.calls)) as made:
        while waits_for := made.desk.waits_for:
            if waits_for not in seen:
                seen.append(waits_for)
            await anyio.lowlevel.checkpoint()

        assert [each for each in STEPS if each in seen] == seen
        assert exchange.calls == [*STEPS[:2], "open all", "history BTCUSDT"]
        states = [(await found(made, own(number))).state for number in range(3)]
        assert states == ["NOT_SENT", "ACKED", "ADOPTED"]


async def test_a_step_that_fails_is_tried_again_after_growing_pauses_and_nothing_goes_before_it(tmp_path: Path) -> None:
    exchange, calls = Scripted(), list[str]()
    clock = FakeClock(NOW_MS)

    async with started_bench(tmp_path, exchange, "", steps_of(calls, failures=8), clock) as made:
        assert made.desk.waits_for == STEPS[0]
        await made.desk.ready()

    assert clock.slept_ms == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]
    assert calls == STEPS[:2]


async def test_an_exchange_that_is_away_opens_nothing_and_later_everything(tmp_path: Path) -> None:
    exchange = Scripted(is_away=True)

    async with started_bench(tmp_path, exchange) as made:
        while len(made.clock.slept_ms) < 3:
            await anyio.lowlevel.checkpoint()
        assert made.desk.waits_for == "the open orders at Binance are read"

        exchange.is_away = False
        await made.desk.ready()
        assert made.desk.waits_for == ""


async def test_a_second_try_goes_on_where_the_first_one_ended(tmp_path: Path) -> None:
    exchange, usual = Scripted(), Scripted.order_history
    tries: list[str] = []

    async def limited(symbol: Symbol, limit: int, start_ms: int) -> Sourced[tuple[Order, ...]]:
        tries.append(symbol)
        if len(tries) % 2 == 0:
            raise ExchangeUnavailable(reason="too much at once")
        return await usual(exchange, symbol, limit, start_ms)

    exchange.order_history = limited

    async with started_bench(tmp_path, exchange, 'symbols = ["AUSDT", "BUSDT", "CUSDT"]') as made:
        await made.desk.ready()

    assert tries == ["AUSDT", "BUSDT", "BUSDT", "CUSDT", "CUSDT"]


async def test_servers_of_other_modes_and_keys_on_one_folder_leave_each_others_orders_alone(tmp_path: Path) -> None:
    others = [intent(10), intent(11, account=ACCOUNT, mode="live"), own(12, account="k-other")]
    paper, testnet = Scripted(), Scripted()
    async with opened_bench(tmp_path, paper) as one, started_bench(tmp_path, testnet) as other:
        # A start that is not over may find an order of the dead between its claim and its mark, and settle it.
        await one.desk.ready()
        await other.desk.ready()
        dead = HostLedger(one.desk.ledger.store, "dead")
        for each in others:
            await dead.claim(each, (), NOW_MS)
            await dead.mark_sent(each.preview_id, NOW_MS)
        mine = await other.place(own())

        other.clock.advance(3_600_000)
        await other.desk.catch_up()
        assert [(await found(other, each)).state for each in others] == ["SENT"] * 3
        assert testnet.questions == 0

        await one.desk.catch_up()
        while (await found(one, others[0])).state == "SENT":
            await anyio.lowlevel.checkpoint()
        assert [(await found(one, each)).state for each in others] == ["NOT_PLACED", "SENT", "SENT"]
        assert (await found(one, own())).updated_ms == mine.intent.updated_ms
    assert len(testnet.reached) == 1


async def test_what_stands_is_looked_at_once_a_minute_whatever_tells_of_it_unasked(tmp_path: Path) -> None:
    exchange = Scripted()
    async with started_bench(tmp_path, exchange) as made:
        await made.desk.ready()
        await made.place(own())
        exchange.stands[own().client_order_id] = order_of(own(), "FILLED", "0.001")

        made.clock.advance(60_000)
        while (await found(made, own())).status != "FILLED":
            await anyio.lowlevel.checkpoint()


def test_terms_are_rebuilt_from_what_the_exchange_says() -> None:
    stop = own(kind="STOP_LOSS_LIMIT", stop_price=Price(Decimal(61000)))
    order = order_of(stop, stop_price=Price(Decimal(61000)))

    terms = terms_of(order, TradedAccount(ACCOUNT, "practice", "testnet"), 60_00, "0" * 64)

    assert terms is not None
    assert replace(terms, expires_ms=stop.terms.expires_ms, nonce=stop.terms.nonce) == stop.terms
    assert type(terms).from_json(terms.to_json()) == terms
