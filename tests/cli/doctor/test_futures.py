"""The futures rung, over real sockets: what it sees, and that nothing of it ever makes a patient ill."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from binance_simulator.control import build_futures_app
from binance_simulator.faults import Fault
from binance_simulator.futures.quirks import Quirk
from mcp_binance_server.cli.doctor import futures as futures_rung
from support.exchange_socket import ServedExchange
from support.patient import Patient, rung

MARK = '{"e":"markPriceUpdate","s":"BTCUSDT","p":"1"}'


async def _marks(connection: WebSocket) -> None:
    await connection.accept()
    await connection.send_text(MARK)
    await connection.close()


async def _silence(connection: WebSocket) -> None:
    """Stay open and say nothing, as the exchange does on a wrong route."""
    await connection.accept()
    with pytest.raises(WebSocketDisconnect):
        await connection.receive_text()


async def _end(connection: WebSocket) -> None:
    await connection.accept()
    await connection.close()


@pytest.fixture
def futures_host(served: ServedExchange) -> Generator[str]:
    streams = [
        WebSocketRoute("/market/ws/btcusdt@markPrice@1s", _marks),
        WebSocketRoute("/silent/market/ws/btcusdt@markPrice@1s", _silence),
        WebSocketRoute("/ending/market/ws/btcusdt@markPrice@1s", _end),
    ]
    with listening(Starlette(routes=[*streams, Mount("/", build_futures_app(served.exchange))])) as host:
        yield host
    futures = served.exchange.futures
    futures.quirks.clear()
    futures.faults.clear()
    futures.meter = type(futures.meter)(futures.meter.limit)


@contextmanager
def listening(app: Starlette) -> Generator[str]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(16)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", access_log=False, server_header=False, date_header=False)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join(30)
        listener.close()


def addresses(host: str, route: str = "") -> dict[str, str]:
    return {"BINANCE_FUTURES_REST_URL": f"http://{host}", "BINANCE_FUTURES_STREAM_URL": f"ws://{host}{route}"}


def test_a_futures_host_that_is_well_says_what_it_has(patient: Patient, futures_host: str) -> None:
    found = rung(patient.report(**addresses(futures_host)), "futures")

    assert found["status"] == "ok"
    assert f"{futures_host} answers: " in found["seen"]
    assert " perpetuals, its clock " in found["seen"]
    assert " of 2400 used in this minute; first mark price after " in found["seen"]


def test_without_streams_of_its_own_it_is_well(patient: Patient, futures_host: str) -> None:
    report = patient.report(BINANCE_FUTURES_REST_URL=f"http://{futures_host}")

    assert rung(report, "futures")["status"] == "ok"
    assert "BINANCE_FUTURES_STREAM_URL is not set" in rung(report, "futures")["seen"]


@pytest.mark.parametrize(
    ("environment", "missing"),
    [
        ({}, "BINANCE_FUTURES_REST_URL is not set"),
        ({"MCP_BINANCE_TOOLSETS": "market"}, "MCP_BINANCE_TOOLSETS with derivatives in its list is not set"),
    ],
)
def test_where_there_are_no_futures_it_says_why(environment: dict[str, str], missing: str, patient: Patient) -> None:
    found = rung(patient.report(**environment), "futures")

    assert found["status"] == "off"
    assert missing in found["seen"]


@pytest.mark.parametrize(
    ("quirk", "words"),
    [
        (Quirk(kind="region"), ("does not serve this location (HTTP 451)", "no second host")),
        (Quirk(kind="banned", ms=300_000), ("refuses every request from this public address for ", "of its own")),
    ],
    ids=["region", "ban"],
)
def test_a_refusal_is_a_warning_in_plain_words(
    quirk: Quirk, words: tuple[str, str], served: ServedExchange, patient: Patient, futures_host: str
) -> None:
    served.exchange.futures.quirks.add(quirk)

    report = patient.report(**addresses(futures_host))

    found = rung(report, "futures")
    assert (found["status"], report["healthy"]) == ("warning", True)
    assert words[0] in found["seen"]
    assert words[1] in found["why"]
    assert found["try"] == "export MCP_BINANCE_TOOLSETS=market,account,orders,analysis,charts,guide,trade"
    assert rung(report, "rest")["status"] == "ok"


@pytest.mark.night
def test_a_host_that_is_down_is_a_warning(served: ServedExchange, patient: Patient, futures_host: str) -> None:
    served.exchange.futures.faults.add(Fault(kind="status", status=503, times=None))

    report = patient.report(**addresses(futures_host))

    assert (rung(report, "futures")["status"], report["healthy"]) == ("warning", True)
    assert "gave no usable answer (HTTP 503)" in rung(report, "futures")["seen"]


def test_a_minute_that_others_have_spent_is_a_warning(
    served: ServedExchange, patient: Patient, futures_host: str
) -> None:
    # The exchange's minute has just begun, so that it cannot end before the doctor looks.
    exchange = served.exchange
    exchange.skew_ms = 1_000 - exchange.now_ms() % 60_000
    exchange.futures.meter.charge(2_000, exchange.now_ms())

    report = patient.report(**addresses(futures_host))

    assert (rung(report, "futures")["status"], report["healthy"]) == ("warning", True)
    assert " of 2400 of the futures weight already used in this minute" in rung(report, "futures")["seen"]


def test_a_clock_that_is_off_is_a_warning(served: ServedExchange, patient: Patient, futures_host: str) -> None:
    served.exchange.skew_ms = 90_000

    report = patient.report(**addresses(futures_host))

    assert (rung(report, "futures")["status"], report["healthy"]) == ("warning", True)
    assert "its clock is " in rung(report, "futures")["seen"]


@pytest.mark.parametrize(
    ("route", "seen"),
    [
        ("/silent", "accepted the connection, but sent no mark price within 0.2 s"),
        ("/ending", "closed the connection"),
        ("/nowhere", "refused the connection"),
    ],
)
def test_streams_that_bring_no_mark_are_a_warning(
    route: str, seen: str, patient: Patient, futures_host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(futures_rung, "FIRST_MARK_SECS", 0.2)

    report = patient.report(**addresses(futures_host, route))

    assert (rung(report, "futures")["status"], report["healthy"]) == ("warning", True)
    assert seen in rung(report, "futures")["seen"]
