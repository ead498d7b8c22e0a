"""Everything that can go wrong on the way, one at a time, and over when it is over."""

from collections.abc import Awaitable, Callable
from decimal import Decimal

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

Get = Callable[[str], Awaitable[httpx2.Response]]


async def test_an_error_answer_strikes_its_path_as_often_as_told(get: Get, exchange: SimulatedExchange) -> None:
    exchange.faults.add(
        Fault(kind="status", path="/api/v3/time", times=2, status=503, code=-1008, msg="Server is busy.")
    )

    statuses = [(await get(path)).status_code for path in ("ping", "time", "ping", "time", "time")]

    assert statuses == [200, 503, 200, 503, 200]
    assert exchange.faults.pending() == []


async def test_an_error_answer_carries_its_code_its_headers_and_the_weight(
    get: Get, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", status=503, code=-1007, msg="Unknown.", headers={"X-Where": "edge"}))

    answer = await get("exchangeInfo")

    assert (answer.status_code, answer.json()) == (503, {"code": -1007, "msg": "Unknown."})
    assert (answer.headers["x-where"], answer.headers["x-mbx-used-weight-1m"]) == ("edge", "20")


@pytest.mark.parametrize(("headers", "wait"), [({"Retry-After": "7"}, "7"), ({}, "57")])
async def test_a_refusal_to_serve_says_how_long_to_wait(
    get: Get, exchange: SimulatedExchange, headers: dict[str, str], wait: str
) -> None:
    exchange.faults.add(Fault(kind="status", status=429, code=-1003, msg="Too much.", headers=headers))

    assert (await get("ping")).headers["retry-after"] == wait


async def test_an_error_answer_may_be_a_page(get: Get, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", status=403, body="<html>403 Forbidden</html>"))

    answer = await get("ping")

    assert (answer.status_code, answer.text) == (403, "<html>403 Forbidden</html>")
    assert answer.headers["content-type"] == "text/html"


async def test_a_pattern_strikes_many_paths_until_it_is_cleared(get: Get, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", path="/api/v3/t*", times=None))

    struck = [(await get(path)).status_code for path in ("time", "trades?symbol=BTCUSDT", "time", "ping")]
    exchange.faults.clear()

    assert struck == [500, 500, 500, 200]
    assert (await get("time")).status_code == 200


async def test_a_delayed_answer_is_true_when_it_leaves(get: Get, exchange: SimulatedExchange, clock: FakeClock) -> None:
    asked_ms = clock.now_ms()
    exchange.faults.add(Fault(kind="delay", delay_ms=2500))

    answer = await get("time")

    assert answer.json()["serverTime"] == asked_ms + 2500
    assert clock.slept_ms == [2500]


@pytest.mark.parametrize("kind", ["cut_before", "cut_within"])
async def test_a_cut_connection_fails_the_client(get: Get, exchange: SimulatedExchange, kind: str) -> None:
    exchange.faults.add(Fault(kind="cut_before") if kind == "cut_before" else Fault(kind="cut_within"))

    with pytest.raises(ConnectionResetError):
        await get("exchangeInfo")

    assert exchange.requests[0].status == (0 if kind == "cut_before" else 200)
    assert (await get("ping")).status_code == 200


async def test_a_page_instead_of_data(get: Get, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="html"))

    answer = await get("time")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html")
    assert answer.text.startswith("<html>")


async def test_half_of_the_json(get: Get, exchange: SimulatedExchange) -> None:
    whole = (await get("ticker/24hr?symbol=BTCUSDT")).content
    exchange.faults.add(Fault(kind="truncated"))

    answer = await get("ticker/24hr?symbol=BTCUSDT")

    assert answer.content == whole[: len(whole) // 2]
    assert answer.headers["content-length"] == str(len(answer.content))


async def test_no_body_at_all(get: Get, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="empty"))

    answer = await get("time")

    assert (answer.status_code, answer.content) == (200, b"")


async def test_the_wrong_content_type(get: Get, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="content_type"))

    answer = await get("ping")

    assert (answer.headers["content-type"], answer.text) == ("text/plain", "{}")


async def test_a_compressed_body_is_announced_and_can_be_read(get: Get, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="gzip"))

    answer = await get("exchangeInfo")

    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 20_000
    assert len(answer.json()["symbols"]) == 45


async def test_a_body_that_only_pretends_to_be_compressed_cannot_be_read(get: Get, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="false_gzip"))

    with pytest.raises(httpx2.DecodingError):
        await get("time")


async def test_a_huge_body_is_valid_json(get: Get, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="huge", size=1_000_000))

    answer = await get("time")

    assert len(answer.content) == 1_000_000
    assert answer.json().startswith("xxx")


async def test_a_dripping_body_takes_its_time_and_arrives_whole(
    get: Get, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.faults.add(Fault(kind="drip", delay_ms=40))

    answer = await get("ticker/price?symbol=BTCUSDT")

    assert Decimal(answer.json()["price"]) > 0
    assert clock.slept_ms == [40] * len(answer.content)


async def test_a_body_drips_in_pieces_of_the_size_asked_for(
    get: Get, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.faults.add(Fault(kind="drip", piece=30, delay_ms=40))

    answer = await get("ticker/price?symbol=BTCUSDT")

    assert Decimal(answer.json()["price"]) > 0
    assert clock.slept_ms == [40] * -(-len(answer.content) // 30)


async def test_spoilt_errors_are_spoilt_too(get: Get, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="empty"))

    answer = await get("depth?symbol=NOSUCH")

    assert (answer.status_code, answer.content) == (400, b"")
