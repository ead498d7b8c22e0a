"""Every channel through a proxy, by every variable: the hosts have names that the proxy alone can resolve."""

from collections.abc import Generator
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from binance_simulator.account import KeyRights
from binance_simulator.control import build_app, build_futures_app
from binance_simulator.exchange import SimulatedExchange
from support.certificates import certificate
from support.exchange_socket import ServedExchange, served_exchange
from support.loopback_proxy import proxy_beside
from support.patient import Patient, rung

CANARY = "CaNaRyPassword"
# Orders leave for addresses of this machine or Binance's own alone; nothing listens at these.
ADDRESSES = {
    "rest": "127.0.1.1",
    "streams": "127.0.1.2",
    "events": "127.0.1.3",
    "futures": "127.0.1.4",
    "marks": "127.0.1.5",
}
# A name that the proxy alone can resolve.
HOSTS = {**ADDRESSES, "charts": "charts.exchange.test"}
RUNGS = ("rest", "signature", "streams", "futures", "charts", "user_stream", "trial")
MARK = '{"e":"markPriceUpdate","s":"BTCUSDT","p":"1"}'


def whole(exchange: SimulatedExchange) -> ASGIApp:
    """Serve futures beside spot, by their paths."""
    spot, futures = build_app(exchange), build_futures_app(exchange)

    async def marks(connection: WebSocket) -> None:
        await connection.accept()
        await connection.send_text(MARK)
        await connection.close()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path.startswith("/market/ws/"):
            await marks(WebSocket(scope, receive, send))
        else:
            await (futures if path.startswith("/fapi/") else spot)(scope, receive, send)

    return serve


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("tls"), valid_for="exchange", also=HOSTS.values())


@pytest.fixture(scope="module", params=["https", "http"])
def market(request: pytest.FixtureRequest, certified: tuple[Path, Path]) -> Generator[tuple[str, ServedExchange]]:
    with served_exchange(certificate=certified if request.param == "https" else None, app_of=whole) as served:
        yield request.param, served


@pytest.fixture
def traded(
    market: tuple[str, ServedExchange],
    certified: tuple[Path, Path],
    patient: Patient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[str, ServedExchange, Patient]:
    scheme, served = market
    served.heal()
    served.exchange.rights = KeyRights(trading=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certified[0]))
    sockets = scheme.replace("http", "ws")
    patient.environment |= {
        **served.environment(),
        "BINANCE_NETWORK": "testnet",
        "BINANCE_REST_URL": f"{scheme}://{HOSTS['rest']}",
        "BINANCE_STREAM_URL": f"{sockets}://{HOSTS['streams']}",
        "BINANCE_FUTURES_REST_URL": f"{scheme}://{HOSTS['futures']}",
        "BINANCE_FUTURES_STREAM_URL": f"{sockets}://{HOSTS['marks']}",
        "BINANCE_WS_API_URL": f"{sockets}://{HOSTS['events']}/ws-api/v3",
        "CHART_IMG_URL": f"{scheme}://{HOSTS['charts']}",
        "CHART_IMG_DOCS_URL": f"{scheme}://{HOSTS['charts']}/chart-docs",
        "MCP_BINANCE_TRADING": "practice",
        "MCP_BINANCE_TRADING_DIR": str(tmp_path / "trading"),
    }
    return scheme, served, patient


def named(value: str, name: str, scheme: str) -> dict[str, str]:
    """Return the variables of one case; a decoy for the other scheme must not be used."""
    other = "http_proxy" if scheme == "https" else "https_proxy"
    decoy = {} if name.lower() == "all_proxy" else {other: "http://127.0.0.1:9"}
    return {name.replace("SCHEME", scheme.upper()).replace("scheme", scheme): value, **decoy}


@pytest.mark.parametrize(
    ("name", "is_socks"),
    [
        ("SCHEME_PROXY", False),
        ("scheme_proxy", False),
        ("ALL_PROXY", False),
        ("all_proxy", True),
        ("SCHEME_PROXY", True),
    ],
)
def test_every_channel_takes_the_way_of_the_variable(
    traded: tuple[str, ServedExchange, Patient], name: str, *, is_socks: bool
) -> None:
    scheme, served, patient = traded
    with proxy_beside(int(served.host.rpartition(":")[2]), login=("me", CANARY)) as proxy:
        value = proxy.with_login("me", CANARY, "socks5" if is_socks else "http")
        report = patient.report(**named(value, name, scheme))

    assert {each: rung(report, each)["status"] for each in RUNGS} == dict.fromkeys(RUNGS, "ok"), str(
        [each for each in report["rungs"] if each["status"] not in ("ok", "off")]
    )
    assert proxy.hosts == {*HOSTS.values()}
    seen = rung(report, "proxy")["seen"]
    assert f"127.0.0.1:{proxy.port} (" in seen
    assert "The source address that Binance sees is the proxy's" in seen
    assert rung(report, "proxy")["status"] == "ok"
    assert CANARY not in str(report)


# The certificate of the exchange is for the hosts behind the proxy.
@pytest.mark.parametrize("market", ["http"], indirect=True)
def test_what_no_proxy_lists_goes_past_it_on_every_channel(traded: tuple[str, ServedExchange, Patient]) -> None:
    _, served, patient = traded
    reached: dict[str, str] = {}
    for name, value in patient.environment.items():
        for host in HOSTS.values():
            reached[name] = reached.get(name, value).replace(f"//{host}", f"//{served.host}")
    with proxy_beside(0, status=502) as proxy:
        report = patient.report(**reached, ALL_PROXY=proxy.url, NO_PROXY=f"elsewhere.test, {served.host}")

    assert proxy.asked == []
    assert {each: rung(report, each)["status"] for each in RUNGS} == dict.fromkeys(RUNGS, "ok"), str(
        [each for each in report["rungs"] if each["status"] not in ("ok", "off")]
    )
    assert rung(report, "proxy")["seen"] == "none: every connection is direct"


def test_a_proxys_own_status_is_told_on_every_channel_as_its_answer(
    traded: tuple[str, ServedExchange, Patient],
) -> None:
    scheme, _, patient = traded
    with proxy_beside(0, login=("me", "another")) as proxy:
        report = patient.report(ALL_PROXY=proxy.with_login("me", CANARY))

    said = f"the proxy 127.0.0.1:{proxy.port} (ALL_PROXY) answered HTTP 407: it does not accept the user name"
    assert rung(report, "rest")["status"] == "problem"
    for each in ("rest", "streams", "futures", "charts"):
        assert said in rung(report, each)["seen"], (scheme, each)
    assert "did not reach the host" in rung(report, "rest")["why"]
    assert CANARY not in str(report)
    assert proxy.passed == []


@pytest.mark.night
def test_two_source_addresses_are_a_warning(traded: tuple[str, ServedExchange, Patient]) -> None:
    _, _, patient = traded
    found = rung(patient.report(ALL_PROXY="http://127.0.0.1:9", NO_PROXY=HOSTS["streams"]), "proxy")

    assert (found["status"], "Binance sees two source addresses" in found["why"]) == ("warning", True)
    assert "market streams: direct" in found["seen"]


def test_a_variable_of_streams_alone_is_said_to_be_not_read(patient: Patient) -> None:
    found = rung(patient.report(WSS_PROXY="http://127.0.0.1:9"), "proxy")

    assert (found["status"], found["try"]) == ("warning", "unset WSS_PROXY")
    assert found["seen"].startswith("WSS_PROXY is not read; ")
