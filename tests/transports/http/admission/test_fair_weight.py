"""One caller spends all the request weight it can: the others, known by their tokens, are answered all the same."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App
from support.clock import FakeClock
from support.holders import Holders
from support.webapp import HttpClient, OpenHttp

CROWD = tuple(f"modest-{number}" for number in range(10))
# A small limit is soon spent. Of nine tenths of it half is kept for account calls.
LIMIT, PUBLIC = 1_200, 540


@pytest.fixture
def holders(tmp_path: Path) -> Holders:
    return Holders(tmp_path / "tokens", "mallory", "bob", *CROWD)


@pytest.fixture
async def http(
    app: App, open_http: OpenHttp, holders: Holders, clock: FakeClock, exchange: SimulatedExchange
) -> AsyncIterator[HttpClient]:
    exchange.weight_limit = LIMIT
    await app.market.directory.table()
    clock.advance(60_000 - clock.now_ms() % 60_000 + 10_000)
    async with open_http(authentication=holders.authentication(clock)) as client:
        yield client


Call = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def call(http: HttpClient, holders: Holders) -> Call:
    async def called(who: str, name: str, **arguments: object) -> dict[str, Any]:
        answer = await http.modern("tools/call", {"name": name, "arguments": arguments}, **holders.bearer(who))
        told: dict[str, Any] = answer.json()["result"]
        return told

    return called


async def spend_all(call: Call, who: str) -> dict[str, Any]:
    """Ask for something else each time until that is refused, the dearest first; return the first refusal."""
    refusals: list[dict[str, Any]] = []
    for name, more in (("get_recent_trades", {}), ("get_klines", {"interval": "1m"})):
        for limit in count(1):
            told = await call(who, name, symbol="BTCUSDT", limit=limit, **more)
            if told["isError"]:
                refusals.append(told)
                break
    return refusals[0]


def spent(exchange: SimulatedExchange) -> int:
    return sum(
        request.weight for request in exchange.requests if request.at_ms // 60_000 == exchange.now_ms() // 60_000
    )


@pytest.mark.night
@pytest.mark.slow
async def test_who_comes_when_another_has_spent_everything_is_answered(call: Call, exchange: SimulatedExchange) -> None:
    refused = await spend_all(call, "mallory")

    asked = [("get_ticker", {"symbol": "SOLUSDT"}), ("get_klines", {"symbol": "ETHUSDT", "interval": "1h"})]
    answers = [await call("bob", name, **arguments) for name, arguments in asked]

    told = refused["structuredContent"]
    assert [answer["isError"] for answer in answers] == [False, False]
    assert PUBLIC * 9 // 10 - 1 <= spent(exchange) - 4 <= PUBLIC * 9 // 10
    assert (told["error_type"], told["retryable"], told["weight_share"]) == ("rate_limited", True, PUBLIC // 2)
    assert PUBLIC - PUBLIC // 10 - 25 < told["own_weight"] <= PUBLIC - PUBLIC // 10
    assert 1 <= told["retry_after_secs"] <= 51
    assert told["error"].startswith("Rate limit exceeded. Please wait ")
    assert told["error"].endswith("the rest is reserved for other callers.")
    assert f"{told['own_weight']} of request weight" in refused["content"][0]["text"]


@pytest.mark.slow
@pytest.mark.night
async def test_ten_modest_callers_are_never_refused_beside_one_who_takes_all_it_can(
    call: Call, clock: FakeClock
) -> None:
    refusals: list[dict[str, Any]] = []

    async def modest(who: str, limit: int) -> None:
        told = await call(who, "get_klines", symbol="ETHUSDT", interval="1h", limit=limit)
        refusals.extend([told] if told["isError"] else [])

    for minute in range(2):
        await spend_all(call, "mallory")
        async with anyio.create_task_group() as group:
            for number, who in enumerate(CROWD):
                group.start_soon(modest, who, 100 * minute + number + 1)
        clock.advance(60_000)

    assert refusals == []


@pytest.mark.slow
@pytest.mark.night
async def test_whoever_waits_for_the_read_of_one_who_is_refused_asks_for_itself(call: Call) -> None:
    await spend_all(call, "mallory")
    answers: dict[str, bool] = {}

    async def ask(who: str) -> None:
        answers[who] = (await call(who, "get_klines", symbol="BNBUSDT", interval="1h"))["isError"]

    async with anyio.create_task_group() as group:
        for who in ("mallory", "bob", *CROWD):
            group.start_soon(ask, who)

    assert answers == {"mallory": True, **dict.fromkeys(("bob", *CROWD), False)}


@pytest.mark.slow
@pytest.mark.night
async def test_readiness_is_not_touched_by_a_share_that_is_used_up(call: Call, http: HttpClient) -> None:
    await spend_all(call, "mallory")

    ready = await http.get("/readyz")

    assert (ready.status_code, ready.json()["upstream"]) == (200, "ok")
