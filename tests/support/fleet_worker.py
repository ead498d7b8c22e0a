"""A process of a fleet with nothing but an engine: it does one job and prints what came of it as JSON.

Started as `python fleet_worker.py URL JOB NAME`; it prints `ready`, then waits for the value `go`.
"""

import asyncio
import json
import os
import random
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.claims import Claim, LimitPart
from mcp_binance_server.state.engine import CallKind
from mcp_binance_server.state.redis import RedisEngine

LIMIT = 2000
MINUTES = 10
MIDDLE_MS = 29_743_202 * 60_000 + 30_000
CAP = 400
CLAIMS, CENTS, MOST_CENTS = 300, 500, 50_000
CLOCK = SystemClock()
KINDS: tuple[CallKind, ...] = ("order", "private", "public")


async def spend(engine: RedisEngine, url: str, name: str) -> dict[str, Any]:
    """Spend ten minutes with two engines, each until it was refused often, and report what was granted in each."""
    other = RedisEngine.from_url(url)
    await other.start()
    chance = random.Random(name)
    granted = [0] * MINUTES

    async def use(each: RedisEngine, minute: int) -> None:
        refused = 0
        while refused < 10:
            cost = chance.choice((1, 2, 5, 20, 50))
            now_ms = MIDDLE_MS + minute * 60_000
            if await each.acquire_weight("ip", chance.choice(KINDS), cost, limit=LIMIT, now_ms=now_ms):
                granted[minute] += cost
            else:
                refused += 1

    for minute in range(MINUTES):
        await asyncio.gather(use(engine, minute), use(other, minute))
    await other.close()
    return {"granted": granted}


async def admit(engine: RedisEngine, _: str, name: str) -> dict[str, Any]:
    """Ask for 250 places at once, and report which were given."""
    tries = [engine.admit("sessions", f"{name}-{number}", ttl_ms=60_000, cap=CAP) for number in range(250)]
    return {"admitted": sum(admission.admitted for admission in await asyncio.gather(*tries))}


async def claim(engine: RedisEngine, _: str, name: str) -> dict[str, Any]:
    """Claim orders of its own, which use the day up, and those that all others claim too; report both, and the pace."""
    day = (LimitPart("per_day", "day", CENTS, MOST_CENTS, returns=True), LimitPart("orders_per_day", "day", 1, None))
    began_ms = CLOCK.monotonic_ms()
    own = [await engine.reserve("own", Claim(f"{name}-{number}", b"v", MIDDLE_MS, day)) for number in range(CLAIMS)]
    took_ms = CLOCK.monotonic_ms() - began_ms
    same = [await engine.reserve("same", Claim(str(number), name.encode(), MIDDLE_MS, ())) for number in range(CLAIMS)]
    return {"own": sum(map(bool, own)), "same": sum(map(bool, same)), "took_ms": took_ms}


def _note(calls: Path) -> None:
    with calls.open("a", encoding="utf-8") as file:
        file.write("called\n")


async def fly(engine: RedisEngine, _: str, name: str) -> dict[str, Any]:
    """Let 50 callers want one answer that waits for the value `land`; a production leaves a line in the file NAME."""

    async def produce() -> bytes:
        _note(Path(name))
        while await engine.get("land") is None:
            await CLOCK.sleep_ms(5)
        return b"answer"

    wanted = [
        asyncio.create_task(engine.single_flight("answer", produce, ttl_ms=60_000, lock_ms=60_000)) for _ in range(50)
    ]
    await CLOCK.sleep_ms(100)
    print("waiting", flush=True)  # noqa: T201 - the parent reads it
    return {"answers": [answer.decode() for answer in await asyncio.gather(*wanted)]}


async def hang(engine: RedisEngine, _: str, name: str) -> dict[str, Any]:
    """Begin to produce and never end; the parent ends this process in the middle."""

    async def produce() -> bytes:
        print("producing", flush=True)  # noqa: T201 - the parent reads it
        await CLOCK.sleep_ms(60_000)
        return b"never"

    return {"answer": (await engine.single_flight(name, produce, ttl_ms=0, lock_ms=600)).decode()}


async def lead(engine: RedisEngine, _: str, name: str) -> dict[str, Any]:
    """Take a lease once, then write under it without ever looking at the time, fenced and plain."""
    lease = await engine.lease("books", name, ttl_ms=300)
    assert lease is not None
    outcomes: list[str] = []
    print("leading", flush=True)  # noqa: T201 - the parent reads it
    while True:
        try:
            if await engine.get("enough") is not None:
                return {"outcomes": outcomes}
            outcomes.append((await engine.put_fenced("fenced", b"old", lease=lease, ttl_ms=60_000)).value)
            await engine.put("plain", b"old", ttl_ms=60_000)
        except EngineUnavailable:  # the time of a call was over while this process was frozen
            await CLOCK.sleep_ms(5)


Job = Callable[[RedisEngine, str, str], Awaitable[dict[str, Any]]]
JOBS: dict[str, Job] = {"spend": spend, "admit": admit, "fly": fly, "claim": claim, "hang": hang, "lead": lead}


async def main(url: str, job: str, name: str) -> None:
    engine = RedisEngine.from_url(url)
    await engine.start()
    print("ready", flush=True)  # noqa: T201 - the parent reads it
    while await engine.get("go") is None:
        await CLOCK.sleep_ms(5)
    done = await JOBS[job](engine, url, name)
    await engine.close()
    print(json.dumps({"pid": os.getpid(), **done}), flush=True)  # noqa: T201 - the parent reads it


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
