"""The control endpoints do what the programmatic controls do, for this machine only."""

import httpx2
import pytest

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock

pytestmark = pytest.mark.anyio


async def test_faults_are_added_and_cleared(api: httpx2.AsyncClient, exchange: SimulatedExchange) -> None:
    one = await api.post("/control/faults", json={"kind": "empty", "path": "/api/v3/ping"})
    many = await api.post("/control/faults", json=[{"kind": "html"}, {"kind": "status", "status": 451, "times": None}])

    statuses = [(await api.get("/api/v3/time")).status_code for _ in range(3)]
    cleared = await api.delete("/control/faults")

    assert (one.json(), many.json(), cleared.json()) == ({"faults": 1}, {"faults": 3}, {"faults": 0})
    assert statuses == [200, 451, 451]
    assert exchange.faults.pending() == []
    assert (await api.get("/api/v3/time")).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("faults", b'{"kind":"explosion"}'),
        ("faults", b'{"kind":"empty","colour":1}'),
        ("faults", b"not json"),
        ("scenario", b'{"name":"boom"}'),
        ("clock", b'{"skew":1}'),
        ("limit", b'{"weight_limit":"many"}'),
    ],
)
async def test_a_control_request_that_makes_no_sense_is_refused(
    api: httpx2.AsyncClient, path: str, body: bytes
) -> None:
    answer = await api.post(f"/control/{path}", content=body)

    assert answer.status_code == 400
    assert answer.text


async def test_the_log_shows_api_requests_only_and_can_be_emptied(api: httpx2.AsyncClient, clock: FakeClock) -> None:
    await api.get("/api/v3/ticker/price?symbol=BTCUSDT&signature=secret")

    log = (await api.get("/control/requests")).json()
    await api.delete("/control/requests")

    assert log == [
        {
            "method": "GET",
            "path": "/api/v3/ticker/price",
            "params": {"symbol": "BTCUSDT"},
            "signed": True,
            "at_ms": clock.now_ms(),
            "status": 400,
            "weight": 2,
        }
    ]
    assert (await api.get("/control/requests")).json() == []


async def test_scenario_clock_and_limit_are_set(api: httpx2.AsyncClient, exchange: SimulatedExchange) -> None:
    scenario = await api.post("/control/scenario", json={"name": "contract"})
    skew = await api.post("/control/clock", json={"skew_ms": -90_000})
    limit = await api.post("/control/limit", json={"weight_limit": 100})

    assert (scenario.json(), skew.json(), limit.json()) == (
        {"name": "contract"},
        {"skew_ms": -90_000},
        {"weight_limit": 100},
    )
    assert (exchange.scenario, exchange.skew_ms, exchange.weight_limit) == ("contract", -90_000, 100)
    server_time = (await api.get("/api/v3/time")).json()["serverTime"]
    assert server_time == exchange.clock.now_ms() - 90_000


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1", 200), ("::1", 200), ("127.8.8.8", 200), ("10.0.0.7", 403), ("testclient", 403)],
)
async def test_only_this_machine_may_control(exchange: SimulatedExchange, host: str, status: int) -> None:
    transport = httpx2.ASGITransport(app=build_app(exchange), client=(host, 5000))
    async with httpx2.AsyncClient(transport=transport, base_url="http://exchange.test") as client:
        control = await client.get("/control/requests")
        public = await client.get("/api/v3/ping")

    assert (control.status_code, public.status_code) == (status, 200)
