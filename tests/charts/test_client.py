"""The chart-img client against the simulated service: what it sends, believes, repeats, learns and refuses."""

import json
import logging
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.charts.chartimg.client import fitting_size
from mcp_binance_server.charts.errors import (
    ChartKeyRefused,
    ChartLimitReached,
    ChartRefused,
    ChartServiceError,
    ChartUnavailable,
    InvalidChartConfig,
)
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.errors import AppError
from support.charts import chart_desk, paths
from support.clock import FakeClock
from support.desk import Loop
from support.requirement import requirement

CHART = "/v2/tradingview/advanced-chart"
STORAGE = f"{CHART}/storage"
BODY = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "width": 1200, "height": 675, "format": "png"}


class Recorded(Loop):
    """The service, and what was sent to it, headers and all."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        super().__init__(exchange)
        self.sent: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        return await super().handle_async_request(request)


@requirement("charts/generate_chart_image/endpoints", "charts/generate_chart_image/key")
async def test_an_image_is_posted_with_the_key_in_a_header_and_nowhere_else(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    transport = Recorded(exchange)

    async with chart_desk(exchange, clock, transport=transport) as desk:
        drawn = await desk.client.draw(BODY)
        stored = await desk.client.store(BODY)

    key = exchange.charts.api_key
    assert [(each.method, each.url.path, each.headers["x-api-key"]) for each in transport.sent] == [
        ("POST", CHART, key),
        ("POST", STORAGE, key),
    ]
    assert all(key not in str(each.url) and key.encode() not in each.content for each in transport.sent)
    assert exchange.charts.bodies == [BODY, BODY]
    assert (drawn.image.format, drawn.image.width, drawn.image.height) == ("png", 1200, 675)
    assert drawn.data.startswith(b"\x89PNG")
    assert (drawn.status, drawn.images_left, drawn.warnings) == (200, 499, ())
    assert stored.url.startswith("http://charts.test/r2/")
    assert (stored.expires_at, stored.width, stored.height) == ("2026-08-20T00:02:03.000Z", 1200, 675)
    assert stored.images_left == 498


async def test_a_jpeg_is_believed_when_it_is_one(exchange: SimulatedExchange, clock: FakeClock) -> None:
    async with chart_desk(exchange, clock) as desk:
        drawn = await desk.client.draw({**BODY, "format": "jpeg"})

    assert (drawn.image.format, drawn.image.width, drawn.image.height) == ("jpeg", 1200, 675)


async def test_what_the_service_tells_of_the_day_beats_our_count(exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.charts.tells_remaining = True
    exchange.charts.daily_limit = 40

    async with chart_desk(exchange, clock) as desk:
        drawn = await desk.client.draw(BODY)

    assert drawn.images_left == 39


@pytest.mark.parametrize(
    ("status", "body", "refusal"),
    [
        (400, '{"error": "Bad Request"}', (InvalidChartConfig, "config: Bad Request")),
        (401, '{"message": "Invalid Request"}', (ChartKeyRefused, "CHART_IMG_API_KEY")),
        (403, '{"message": "Exceed Max Usage Parameter Limit (3)"}', (ChartRefused, "Parameter Limit (3)")),
        (403, '{"message": "Layout Forbidden"}', (ChartRefused, "Layout Forbidden")),
        (403, "<html>403 from a proxy</html>", (ChartRefused, "HTTP 403")),
        (404, '{"message": "Route Not Found"}', (ChartRefused, "Route Not Found")),
        (409, '{"message": "Session Disconnected"}', (ChartRefused, "Session Disconnected")),
        (422, '{"message": "Invalid Symbol"}', (InvalidChartConfig, "symbol: Invalid Symbol")),
        (422, '[{"msg": "must be a supported interval", "param": "interval"}]', (InvalidChartConfig, "interval: must")),
        (422, '{"errors": [{"msg": "no", "param": "range"}]}', (InvalidChartConfig, "range: no")),
        (505, "<html><h1>Version Not Supported</h1></html>", (ChartUnavailable, "HTTP 505")),
        (302, "", (ChartRefused, "HTTP 302")),
        (204, "", (ChartRefused, "HTTP 204")),
        (429, '{"message": "Limit Exceeded"}', (ChartLimitReached, "86277 seconds")),
    ],
)
async def test_a_refusal_is_told_plainly_and_asked_once(
    exchange: SimulatedExchange, clock: FakeClock, status: int, body: str, refusal: tuple[type[AppError], str]
) -> None:
    expected, words = refusal
    exchange.faults.add(Fault(kind="status", path=CHART, status=status, body=body))

    async with chart_desk(exchange, clock) as desk:
        with pytest.raises(expected) as caught:
            await desk.client.draw(BODY)

    assert words in f"{caught.value.message} {caught.value.data()['recovery_suggestion']}" + str(
        caught.value.data().get("explanation", "")
    )
    assert "<" not in caught.value.message
    assert paths(exchange) == [CHART]


@requirement("charts/error-validation")
async def test_a_body_that_is_not_understood_is_explained_by_field(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with chart_desk(exchange, clock) as desk:
        with pytest.raises(InvalidChartConfig) as caught:
            await desk.client.draw({**BODY, "interval": "7h", "indicators": []})

    assert caught.value.message == "Invalid configuration"
    assert caught.value.data()["details"] == [
        {"field": "indicators", "message": "must be a supported parameter"},
        {"field": "interval", "message": "must be a supported interval"},
    ]


@requirement("charts/error-authentication")
@pytest.mark.parametrize("key", [None, "wrong", "sch\u00f6n", "two\nlines"])
async def test_a_key_that_is_missing_or_refused_is_told_with_the_name_of_its_variable(
    exchange: SimulatedExchange, clock: FakeClock, key: str | None
) -> None:
    async with chart_desk(exchange, clock, key=key) as desk:
        with pytest.raises(ChartKeyRefused) as caught:
            await desk.client.draw(BODY)

    assert caught.value.message == "Invalid API key. Check CHART_IMG_API_KEY environment variable."
    assert len(exchange.requests) == (1 if key == "wrong" else 0)


# What the service says with each failure that may pass, and what a caller is told of it.
PASSING = [
    (429, '{"message": "Too Many Requests"}', (ChartLimitReached, "Rate limit exceeded")),
    (500, '{"message": "Something Went Wrong"}', (ChartUnavailable, "Something Went Wrong")),
    (501, '{"message": "Not Implemented"}', (ChartUnavailable, "Not Implemented")),
    (502, "<html><h1>Bad Gateway</h1></html>", (ChartUnavailable, "HTTP 502")),
    (503, "", (ChartUnavailable, "HTTP 503")),
    (504, '{"message": "Endpoint request timed out"}', (ChartUnavailable, "timed out")),
]


def pauses(clock: FakeClock) -> list[float]:
    """Return how long we waited; the simulator yields for no time at all."""
    return [each for each in clock.slept_ms if each]


def grow(waited: list[float]) -> bool:
    """Whether each pause is within a bound that doubles, as full jitter has it."""
    return all(0 <= pause <= 500 * 2**place for place, pause in enumerate(waited))


@requirement("charts/recover-rate-limit", "charts/generate_chart_image/retries")
@pytest.mark.parametrize("status", [status for status, _, _ in PASSING])
async def test_a_failure_that_passes_is_tried_again_after_pauses_that_grow(
    exchange: SimulatedExchange, clock: FakeClock, status: int
) -> None:
    exchange.faults.add(Fault(kind="status", path=CHART, status=status, times=3))

    async with chart_desk(exchange, clock) as desk:
        drawn = await desk.client.draw(BODY)
        # A failure of the service may have drawn something; what came too fast has not.
        assert await desk.limiter.images_left() == (499 if status == 429 else 496)

    assert drawn.status == 200
    assert [request.status for request in exchange.requests] == [status] * 3 + [200]
    assert (len(pauses(clock)), grow(pauses(clock))) == (3, True)


@requirement("charts/generate_chart_image/retries")
@pytest.mark.parametrize(("status", "body", "told"), PASSING)
async def test_a_failure_that_lasts_is_tried_four_times_and_told_plainly(
    exchange: SimulatedExchange, clock: FakeClock, status: int, body: str, told: tuple[type[AppError], str]
) -> None:
    expected, words = told
    exchange.faults.add(Fault(kind="status", path=CHART, status=status, body=body, times=None))

    async with chart_desk(exchange, clock) as desk:
        with pytest.raises(expected) as caught:
            await desk.client.draw(BODY)

    assert words in caught.value.message
    assert "<" not in caught.value.message
    assert [request.status for request in exchange.requests] == [status] * 4


async def test_a_list_is_tried_again_too(exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.faults.add(Fault(kind="status", path="*/exchange/list", status=502, times=2))
    exchange.faults.add(Fault(kind="cut_before", path="*/exchange/list", times=1))

    async with chart_desk(exchange, clock) as desk:
        found = await desk.client.exchanges()
        assert await desk.limiter.images_left() == 500

    assert "BINANCE" in found
    assert len(exchange.requests) == 4


async def test_a_day_with_one_image_left_makes_one_attempt(exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.faults.add(Fault(kind="status", path=CHART, status=500, times=1))

    async with chart_desk(exchange, clock) as desk:
        for _ in range(499):
            await desk.limiter.book_image()
        with pytest.raises(ChartUnavailable, match="Something Went Wrong"):
            await desk.client.draw(BODY)

    assert len(exchange.requests) == 1


@requirement("charts/error-rate-limit")
async def test_too_fast_for_too_long_is_told_with_the_seconds_to_wait(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.faults.add(Fault(kind="status", path=CHART, status=429, times=None))

    async with chart_desk(exchange, clock) as desk:
        with pytest.raises(ChartLimitReached) as caught:
            await desk.client.draw(BODY)

    assert len(exchange.requests) == 4
    assert caught.value.message == "Rate limit exceeded. Try again in 60 seconds."
    assert caught.value.data()["retryAfter"] == 60


@requirement("ruling/45")
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("told", "requests"),
    [("2", 2), ("25", 2), ("26", 1), ("60", 1), ("99999999999", 1), ("9" * 5000, 2), ("soon", 2)],
    ids=lambda value: str(value)[:12],
)
async def test_a_told_wait_is_kept_for_half_a_minute_and_a_longer_one_answered(
    exchange: SimulatedExchange, clock: FakeClock, status: int, told: str, requests: int
) -> None:
    exchange.faults.add(Fault(kind="status", path=CHART, status=status, headers={"Retry-After": told}))

    async with chart_desk(exchange, clock) as desk:
        if requests == 2:
            await desk.client.draw(BODY)
        else:
            with pytest.raises(ChartServiceError) as caught:
                await desk.client.draw(BODY)
            assert isinstance(caught.value, ChartLimitReached) is (status == 429)
            if isinstance(caught.value, ChartLimitReached):
                assert caught.value.retry_after_secs == min(int(told), 600)
                with pytest.raises(ChartLimitReached):
                    await desk.client.draw(BODY)

    assert len(exchange.requests) == requests
    assert (pauses(clock) == []) is (requests == 1)
    if told in {"2", "25"}:
        assert int(told) * 1000 in clock.slept_ms


@requirement("ruling/45")
async def test_slow_failures_are_not_repeated_for_longer_than_half_a_minute(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    class Slow(Loop):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            clock.advance(12_000)
            return await super().handle_async_request(request)

    exchange.faults.add(Fault(kind="status", path=CHART, status=500, times=None))
    began_ms = clock.monotonic_ms()

    async with chart_desk(exchange, clock, transport=Slow(exchange)) as desk:
        with pytest.raises(ChartUnavailable):
            await desk.client.draw(BODY)

    assert len(exchange.requests) == 3
    assert clock.monotonic_ms() - began_ms <= 45_000


class Broken(httpx2.AsyncBaseTransport):
    """A network that fails in one way so many times, and then leads to the service."""

    def __init__(self, exchange: SimulatedExchange, error: Exception, times: int) -> None:
        self._service, self._error, self._left = Loop(exchange), error, times
        self.calls = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.calls += 1
        self._left -= 1
        if self._left >= 0:
            raise self._error
        return await self._service.handle_async_request(request)


@requirement("charts/recover-network")
@pytest.mark.parametrize("error", [httpx2.ConnectError("no"), httpx2.ConnectTimeout("no"), httpx2.PoolTimeout("no")])
async def test_what_was_not_sent_is_sent_again_three_times_at_most(
    exchange: SimulatedExchange, clock: FakeClock, error: Exception
) -> None:
    passing, lasting = Broken(exchange, error, 3), Broken(exchange, error, 99)

    async with chart_desk(exchange, clock, transport=passing) as desk:
        await desk.client.draw(BODY)
    async with chart_desk(exchange, clock, transport=lasting) as desk:
        with pytest.raises(ChartUnavailable, match="not sent"):
            await desk.client.draw(BODY)
        assert await desk.limiter.images_left() == 500

    assert (passing.calls, lasting.calls) == (4, 4)


@requirement("charts/recover-network")
@pytest.mark.parametrize(
    "error", [httpx2.ReadError("cut"), httpx2.WriteError("cut"), httpx2.RemoteProtocolError("cut")]
)
async def test_what_broke_off_is_sent_again_three_times_at_most_and_counts(
    exchange: SimulatedExchange, clock: FakeClock, error: Exception
) -> None:
    passing, lasting = Broken(exchange, error, 3), Broken(exchange, error, 99)

    async with chart_desk(exchange, clock, transport=passing) as desk:
        await desk.client.draw(BODY)
        assert await desk.limiter.images_left() == 496
    waited = pauses(clock)
    async with chart_desk(exchange, clock, transport=lasting) as desk:
        with pytest.raises(ChartUnavailable, match="connection failed"):
            await desk.client.draw(BODY)

    assert (passing.calls, lasting.calls) == (4, 4)
    assert (len(waited), grow(waited)) == (3, True)


async def test_silence_is_not_waited_for_twice(exchange: SimulatedExchange, clock: FakeClock) -> None:
    transport = Broken(exchange, httpx2.ReadTimeout("late"), 99)

    async with chart_desk(exchange, clock, transport=transport) as desk:
        with pytest.raises(ChartUnavailable, match="connection failed"):
            await desk.client.draw(BODY)
        assert await desk.limiter.images_left() == 499

    assert transport.calls == 1


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(kind="html"), "not an image"),
        (Fault(kind="truncated"), "not a complete PNG"),
        (Fault(kind="empty"), "not a complete PNG"),
        (Fault(kind="content_type"), "not an image"),
        (Fault(kind="gzip"), "compressed"),
        (Fault(kind="huge", size=9_000_000), "larger than 8388608 bytes"),
        (Fault(kind="cut_within", times=None), "connection failed"),
        (Fault(kind="cut_before", times=None), "connection failed"),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
async def test_what_is_no_whole_image_is_not_passed_on(
    exchange: SimulatedExchange, clock: FakeClock, fault: Fault, reason: str
) -> None:
    exchange.faults.add(fault)

    async with chart_desk(exchange, clock) as desk:
        with pytest.raises(ChartUnavailable) as caught:
            await desk.client.draw(BODY)

    assert reason in caught.value.reason
    assert len(exchange.requests) == (4 if fault.times is None else 1)


async def test_silence_ends_at_the_deadline_of_an_image(exchange: SimulatedExchange, clock: FakeClock) -> None:
    class Silent(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            assert request.extensions["timeout"]["read"] == pytest.approx(0.03)
            raise httpx2.ReadTimeout("silence")

    async with chart_desk(exchange, clock, transport=Silent(), deadline_secs=0.01) as desk:
        with pytest.raises(ChartUnavailable):
            await desk.client.draw(BODY)


async def test_an_image_of_another_size_is_passed_on_with_a_warning(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    class Stretched(Loop):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            asked: dict[str, Any] = json.loads(request.content)
            changed = json.dumps({**asked, "width": 800, "height": 450}).encode()
            headers = {**dict(request.headers), "content-length": str(len(changed))}
            return await super().handle_async_request(
                httpx2.Request("POST", request.url, headers=headers, content=changed)
            )

    async with chart_desk(exchange, clock, transport=Stretched(exchange)) as desk:
        drawn = await desk.client.draw(BODY)

    assert (drawn.image.width, drawn.image.height) == (800, 450)
    assert drawn.warnings == ("size_differs: 1200x675 was requested, 800x450 was drawn",)


async def test_a_size_over_the_plan_is_learned_and_drawn_smaller(exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.charts.plan_name = "BASIC"

    async with chart_desk(exchange, clock, plan="none") as desk:
        before = desk.plans.current()
        drawn = await desk.client.draw(BODY)
        after = desk.plans.current()

    assert (before.plan.name, before.source) == ("BASIC", "assumed")
    assert (after.plan.name, after.source) == ("BASIC", "learned")
    assert (drawn.image.width, drawn.image.height) == (800, 450)
    assert drawn.warnings == ("size_clamped: drawn at 800x450, because the plan of the key allows 800x600 at most",)
    assert [request.status for request in exchange.requests] == [403, 200]


async def test_a_size_that_is_refused_twice_is_not_tried_again(exchange: SimulatedExchange, clock: FakeClock) -> None:
    body = '{"message": "Exceed Max Usage Resolution Limit (800x600)"}'
    exchange.faults.add(Fault(kind="status", path=STORAGE, status=403, body=body, times=None))

    async with chart_desk(exchange, clock) as desk:
        with pytest.raises(ChartRefused, match="800x600"):
            await desk.client.store(BODY)
        first = len(exchange.requests)
        with pytest.raises(ChartRefused, match="800x600"):
            await desk.client.store({**BODY, "width": 800, "height": 600})

    assert (first, len(exchange.requests)) == (2, 3)


async def test_too_many_studies_are_learned_and_never_dropped(exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.charts.plan_name = "BASIC"
    body = {**BODY, "width": 800, "height": 600, "studies": [{"name": "MACD"}] * 4}

    async with chart_desk(exchange, clock, plan="none") as desk:
        with pytest.raises(ChartRefused, match=r"Parameter Limit \(3\)"):
            await desk.client.draw(body)
        assert (desk.plans.current().plan.max_studies, desk.plans.current().source) == (3, "learned")

    assert exchange.charts.bodies == [body]


@pytest.mark.parametrize(
    ("size", "plan", "fitting"),
    [
        ((1200, 675), "BASIC", (800, 450)),
        ((1920, 1080), "BASIC", (800, 450)),
        ((600, 1200), "BASIC", (400, 600)),
        ((3000, 300), "PRO", (1920, 300)),
        ((640, 480), "BASIC", (640, 480)),
    ],
)
def test_a_fitting_size_keeps_the_shape_and_is_even(size: tuple[int, int], plan: str, fitting: tuple[int, int]) -> None:
    assert fitting_size(size, PLANS[plan]) == fitting


@pytest.mark.parametrize(
    ("url", "believed"),
    [
        ("https://r2.chart-img.com/a/b.png", True),
        ("https://chart-img.com/x.png", True),
        ("http://charts.test/r2/x.png", True),
        ("http://r2.chart-img.com/a.png", False),
        ("https://chart-img.com.evil.test/a.png", False),
        ("https://evilchart-img.com/a.png", False),
        ("https://user@r2.chart-img.com/a.png", False),
        ("https://r2.chart-img.com@evil.test/a.png", False),
        ("https://evil.test/r2.chart-img.com", False),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("https://r2.chart-img.com/" + "a" * 3_000, False),
        ("https://r2.chart-img.com/\u202egnp.exe", False),
    ],
)
async def test_the_address_of_a_stored_image_is_one_of_the_service(
    exchange: SimulatedExchange, clock: FakeClock, url: str, *, believed: bool
) -> None:
    body = json.dumps({"url": url, "etag": "x", "expire": "whenever"})
    exchange.faults.add(Fault(kind="status", path=STORAGE, status=200, body=body))

    async with chart_desk(exchange, clock) as desk:
        if believed:
            stored = await desk.client.store(BODY)
            assert (stored.url, stored.expires_at) == (url, None)
        else:
            with pytest.raises(ChartUnavailable, match=r"not on chart-img\.com"):
                await desk.client.store(BODY)


@pytest.mark.parametrize("body", ["{}", "[]", "null", '{"url": 5}', "<html>", '{"url": "https://r2'])
async def test_a_stored_image_without_an_address_is_told_plainly(
    exchange: SimulatedExchange, clock: FakeClock, body: str
) -> None:
    exchange.faults.add(Fault(kind="status", path=STORAGE, status=200, body=body))

    async with chart_desk(exchange, clock) as desk:
        with pytest.raises(ChartUnavailable):
            await desk.client.store(BODY)


async def test_a_list_that_moved_is_found_where_the_contract_has_it(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.faults.add(Fault(kind="status", path="*/exchange/list", status=404))
    exchange.faults.add(Fault(kind="status", path="*/exchanges", status=200, body='{"payload": ["BINANCE"]}'))

    async with chart_desk(exchange, clock) as desk:
        found = await desk.client.exchanges()

    assert found == ("BINANCE",)
    assert paths(exchange) == ["/v3/tradingview/exchange/list", "/v3/tradingview/exchanges"]


@pytest.mark.slow
async def test_our_own_limit_of_the_day_is_kept_without_asking(exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.charts.plan_name = "BASIC"

    async with chart_desk(exchange, clock, plan="BASIC") as desk:
        for _ in range(50):
            await desk.client.draw({**BODY, "width": 400, "height": 300})
        asked = len(exchange.requests)
        with pytest.raises(ChartLimitReached) as caught:
            await desk.client.draw({**BODY, "width": 400, "height": 300})

    assert caught.value.quota
    assert len(exchange.requests) == asked == 50


@requirement("charts/generate_chart_image/log")
async def test_what_the_service_answered_is_logged_and_no_piece_of_the_key_is_shown(
    exchange: SimulatedExchange, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = exchange.charts.api_key
    shown: list[str] = []

    async with chart_desk(exchange, clock) as desk:
        for body in (f'{{"message": "bad key {key}"}}', f'[{{"msg": "{key}", "param": "{key}"}}]'):
            for status in (401, 403, 422, 429, 500):
                exchange.faults.add(Fault(kind="status", path=CHART, status=status, body=body, times=4))
                with pytest.raises(AppError) as caught:
                    await desk.client.draw(BODY)
                exchange.faults.clear()
                shown.append(f"{caught.value} {caught.value!r} {caught.value.data()}")
        await desk.client.draw(BODY)
        shown += [repr(desk.client), repr(desk.docs), repr(desk.listings)]

    pieces = {key[at : at + 9] for at in range(len(key) - 8)}
    assert not any(piece in text for piece in pieces for text in (*shown, caplog.text))
    assert "chart-img answered POST /v2/tradingview/advanced-chart: 200" in caplog.text
