"""Every call of an engine, to be made while something is wrong with its server."""

import asyncio
from collections.abc import Awaitable, Callable

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.claims import Claim, ClaimNews
from mcp_binance_server.state.engine import Lease, StateEngine
from mcp_binance_server.state.logs import LogMark
from support.stolen import stolen

CLOCK = SystemClock()
MIDDLE_MS = 29_743_202 * 60_000 + 30_000
LEASE = Lease("books", "a", "1", 1500)
NEWS = ClaimNews("k", b"v", 1, settled=False)
Call = Callable[[StateEngine], Awaitable[object]]


async def _value() -> bytes:
    return b"v"


async def _subscribe(engine: StateEngine) -> None:
    async with engine.subscribe("c"):
        pass


READS: dict[str, Call] = {
    "get": lambda engine: engine.get("k"),
    "read_weight": lambda engine: engine.read_weight("ip", now_ms=MIDDLE_MS),
    "members": lambda engine: engine.members("p"),
    "shelved": lambda engine: engine.shelved("s", "k"),
    "on_shelf": lambda engine: engine.on_shelf("s"),
    "find_claim": lambda engine: engine.find_claim("a", "k"),
    "read_log": lambda engine: engine.read_log("l", after=LogMark()),
}
WRITES: dict[str, Call] = {
    "put": lambda engine: engine.put("k", b"v", ttl_ms=1000),
    "shelve": lambda engine: engine.shelve("s", "k", b"v", ttl_ms=1000, most_bytes=10),
    "lease": lambda engine: engine.lease("books", "a", ttl_ms=1000),
    "single_flight": lambda engine: engine.single_flight("f", _value, ttl_ms=0, lock_ms=1000),
    "acquire_weight": lambda engine: engine.acquire_weight("other", "public", 1, limit=1000, now_ms=MIDDLE_MS),
    "stop_weight": lambda engine: engine.stop_weight("third", ms=1, reason="429"),
}
OTHERS: dict[str, Call] = {
    "take_share": lambda engine: engine.take_share("p", "s", party="ann", ttl_ms=1000, cap=5, newcomers=1),
    "admit": lambda engine: engine.admit("p", "m", ttl_ms=1000, cap=5),
    "reserve": lambda engine: engine.reserve("a", Claim("k", b"v", MIDDLE_MS, ())),
    "depart": lambda engine: engine.depart("a", NEWS),
    "tell": lambda engine: engine.tell("a", NEWS),
    "recount": lambda engine: engine.recount("a", ()),
    "account_book": lambda engine: engine.account_book("a", now_ms=MIDDLE_MS, since_ms=MIDDLE_MS),
    "stop_account": lambda engine: engine.stop_account("a", "why", since_ms=MIDDLE_MS),
    "resume_account": lambda engine: engine.resume_account("a", now_ms=MIDDLE_MS),
    "append_log": lambda engine: engine.append_log("l", b"v", after=LogMark(), tag="0" * 32, ttl_ms=1000),
    "trim_log": lambda engine: engine.trim_log("l", b"v", at=LogMark(1, "0" * 32), ttl_ms=1000),
    "report_weight": lambda engine: engine.report_weight("other", 1, minute=MIDDLE_MS // 60_000),
    "delete": lambda engine: engine.delete("k"),
    "release": lambda engine: engine.release(LEASE),
    "put_fenced": lambda engine: engine.put_fenced("k", b"v", lease=LEASE, ttl_ms=1000, channel="c"),
    "publish": lambda engine: engine.publish("c", b"m"),
    "subscribe": _subscribe,
    "touch": lambda engine: engine.touch("p", "m", ttl_ms=1000),
    "leave": lambda engine: engine.leave("p", "m"),
}
CALLS = {**READS, **WRITES, **OTHERS}


async def outcomes(engine: StateEngine, calls: dict[str, Call]) -> dict[str, str]:
    """Make all calls at once and say how each ended; none may take longer than promised."""
    took: list[float] = []

    async def end(call: Call) -> str:
        began = CLOCK.monotonic_ms()
        try:
            await call(engine)
        except EngineUnavailable:
            return "unavailable"
        finally:
            took.append(CLOCK.monotonic_ms() - began)
        return "answered"

    async with stolen() as late:
        ended = await asyncio.gather(*(end(call) for call in calls.values()))
    assert max(took) < 1_000 + late.ms, "a second is promised"
    return dict(zip(calls, ended, strict=True))


async def is_answered(engine: StateEngine) -> bool:
    """Tell whether the engine reaches its server."""
    try:
        await engine.get("anything")
    except EngineUnavailable:
        return False
    return True
