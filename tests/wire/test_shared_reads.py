"""Answers that processes share: how old one is, is told by the time that all of them have."""

import pytest

from mcp_binance_server.domain.symbols import Symbol
from support.clock import FakeClock
from support.desk import NETWORK, Desk

BTC = Symbol("BTCUSDT")


@pytest.mark.parametrize("behind_ms", [0, 3_000])
async def test_a_shared_answer_is_as_old_to_a_process_whose_clock_is_behind(
    desk: Desk, clock: FakeClock, behind_ms: int
) -> None:
    asker, reader = (Desk(desk.engine, desk.channel, clock, NETWORK) for _ in range(2))
    now = clock.monotonic_ms()
    asker.time.learn(clock.now_ms(), asked_at_ms=now, answered_at_ms=now)
    reader.time.learn(clock.now_ms() - behind_ms, asked_at_ms=now, answered_at_ms=now)
    await asker.spot.depth(BTC, 100)
    clock.advance(900)

    answer = await reader.spot.depth(BTC, 100)

    assert reader.spot.reads.sent == 0
    assert reader.time.now_ms() - answer.at_ms == 900
