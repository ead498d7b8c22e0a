"""Charts of several processes: a picture drawn by one is read from all, and a day's images are counted once."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest

from support.exchange_socket import ServedExchange, served_exchange
from support.state_server import BINARY, StateServer, state_server
from support.webapp import HttpClient
from support.workers import Surroundings, http_server

pytestmark = [pytest.mark.slow, pytest.mark.flood, pytest.mark.anyio, pytest.mark.usefixtures("patient_engines")]

WORKERS = "2"  # a third and a fourth would load for seconds to do what the second does
READS = 40
RACERS = 16
PICTURE = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "range": "2D", "width": 400, "height": 300}
APPLE = {"symbol": "NASDAQ:AAPL", "interval": "1D", "width": 400}


@pytest.fixture
def state() -> Iterator[StateServer]:
    if BINARY is None:
        pytest.skip("charts of a fleet are not tested here: no redis-server or valkey-server is installed")
    with state_server() as running:
        yield running


@pytest.fixture
def service() -> Iterator[ServedExchange]:
    with served_exchange() as running:
        yield running


@pytest.fixture
def around(state: StateServer, service: ServedExchange) -> Surroundings:
    settings = {**service.environment(), "MCP_BINANCE_STATE_URL": state.url, "MCP_BINANCE_LOG_LEVEL": "WARNING"}
    return Surroundings(state, settings, {})


def client(port: int) -> HttpClient:
    """Return one whose every request has a connection of its own, so that any process may get it."""
    accept, limits = "application/json, text/event-stream", httpx2.Limits(max_keepalive_connections=0)
    return HttpClient(base_url=f"http://127.0.0.1:{port}", headers={"accept": accept}, limits=limits, timeout=120)


async def generated(http: HttpClient, config: dict[str, Any], **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
    params = {"name": "generate_chart_image", "arguments": {"config": config, **arguments}}
    return (await http.modern("tools/call", params)).json()["result"]


@pytest.mark.night
async def test_a_picture_is_read_from_every_worker(around: Surroundings) -> None:
    del around.environment["CHART_IMG_API_KEY"]
    with http_server(around, "--workers", WORKERS) as (_, port):
        async with client(port) as http:
            drawn = await generated(http, PICTURE, storage=True)
            links = [each["uri"] for each in drawn["content"] if each["type"] == "resource_link"]
            answers = [await http.modern("resources/read", {"uri": links[number % 2]}) for number in range(READS)]
            counted = (await http.get("/metrics")).text

    read = Counter(answer.json()["result"]["contents"][0]["mimeType"] for answer in answers)
    assert read == {"image/png": READS // 2, "image/svg+xml": READS // 2}
    answered = [
        line for line in counted.splitlines() if "mcp_binance_http_answers_total" in line and not line.endswith(" 0.0")
    ]
    met = {line.partition('worker="')[2][0] for line in answered if line.startswith("mcp_binance_http_answers_total{")}
    assert len(met) > 1, "one process answered all, so this shows nothing"


@pytest.mark.night
async def test_a_day_of_one_image_draws_one_whoever_asks(around: Surroundings, service: ServedExchange) -> None:
    refused: list[dict[str, Any]] = []
    drawn: list[dict[str, Any]] = []

    async def race(http: HttpClient, number: int) -> None:
        answer = await generated(http, {**APPLE, "height": 300 + 2 * number})
        (refused if answer.get("isError") else drawn).append(answer)

    with http_server(around, "--workers", WORKERS, CHART_IMG_DAILY_LIMIT="1", CHART_IMG_RPS="1000") as (_, port):
        async with client(port) as http, anyio.create_task_group() as racers:
            for number in range(RACERS):
                racers.start_soon(race, http, number)

    assert (len(drawn), len(refused)) == (1, RACERS - 1)
    assert len(service.exchange.charts.bodies) == 1
    assert all("Rate limit exceeded" in answer["content"][0]["text"] for answer in refused)
