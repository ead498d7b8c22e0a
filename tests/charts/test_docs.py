"""The documentation is fetched once a day, kept, lived with when old, and never missing."""

import gzip
import logging
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio
import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.charts.catalogue import bundled_catalogue
from mcp_binance_server.charts.chartimg.docs import BUNDLED_AT_MS, BUNDLED_EXAMPLES
from support.charts import chart_desk, paths
from support.clock import FakeClock
from support.requirement import requirement

HOUR_MS = 3_600_000
DOWN = Fault(kind="status", path="/chart-docs", status=503, times=None)


async def test_what_was_fetched_is_kept_for_a_day(exchange: SimulatedExchange, clock: FakeClock) -> None:
    async with chart_desk(exchange, clock) as desk:
        first = await desk.docs.read()
        clock.advance(24 * HOUR_MS - 1)
        second = await desk.docs.read()
        clock.advance(1)
        third = await desk.docs.read()

    assert [each.source for each in (first, second, third)] == ["live", "cache", "live"]
    assert first.at_ms == second.at_ms == third.at_ms - 24 * HOUR_MS
    assert first.value.catalogue == bundled_catalogue()
    assert second.value is first.value
    assert paths(exchange) == ["/chart-docs"] * 2


@pytest.mark.slow
async def test_a_forced_refresh_passes_over_what_is_kept(exchange: SimulatedExchange, clock: FakeClock) -> None:
    async with chart_desk(exchange, clock) as desk:
        await desk.docs.read()
        clock.advance(1_000)
        forced = await desk.docs.read(force=True)
        after = await desk.docs.read()

    assert (forced.source, after.source) == ("live", "cache")
    assert forced.at_ms == after.at_ms
    assert len(exchange.requests) == 2


@requirement("charts/fetch_chart_documentation/fallback")
async def test_an_old_copy_is_answered_when_the_page_cannot_be_fetched(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with chart_desk(exchange, clock) as desk:
        fetched = await desk.docs.read()
        clock.advance(10 * 24 * HOUR_MS)
        exchange.faults.add(DOWN)
        old = await desk.docs.read()

    assert (old.source, old.at_ms) == ("stale", fetched.at_ms)
    assert old.warning is not None
    assert "HTTP 503" in old.warning


async def test_a_forced_refresh_that_fails_answers_the_copy(exchange: SimulatedExchange, clock: FakeClock) -> None:
    async with chart_desk(exchange, clock) as desk:
        await desk.docs.read()
        exchange.faults.add(DOWN)
        forced = await desk.docs.read(force=True)
        after = await desk.docs.read()

    assert (forced.source, after.source) == ("stale", "cache")


async def test_without_any_copy_the_bundled_one_is_answered(exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.faults.add(DOWN)

    async with chart_desk(exchange, clock) as desk:
        held = await desk.docs.read()

    assert (held.source, held.at_ms) == ("bundled", BUNDLED_AT_MS)
    assert held.value.catalogue is bundled_catalogue()
    assert held.value.examples == BUNDLED_EXAMPLES
    assert held.warning is not None
    assert datetime.fromtimestamp(BUNDLED_AT_MS / 1000, UTC).isoformat() == "2025-11-26T00:00:00+00:00"


async def test_a_failed_refresh_is_not_repeated_for_a_minute_forced_or_not(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.faults.add(DOWN)

    async with chart_desk(exchange, clock) as desk:
        for _ in range(3):
            assert (await desk.docs.read()).source == "bundled"
        await desk.docs.read(force=True)
        asked = len(paths(exchange))
        exchange.faults.clear()
        clock.advance(59_999)
        early = await desk.docs.read()
        clock.advance(1)
        late = await desk.docs.read()

    assert asked == 1
    assert (early.source, late.source) == ("bundled", "live")


async def test_fifty_who_ask_at_once_cause_one_request(exchange: SimulatedExchange, clock: FakeClock) -> None:
    sources: list[str] = []

    async with chart_desk(exchange, clock) as desk:

        async def ask() -> None:
            sources.append((await desk.docs.read()).source)

        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(ask)

    assert sources == ["live"] * 50
    assert paths(exchange) == ["/chart-docs"]


@dataclass
class Served(httpx2.AsyncBaseTransport):
    """A network where every address answers the same."""

    status: int
    headers: dict[str, str]
    body: bytes
    calls: int = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert request.headers["accept-encoding"] == "identity"
        self.calls += 1
        return httpx2.Response(self.status, headers=self.headers, stream=httpx2.ByteStream(self.body))


HTML = {"content-type": "text/html"}


@pytest.mark.parametrize(
    ("transport", "reason"),
    [
        (Served(200, HTML, b"<p>" * 2_000_000), "larger than"),
        (Served(200, HTML | {"content-encoding": "gzip"}, gzip.compress(bytes(10**8), 1)), "compressed"),
        (Served(302, {"location": "http://elsewhere.test/"}, b""), "HTTP 302"),
        (Served(200, {"content-type": "application/json"}, b"{}"), "no documentation"),
        (Served(200, HTML, b"<div>" * 200_000 + b"</html>"), "tags"),
        (Served(200, HTML, b"\xff\xfe</html>"), "0 indicators"),
        (Served(200, HTML, b""), "cut off"),
    ],
    ids=["five megabytes", "a bomb", "a redirect", "JSON", "nested tags", "no text", "nothing"],
)
async def test_a_page_that_is_not_the_page_is_not_believed(
    exchange: SimulatedExchange, clock: FakeClock, transport: Served, reason: str
) -> None:
    async with chart_desk(exchange, clock, transport=transport) as desk:
        held = await desk.docs.read()

    assert held.source == "bundled"
    assert held.warning is not None
    assert reason in held.warning
    assert transport.calls == 1


async def test_a_page_that_changed_changes_what_is_known_here(exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.charts.page = exchange.charts.documentation.replace("<h2>VWMA</h2>", "<h2>Volume Moon</h2>")

    async with chart_desk(exchange, clock) as desk:
        before = desk.docs.catalogue()
        await desk.docs.read()
        after = desk.docs.catalogue()

    assert before is bundled_catalogue()
    assert before.indicator("Volume Moon") is None
    assert after.indicator("Volume Moon") is not None


@requirement("charts/fetch_chart_documentation/log")
async def test_whether_the_copy_was_used_is_logged(
    exchange: SimulatedExchange, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="mcp_binance_server")

    async with chart_desk(exchange, clock) as desk:
        await desk.docs.read()
        await desk.docs.read()

    assert caplog.text.count("cache miss: charts:documentation") == 1
    assert caplog.text.count("cache hit: charts:documentation") == 1
