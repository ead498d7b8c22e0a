"""Calm minutes of a market for tests: each a little different, none unusual, and the same in every run."""

from dataclasses import replace
from random import Random

from mcp_binance_server.analytics.book.events import PassedSize, Refilled
from mcp_binance_server.analytics.book.standing import StandingBin, StandingBook
from mcp_binance_server.analytics.market.last_hour import StressParts
from mcp_binance_server.analytics.market.minute import HALF_BLOCKS, HalfBlock, MinuteFacts
from mcp_binance_server.analytics.market.symbol_scores import EndedMinute, EventName, SymbolScores

MINUTE_MS = 60_000
START_MS = 1_700_000_000_000


def calm_minute(draw: Random) -> MinuteFacts:
    """Return a minute in which flow moves the price, and nothing else happens."""
    flow = draw.gauss(0, 10)
    shares = sorted((draw.uniform(0.01, 0.03) for _ in range(3)), reverse=True)
    bins = tuple(
        StandingBin(side, at, draw.uniform(4, 6), 100 + at if side == "ask" else 99 - at)
        for side in ("bid", "ask")
        for at in range(10)
    )
    return MinuteFacts(
        refilled=(Refilled(2.1, "bid", 99.0, 2, 1.0, 4.0, 0.0),),
        passed=tuple(PassedSize(each, "ask", 101.0, 900) for each in shares),
        standing=StandingBook(bins, {"bid": 60.0, "ask": 60.0}, 1.0),
        blocks=tuple(HalfBlock(draw.randint(80, 120), draw.randint(8, 12)) for _ in range(HALF_BLOCKS)),
        flow=flow,
        volume=draw.uniform(10, 14),
        move=0.05 * flow + draw.gauss(0, 0.1),
        heaviest={"bid": 99.0, "ask": 100.0},
    )


def unusual_minute(event: EventName) -> MinuteFacts:
    """Return a minute that is calm but for one event."""
    calm = calm_minute(Random(99))
    assert calm.standing is not None
    return {
        "hidden_size": replace(calm, refilled=(Refilled(8.3, "bid", 98.5, 8, 0.5, 4.0, 1.5),)),
        "absorption": replace(calm, flow=-45.0, move=0.1),
        "came_and_went": replace(calm, passed=tuple(PassedSize(0.2, "ask", 101.5, 900) for _ in range(5))),
        "flood": replace(
            calm, blocks=(*calm.blocks[:8], *(HalfBlock(400, calm.blocks[0].trades) for _ in calm.blocks[8:]))
        ),
        "standing_size": replace(
            calm,
            standing=StandingBook(
                (*calm.standing.bins[1:], StandingBin("bid", 3, 40.0, 96.0)), {"bid": 100.0, "ask": 60.0}, 1.0
            ),
        ),
    }[event]


def live_through(pasts: SymbolScores, minutes: int, *, seed: int = 1, from_ms: int = START_MS) -> list[EndedMinute]:
    """Let so many calm minutes be judged and join the past, with the seconds of each."""
    draw = Random(seed)
    ended = list[EndedMinute]()
    for at in range(1, minutes + 1):
        facts = calm_minute(draw)
        judged = pasts.judge(facts, from_ms + at * MINUTE_MS, ended[-1] if ended else None)
        pasts.learn(facts, judged)
        ended.append(judged)
        for _ in range(12):
            pasts.hour.add_health(draw.randint(1, 3), draw.uniform(8, 12))
        for _ in range(6):
            pasts.hour.add_stress(calm_parts(draw))
        pasts.learn_stress(calm_parts(draw))
    return ended


def calm_parts(draw: Random) -> StressParts:
    return StressParts(draw.gauss(-4, 0.1), draw.gauss(-9, 0.1), abs(draw.gauss(0, 0.0002)))
