"""What stops trading by itself, at its edge: unknown outcomes, rejections, an order found after all."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from mcp_binance_server.domain.order_requests import Fate
from mcp_binance_server.trading.journal.ledger import HostLedger, TradingIsStopped
from mcp_binance_server.trading.journal.records import IntentState
from mcp_binance_server.trading.judgement.stop import REJECTED_MS, UNKNOWN_MS, TradingTroubles, cause
from support.terms import NOW_MS, intent
from trading.bench import Bench, opened_bench

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    async with opened_bench(tmp_path / "trading") as made:
        await made.desk.ready()
        yield made


async def why(bench: Bench, account: str = "paper") -> str | None:
    stopped = await bench.desk.ledger.stopped(account)
    return None if stopped is None else stopped.why


@pytest.mark.parametrize(
    ("troubles", "why"),
    [
        (TradingTroubles(0, 0, None), None),
        (TradingTroubles(2, 4, None), None),
        (TradingTroubles(3, 4, None), "3 orders with unknown outcome within 10 minutes"),
        (TradingTroubles(2, 5, None), "5 orders rejected within 60 seconds"),
        (TradingTroubles(9, 9, "mbp-x"), "order mbp-x was declared not placed but was found"),
    ],
)
def test_each_cause_at_its_edge(troubles: TradingTroubles, why: str | None) -> None:
    assert cause(troubles) == why


@pytest.mark.parametrize(
    ("fate", "number", "why_not"),
    [
        (Fate.REFUSED, 5, "5 orders rejected within 60 seconds"),
        (Fate.UNKNOWN, 3, "3 orders with unknown outcome within 10 minutes"),
    ],
)
async def test_the_desk_stops_at_the_last_straw_and_not_before(
    bench: Bench, fate: Fate, number: int, why_not: str
) -> None:
    bench.exchange.fate, bench.exchange.is_mute = fate, True
    for each in range(number - 1):
        await bench.place(intent(each))
    assert await why(bench) is None

    await bench.place(intent(number))

    assert await why(bench) == why_not
    with pytest.raises(TradingIsStopped):
        await bench.place(intent(number + 1))
    denied = await bench.desk.reader.history(intent(number + 1).preview_id)
    assert [(each.state, each.told["guard"]) for each in denied] == [("DENIED", "stop")]


async def test_what_is_tried_again_and_again_is_denied_once_in_the_journal(bench: Bench) -> None:
    await bench.desk.ledger.stop("a fire", "a test", NOW_MS, "paper")
    for _ in range(3):
        with pytest.raises(TradingIsStopped):
            await bench.place(intent())

    assert [each.state for each in await bench.desk.reader.history(intent().preview_id)] == ["DENIED"]


async def fail(bench: Bench, state: IntentState, at_ms: int, number: int, account: str = "paper") -> None:
    """Write one failure down, as of a moment."""
    ledger = bench.desk.ledger
    new = intent(number, account=account)
    await ledger.claim(new, (), at_ms)
    await ledger.mark_sent(new.preview_id, at_ms)
    await ledger.move(new.preview_id, state, {}, at_ms)


@pytest.mark.parametrize(("state", "most", "window_ms"), [("REJECTED", 5, REJECTED_MS), ("UNKNOWN", 3, UNKNOWN_MS)])
async def test_what_is_long_ago_does_not_count(bench: Bench, state: IntentState, most: int, window_ms: int) -> None:
    for number in range(most - 1):
        await fail(bench, state, NOW_MS + 1, number)
    await fail(bench, state, NOW_MS, most)
    bench.clock.set_wall(NOW_MS + window_ms)

    await bench.desk.look("paper")
    assert await why(bench) is None

    await fail(bench, state, NOW_MS + window_ms, most + 1)
    await bench.desk.look("paper")
    assert await why(bench) is not None


async def test_many_accounts_that_are_refused_once_are_no_loop(bench: Bench) -> None:
    for number in range(8):
        await fail(bench, "REJECTED", NOW_MS, number, account=f"paper-{number % 2}")

    for number in range(2):
        await bench.desk.look(f"paper-{number}")

    assert await bench.desk.reader.stops() == []


async def test_what_goes_wrong_with_one_account_stops_that_account_alone(bench: Bench) -> None:
    bench.exchange.fate = Fate.REFUSED
    for number in range(5):
        await bench.place(intent(number, account="paper-ann"))
    bench.exchange.fate = Fate.ACCEPTED

    with pytest.raises(TradingIsStopped, match="5 orders rejected within 60 seconds"):
        await bench.place(intent(6, account="paper-ann"))
    assert (await bench.place(intent(7, account="paper-bob"))).intent.state == "ACKED"
    assert [each.account for each in await bench.desk.reader.stops()] == ["paper-ann"]


async def test_who_resumes_has_forgiven_what_was_before(bench: Bench) -> None:
    for number in range(5):
        await fail(bench, "REJECTED", NOW_MS, number)
    await bench.desk.look("paper")
    assert await why(bench) is not None

    await HostLedger(bench.desk.ledger.store, "a person").resume("a person", NOW_MS)
    await fail(bench, "REJECTED", NOW_MS, 6)
    await bench.desk.look("paper")

    assert await why(bench) is None


async def test_a_cause_that_a_dead_process_left_is_seen_at_the_next_start(tmp_path: Path) -> None:
    async with opened_bench(tmp_path) as first:
        await first.desk.ready()
        for number in range(5):
            await fail(first, "REJECTED", NOW_MS, number)
            await fail(first, "REJECTED", NOW_MS, 10 + number, account=f"paper-{number}")

    async with opened_bench(tmp_path) as second:
        await second.desk.ready()

        assert await why(second) == "5 orders rejected within 60 seconds"
        assert [each.account for each in await second.desk.reader.stops()] == ["paper"]


@pytest.mark.parametrize(("later_ms", "counts"), [(86_399_999, True), (86_400_000, False)])
async def test_an_order_found_after_all_counts_for_a_day(
    bench: Bench,
    later_ms: int,
    counts: bool,  # noqa: FBT001
) -> None:
    await fail(bench, "UNKNOWN", NOW_MS, 1)
    name = intent(1).preview_id
    for state in ("NOT_PLACED", "ACKED"):
        await bench.desk.ledger.move(name, state, {}, NOW_MS)
    bench.clock.set_wall(NOW_MS + later_ms)

    await bench.desk.look("paper")

    assert (await why(bench) is not None) is counts
