"""A day of a busy user weighs no more with us than with the best peer, and a quarter of it once symbols are live."""

from collections import Counter

from peers.day import DayCall, read_day, shortened
from peers.our_day import our_server

# What a call of each step weighs at the lightest peer whose answers are at most a second old, by peer_day.py,
# 2026-11-18: @snjyor/binance-mcp 1.0.1 for what is public, amazing-binance-mcp 0.1.1 for what is private.
PUBLIC = {"price": 2, "book": 5, "candles": 2, "trades": 25, "average": 2}
PRIVATE = {"account": 20, "open_orders": 6, "fills": 20, "order_history": 20}
OLDEST_MS = 1_000
LIVE_CALLS = 60


def theirs(calls: tuple[DayCall, ...]) -> int:
    return sum((PUBLIC | PRIVATE)[step] * count for step, count in Counter(call.step for call in calls).items())


def test_the_day_is_the_same_in_every_run_and_spread_over_its_hours() -> None:
    day = read_day()

    gaps = [after.at_ms - before.at_ms for before, after in zip(day.calls, day.calls[1:], strict=False)]
    assert read_day() == day
    assert len(day.calls) == 2_000
    assert {call.symbol for call in day.calls} == set(range(20))
    assert 7 * 3_600_000 < day.calls[-1].at_ms < 8 * 3_600_000
    assert min(gaps) >= 2_000


async def test_a_day_weighs_no_more_than_with_the_best_peer() -> None:
    day = read_day()
    calls = day.only(frozenset(PUBLIC | PRIVATE))
    public = day.only(frozenset(PUBLIC))

    async with our_server(day.symbols, live=False) as server:
        spent = await server.spend(calls, day.asked)

    ours = sum(spent.weights[each] for each in (*PUBLIC, "upkeep"))
    print(f"{spent.total:,} of {theirs(calls):,}, public {ours:,} of {theirs(public):,}: {dict(spent.weights)}")
    assert spent.calls.total() == len(calls)
    assert spent.total <= theirs(calls)
    assert ours <= theirs(public)
    assert spent.oldest_ms <= OLDEST_MS


async def test_what_is_public_of_live_symbols_weighs_a_quarter_of_it_at_most() -> None:
    day = read_day()
    calls = day.only(frozenset(PUBLIC))[:LIVE_CALLS]

    async with our_server(day.symbols, live=True) as server:
        spent = await server.spend(shortened(calls, 2_000), day.asked)

    print(f"{spent.total:,} of {theirs(calls):,}: {dict(spent.weights)}")
    assert spent.total <= 0.25 * theirs(calls)
    assert spent.weights["price"] + spent.weights["book"] + spent.weights["trades"] == 0
    assert spent.oldest_ms <= OLDEST_MS
