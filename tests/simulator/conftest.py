"""A simulated exchange on a clock that stands still, reached through its HTTP surface."""

import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2
import msgspec
import pytest

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.futures.listing import FUTURES_HOST
from support.clock import FakeClock
from support.fixtures import DATA

PLENTY = 10**9

Get = Callable[[str], Awaitable[httpx2.Response]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def exchange(clock: FakeClock) -> SimulatedExchange:
    return SimulatedExchange(clock)


@pytest.fixture
async def api(exchange: SimulatedExchange) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=build_app(exchange))
    async with httpx2.AsyncClient(transport=transport, base_url="http://exchange.test") as client:
        yield client


@pytest.fixture
def get(api: httpx2.AsyncClient) -> Get:
    """Ask for a path under /api/v3, query and all."""

    async def ask(path: str) -> httpx2.Response:
        return await api.get(f"/api/v3/{path}")

    return ask


@pytest.fixture
def ask_futures(api: httpx2.AsyncClient) -> Get:
    """Ask the futures host for a path, query and all."""

    async def ask(path: str) -> httpx2.Response:
        return await api.get(f"http://{FUTURES_HOST}/{path}")

    return ask


@pytest.fixture
def signed_get(api: httpx2.AsyncClient, exchange: SimulatedExchange) -> Get:
    """Ask as the demo account, at the exchange's own time."""

    async def ask(path: str) -> httpx2.Response:
        name, _, query = path.partition("?")
        payload = "&".join(filter(None, [query, f"timestamp={exchange.now_ms()}"]))
        signature = hmac.new(exchange.account.secret_key.encode(), payload.encode(), hashlib.sha256).hexdigest()
        headers = {"X-MBX-APIKEY": exchange.account.api_key}
        return await api.get(f"/api/v3/{name}?{payload}&signature={signature}", headers=headers)

    return ask


@pytest.fixture
def unlimited(exchange: SimulatedExchange) -> None:
    exchange.weight_limit = PLENTY


@pytest.fixture(scope="session")
def examples() -> dict[str, dict[str, dict[str, object]]]:
    """The example payloads: one per call and per error."""
    document = msgspec.json.decode((DATA / "binance/payloads.json").read_bytes(), type=dict[str, object])
    kinds = {kind: document[kind] for kind in ("rest", "errors")}
    return msgspec.convert(kinds, dict[str, dict[str, dict[str, object]]])


@pytest.fixture(scope="session")
def stream_examples() -> dict[str, Any]:
    """The example frames: streams, control messages and the WebSocket API."""
    return msgspec.json.decode((DATA / "binance/payloads.json").read_bytes(), type=dict[str, Any])


@pytest.fixture(scope="session")
def example_exchange_info() -> dict[str, object]:
    document = msgspec.json.decode((DATA / "binance/exchange_info.json").read_bytes(), type=dict[str, object])
    document.pop("_constructed")
    return document
