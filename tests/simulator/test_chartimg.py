"""The simulated chart-img: keys, plans, limits, lists and pictures, as the documentation describes them."""

import struct
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from support.clock import FakeClock

CHART = "/v2/tradingview/advanced-chart"
STORAGE = f"{CHART}/storage"
EXCHANGES = "/v3/tradingview/exchange"


@pytest.fixture
async def service(exchange: SimulatedExchange) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=build_app(exchange))
    headers = {"x-api-key": exchange.charts.api_key}
    async with httpx2.AsyncClient(transport=transport, base_url="http://charts.test", headers=headers) as client:
        yield client


async def draw(service: httpx2.AsyncClient, body: dict[str, Any], path: str = CHART) -> httpx2.Response:
    return await service.post(path, json=body)


def pixels_of(png: bytes) -> tuple[int, int, bytes]:
    """Return the size of a PNG and its unpacked rows; every checksum must be right."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    place, packed, size = 8, b"", (0, 0)
    while place < len(png):
        length, kind = struct.unpack_from(">I4s", png, place)
        data = png[place + 8 : place + 8 + length]
        assert struct.unpack_from(">I", png, place + 8 + length)[0] == zlib.crc32(kind + data)
        if kind == b"IHDR":
            size = struct.unpack(">II", data[:8])
        packed += data if kind == b"IDAT" else b""
        place += 12 + length
    return *size, zlib.decompress(packed)


@pytest.mark.parametrize("key", ["", "wrong", None])
@pytest.mark.parametrize("path", [CHART, STORAGE])
async def test_a_wrong_key_is_refused(service: httpx2.AsyncClient, key: str | None, path: str) -> None:
    headers = {} if key is None else {"x-api-key": key}
    service.headers.pop("x-api-key")

    answer = await service.post(path, json={}, headers=headers)

    assert (answer.status_code, answer.json()) == (401, {"message": "Invalid Request"})


@pytest.mark.parametrize("size", [(800, 600), (400, 300), (1920, 1080), (641, 481)])
async def test_an_image_is_a_real_png_of_the_asked_size(service: httpx2.AsyncClient, size: tuple[int, int]) -> None:
    answer = await draw(service, {"width": size[0], "height": size[1], "theme": "dark"})

    width, height, rows = pixels_of(answer.content)
    assert answer.headers["content-type"] == "image/png"
    assert (width, height) == size
    assert len(rows) == height * (1 + 3 * width)
    assert len(set(rows)) > 3


async def test_a_jpeg_says_its_size_in_its_frame(service: httpx2.AsyncClient) -> None:
    answer = await draw(service, {"format": "jpeg", "width": 1001, "height": 517})

    assert answer.headers["content-type"] == "image/jpeg"
    frame = answer.content.index(b"\xff\xc0")
    assert struct.unpack_from(">HH", answer.content, frame + 5) == (517, 1001)
    assert answer.content.endswith(b"\xff\xd9")


async def test_a_stored_image_has_an_address_and_an_end(
    service: httpx2.AsyncClient, exchange: SimulatedExchange
) -> None:
    exchange.charts.plan_name = "BASIC"

    stored = (await draw(service, {}, STORAGE)).json()

    assert set(stored) == {"url", "etag", "expire"}
    assert stored["expire"] == "2026-08-04T00:02:03.000Z"  # fourteen days after the clock of the tests
    pixels_of((await service.get(stored["url"])).content)


@pytest.mark.parametrize(
    ("plan", "body", "text"),
    [
        ("BASIC", {"width": 802}, "Exceed Max Usage Resolution Limit (800x600)"),
        ("PRO", {"height": 1081}, "Exceed Max Usage Resolution Limit (1920x1080)"),
        ("BASIC", {"studies": [{"name": "MACD"}] * 4}, "Exceed Max Usage Parameter Limit (3)"),
        (
            "PRO",
            {"studies": [{"name": "MACD"}] * 5, "drawings": [{"name": "Horizontal Line", "input": {"price": 1}}]},
            "Exceed Max Usage Parameter Limit (5)",
        ),
        ("MEGA", {"watermark": "me"}, "Forbidden"),
    ],
)
async def test_what_a_plan_does_not_allow_is_forbidden_with_its_limit(
    service: httpx2.AsyncClient, exchange: SimulatedExchange, plan: str, body: dict[str, Any], text: str
) -> None:
    exchange.charts.plan_name = plan

    answer = await draw(service, body)

    assert (answer.status_code, answer.json()) == (403, {"message": text})


async def test_requests_that_come_too_fast_are_refused_until_time_has_passed(
    service: httpx2.AsyncClient, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.charts.plan_name = "BASIC"

    statuses = [(await draw(service, {})).status_code for _ in range(4)]
    refused = await draw(service, {})
    clock.advance(1_000)

    assert statuses == [200, 200, 200, 429]
    assert refused.json() == {"message": "Too Many Requests"}
    assert "retry-after" not in refused.headers
    assert (await draw(service, {})).status_code == 200


async def test_a_day_has_so_many_images_and_the_next_day_begins_at_midnight(
    service: httpx2.AsyncClient, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.charts.daily_limit = 2

    statuses = [(await draw(service, {})).status_code for _ in range(2)]
    refused = await draw(service, {})
    listed = await service.get(f"{EXCHANGES}/list")
    clock.advance(24 * 3_600_000)

    assert statuses == [200, 200]
    assert (refused.status_code, refused.json()) == (429, {"message": "Limit Exceeded"})
    assert listed.status_code == 200
    assert (await draw(service, {})).status_code == 200


async def test_what_is_left_of_the_day_is_told_only_on_demand(
    service: httpx2.AsyncClient, exchange: SimulatedExchange
) -> None:
    silent = await draw(service, {})
    exchange.charts.tells_remaining = True
    telling = await draw(service, {})

    assert "x-ratelimit-remaining" not in silent.headers
    assert telling.headers["x-ratelimit-remaining"] == "498"


@pytest.mark.parametrize(
    ("status", "text"),
    [(409, "Session Disconnected"), (500, "Something Went Wrong"), (504, "External Request Timeout")],
)
async def test_a_fault_speaks_in_the_words_of_the_service(
    service: httpx2.AsyncClient, exchange: SimulatedExchange, status: int, text: str
) -> None:
    exchange.faults.add(Fault(kind="status", path="/v2/*", status=status))

    answer = await draw(service, {})

    assert (answer.status_code, answer.json()) == (status, {"message": text})


async def test_exchanges_are_listed_by_id(service: httpx2.AsyncClient) -> None:
    answer = (await service.get(f"{EXCHANGES}/list")).json()

    assert answer["updatedAt"] == "2026-07-21T00:00:00.000Z"
    assert {"BINANCE", "NASDAQ", "FX"} <= set(answer["payload"])


async def test_symbols_of_binance_are_those_of_the_simulated_exchange(
    service: httpx2.AsyncClient, exchange: SimulatedExchange
) -> None:
    everything = (await service.get(f"{EXCHANGES}/BINANCE")).json()["payload"]
    searched = (await service.get(f"{EXCHANGES}/BINANCE?symbol=eth&type=spot")).json()["payload"]

    assert {row["symbol"] for row in everything if row["type"] == "spot"} == set(exchange.listing.symbols)
    assert {"symbol": "BTCUSDT.P", "type": "swap"}.items() <= next(
        row.items() for row in everything if row["symbol"] == "BTCUSDT.P"
    )
    assert searched
    assert all("ETH" in row["symbol"] and row["type"] == "spot" for row in searched)


@pytest.mark.parametrize(
    ("path", "text"),
    [(f"{EXCHANGES}/NOWHERE", "Exchange Not Found"), ("/v1/tradingview/mini-chart", "Route Not Found")],
)
async def test_what_does_not_exist_is_not_found(service: httpx2.AsyncClient, path: str, text: str) -> None:
    answer = await service.get(path)

    assert (answer.status_code, answer.json()) == (404, {"message": text})


async def test_the_controls_change_the_plan_the_day_and_the_page(
    service: httpx2.AsyncClient, exchange: SimulatedExchange
) -> None:
    order = {"plan": "BASIC", "daily_limit": 1, "page": "<html></html>"}
    told = (await service.post("/control/charts", json=order)).json()
    refused = await service.post("/control/charts", json={"plan": "GOLD"})

    assert told == {"plan": "BASIC", "remaining": 1}
    assert (await service.get("/chart-docs")).text == "<html></html>"
    assert refused.status_code == 400
    assert exchange.charts.plan_name == "BASIC"


async def test_the_documentation_needs_no_key_and_names_every_study(
    service: httpx2.AsyncClient, exchange: SimulatedExchange
) -> None:
    service.headers.pop("x-api-key")

    page = await service.get("/chart-docs")

    assert page.headers["content-type"].startswith("text/html")
    assert all(f"<h2>{each.api_name}</h2>" in page.text for each in exchange.charts.facts.indicators)
