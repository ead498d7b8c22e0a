"""Each thing that can be wrong is put wrong, over a real socket: it is named, and its fix is printed."""

import socket
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from binance_simulator.account import KeyRights
from binance_simulator.faults import Fault, StreamFault
from mcp_binance_server.exchange.endpoints import Network
from support.exchange_socket import ServedExchange, served_exchange
from support.patient import Patient, rung, statuses

MANAGEMENT = "https://www.binance.com/en/my/settings/api-management"


def networks(mainnet: ServedExchange, testnet: ServedExchange, data: str | None = None) -> dict[str, Network]:
    return {
        "mainnet": Network("mainnet", mainnet.rest_url, MANAGEMENT, data, f"ws://{mainnet.host}"),
        "testnet": Network("testnet", testnet.rest_url, "https://testnet.binance.vision/"),
    }


def nothing(_served: ServedExchange) -> None:
    """Leave the exchange as it is."""


@dataclass(frozen=True)
class Illness:
    """What is put wrong, on which rung it must be found, and words of what is seen, of the fix, and of the command."""

    rung: str
    seen: str
    fix: str
    command: str
    status: str = "problem"
    cause: Callable[[ServedExchange], None] = nothing
    environment: dict[str, str] = field(default_factory=dict[str, str])


def fault(path: str, **said: object) -> Callable[[ServedExchange], None]:
    def cause(served: ServedExchange) -> None:
        served.exchange.faults.add(Fault(kind="status", path=path, times=None, **said))  # type: ignore[arg-type]

    return cause


def always_testnet(_host: str) -> str:
    return "testnet"


def rights(**boxes: bool) -> Callable[[ServedExchange], None]:
    def cause(served: ServedExchange) -> None:
        served.exchange.rights = KeyRights(**boxes)

    return cause


def skewed(served: ServedExchange) -> None:
    served.exchange.skew_ms = -7_000


def spent(served: ServedExchange) -> None:
    # The exchange's minute has just begun, so that it cannot end before the doctor looks.
    exchange = served.exchange
    exchange.skew_ms = 1_000 - exchange.now_ms() % 60_000
    exchange.meter.charge(5_000, exchange.now_ms())


def silent(served: ServedExchange) -> None:
    served.exchange.hub.faults.add(StreamFault(kind="silent", times=None))


ILLNESSES = {
    "a wrong value": Illness(
        "configuration", "BINANCE_NETWORK", "Correct it", "unset BINANCE_NETWORK",
        environment={"BINANCE_NETWORK": "moonnet"},
    ),
    "half a key": Illness(
        "configuration", "belong together", "Correct it", "", environment={"BINANCE_SECRET_KEY": ""}
    ),
    "a threshold out of range": Illness(
        "configuration", "MCP_BINANCE_ANALYTICS_BIAS_T", "Correct it", "",
        environment={"MCP_BINANCE_ANALYTICS_BIAS_T": "many"},
    ),
    "a misspelt variable": Illness(
        "configuration", "MCP_BINANCE_LOGLEVEL: unknown setting", "Correct it",
        "unset MCP_BINANCE_LOGLEVEL", environment={"MCP_BINANCE_LOGLEVEL": "DEBUG"},
    ),
    "a variable of another program": Illness(
        "configuration", "Did you mean BINANCE_NETWORK=testnet?", "Correct it", "unset BINANCE_TESTNET",
        environment={"BINANCE_TESTNET": "true"},
    ),
    "a misspelt variable of chart-img.com": Illness(
        "configuration", "CHART_IMG_KEY is unknown", "Correct the name", "unset CHART_IMG_KEY",
        "warning", environment={"CHART_IMG_KEY": "x"},
    ),
    "a name that does not exist": Illness(
        "dns", "exchange.invalid cannot be resolved", "another DNS server", "nslookup exchange.invalid",
        environment={"BINANCE_REST_URL": "http://exchange.invalid"},
    ),
    "nobody at the door": Illness(
        "tcp", "refuses the connection", "correct BINANCE_REST_URL", "nc -vz 127.0.0.1 1",
        environment={"BINANCE_REST_URL": "http://127.0.0.1:1"},
    ),
    "a firewall's page": Illness(
        "rest", "HTTP 403", "no VPN", "curl -sS", cause=fault("/api/v3/*", status=403, body="<html>no</html>"),
    ),
    "a forbidden country": Illness(
        "rest", "does not serve this location", "a country that Binance serves", "prohibited-countries",
        cause=fault("/api/v3/*", status=451, code=0, msg="Service unavailable from a restricted location"),
    ),
    "a ban": Illness(
        "rest", "refuses every request from this public address for 99 s", "wait 99 s", "rest-api/limits",
        cause=fault("/api/v3/*", status=418, code=-1003, msg="banned", headers={"Retry-After": "99"}),
    ),
    "maintenance": Illness(
        "rest", "gave no usable answer (HTTP 503)", "Try again in a minute", "announcement",
        cause=fault("/api/v3/*", status=503),
    ),
    "a clock that is wrong": Illness(
        "clock", "s ahead of the exchange's clock", "Turn on clock synchronisation", "", "warning", cause=skewed
    ),
    "a minute that others have spent": Illness(
        "weight", "of 6000 already used in this minute", "slow them down", "rest-api/limits", "warning", cause=spent
    ),
    "streams that are refused": Illness(
        "streams", "refused the connection", "Allow WebSockets", "MCP_BINANCE_ORDERBOOK_ANALYTICS=false",
        cause=fault("/stream", status=403),
    ),
    "streams that say nothing": Illness(
        "streams", "sent nothing within 5 s", "Allow WebSockets", "MCP_BINANCE_ORDERBOOK_ANALYTICS=false", cause=silent
    ),
    "half of an API key": Illness(
        "key", "BINANCE_API_KEY has 32 characters", "Copy it again", MANAGEMENT,
        environment={"BINANCE_API_KEY": "aB3" * 10 + "xy"},
    ),
    "a short secret": Illness(
        "key", "BINANCE_SECRET_KEY has 40 characters", "Copy it again", MANAGEMENT,
        environment={"BINANCE_SECRET_KEY": "CaNaRy99" * 5},
    ),
    "a wrong secret": Illness(
        "signature", "knows the key but refuses the signature", "Copy the secret again", MANAGEMENT,
        environment={"BINANCE_SECRET_KEY": "CaNaRy99" * 8},
    ),
    "an unknown key": Illness(
        "network", "does not accept the key at all", "deleted, mistyped", MANAGEMENT,
        environment={"BINANCE_API_KEY": "uNkNoWn8" * 8},
    ),
    "an address that is not in the list": Illness(
        "network", "does not accept the key at all", "does not allow this IP", MANAGEMENT,
        cause=rights(address_listed=False),
    ),
    "a key that may not read": Illness(
        "permissions", "may not read the account", "tick 'Enable Reading'", MANAGEMENT, cause=rights(reading=False)
    ),
    "a key for every address": Illness(
        "ip", "any address may use the key", "Restrict access to trusted IPs only", MANAGEMENT, "warning",
        cause=rights(ip_restricted=False),
    ),
    "a key that can withdraw": Illness(
        "withdrawals", "THIS KEY CAN WITHDRAW YOUR MONEY", "untick 'Enable Withdrawals'", MANAGEMENT,
        cause=rights(withdrawals=True),
    ),
    "a chart key that is refused": Illness(
        "charts", "does not accept CHART_IMG_API_KEY", "Copy it again", "https://chart-img.com",
        environment={"CHART_IMG_API_KEY": "CaNaRy-wrong-chart-key"},
    ),
    "a chart service that is down": Illness(
        "charts", "chart-img.com is temporarily unavailable", "Try again in a minute", "https://chart-img.com",
        cause=fault("/v3/*", status=500),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ILLNESSES)
def test_what_is_wrong_is_named_and_its_mend_is_told(name: str, served: ServedExchange, patient: Patient) -> None:
    illness = ILLNESSES[name]
    illness.cause(served)

    report = patient.report(**illness.environment)

    found = rung(report, illness.rung)
    assert found["status"] == illness.status, report
    assert illness.seen in found["seen"]
    assert illness.fix in found["fix"]
    assert illness.command in found["try"]
    assert found["why"]
    assert report["healthy"] is (illness.status == "warning")
    assert report["problems"] == (0 if illness.status == "warning" else 1)


def test_what_needs_a_broken_rung_is_skipped_and_says_which(patient: Patient) -> None:
    report = patient.report(BINANCE_REST_URL="http://127.0.0.1:1")

    assert statuses(report) == {
        "python": "ok", "packages": "ok", "configuration": "ok", "guide": "off", "state": "ok", "proxy": "off",
        "dns": "ok", "tcp": "problem", "tls": "skipped", "rest": "skipped", "clock": "skipped", "weight": "skipped",
        "streams": "ok", "futures": "off", "key": "ok", "network": "skipped", "signature": "skipped",
        "permissions": "skipped", "ip": "skipped", "withdrawals": "skipped", "charts": "ok", "live_chart": "ok",
        "clients": "off",
    }  # fmt: skip
    assert (rung(report, "tls")["seen"], rung(report, "tls")["needs"]) == ("skipped (needs TCP)", "tcp")
    assert (rung(report, "rest")["seen"], rung(report, "rest")["needs"]) == ("skipped (needs TLS)", "tls")


def test_a_key_of_another_network_is_recognised_as_such(served: ServedExchange, patient: Patient) -> None:
    with served_exchange(seed=11) as testnet:
        account = testnet.exchange.account
        patient.networks = networks(served, testnet)
        key = {"BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": account.secret_key}

        report = patient.report(BINANCE_REST_URL="", BINANCE_STREAM_URL="", **key)

    found = rung(report, "network")
    assert found["seen"] == "this is a key of testnet, but BINANCE_NETWORK is mainnet"
    assert found["try"] == "export BINANCE_NETWORK=testnet"


def test_a_key_that_no_network_knows_is_said_to_be_unknown(served: ServedExchange, patient: Patient) -> None:
    with served_exchange(seed=11) as testnet:
        patient.networks = networks(served, testnet)

        report = patient.report(BINANCE_REST_URL="", BINANCE_STREAM_URL="", BINANCE_API_KEY="uNkNoWn8" * 8)

        assert rung(report, "network")["seen"] == f"{served.host} does not accept the key at all"
        assert [request.path for request in testnet.exchange.requests] == ["/api/v3/time", "/api/v3/order"]


def test_a_key_for_another_address_is_sent_to_no_other_network(served: ServedExchange, patient: Patient) -> None:
    with served_exchange(seed=11) as testnet:
        patient.networks = networks(served, testnet)

        patient.report(BINANCE_API_KEY="uNkNoWn8" * 8)

        assert testnet.exchange.requests == []


def test_a_host_of_another_network_is_noticed_without_sending_the_key(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, served: ServedExchange
) -> None:
    monkeypatch.setattr("mcp_binance_server.cli.doctor.key.home_of", always_testnet)

    found = rung(patient.report(), "network")

    assert "a host of testnet" in found["seen"]
    assert not any(request.signed for request in served.exchange.requests)


@pytest.mark.parametrize(
    ("text", "seen", "command"),
    [("version: 1\ncategories: [\n", "line 3", "guide check"), ("version: 2\n", "line 1: version", "guide check")],
)
def test_a_guide_file_that_is_wrong_is_told_with_its_line(
    text: str, seen: str, command: str, patient: Patient, tmp_path: Path
) -> None:
    file = tmp_path / "guide.yaml"
    file.write_text(text)

    found = rung(patient.report(MCP_BINANCE_GUIDE_CONFIG=str(file)), "guide")

    assert found["status"] == "problem"
    assert seen in found["seen"]
    assert command in found["try"]
    assert str(tmp_path) not in str(found)


def test_a_guide_file_that_is_good_is_named(patient: Patient, tmp_path: Path) -> None:
    (tmp_path / "guide.yaml").write_text("version: 1\n")

    found = rung(patient.report(MCP_BINANCE_GUIDE_CONFIG=str(tmp_path / "guide.yaml")), "guide")

    assert (found["status"], found["seen"]) == ("ok", "~/guide.yaml")


def test_keys_that_others_can_read_stop_the_start_and_the_command_is_told(patient: Patient, tmp_path: Path) -> None:
    file = tmp_path / "keys.env"
    file.write_text(f"BINANCE_API_KEY={'K' * 64}\n")
    file.chmod(0o644)

    found = rung(patient.report(MCP_BINANCE_KEY_FILE=str(file)), "configuration")

    assert found["status"] == "problem"
    assert found["try"] == "chmod 600 '~/keys.env'"


def test_a_private_key_that_is_none_is_found(patient: Patient, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("nonsense")

    found = rung(
        patient.report(BINANCE_SECRET_KEY="", BINANCE_PRIVATE_KEY_FILE=str(tmp_path / "none.pem")), "configuration"
    )

    assert found["status"] == "problem"
    assert "No such file" in found["seen"]


@contextmanager
def secure_door(context: ssl.SSLContext | None) -> Generator[int]:
    """Listen on a port that shows a certificate, or that does not speak TLS at all."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def answer() -> None:
            while True:
                try:
                    accepted, _ = listener.accept()
                except OSError:
                    return
                with accepted:
                    try:
                        if context is not None:
                            context.wrap_socket(accepted, server_side=True).close()
                        else:
                            accepted.recv(100)
                            accepted.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://hotel/login\r\n\r\n")
                    except OSError:
                        continue

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def own_certificate(folder: Path) -> ssl.SSLContext:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "me")])
    now = datetime.now(UTC)  # noqa: TID251 - certificates know no other clock
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "own.pem"
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(pem + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def test_a_certificate_of_somebody_else_is_told_from_no_tls_at_all(patient: Patient, tmp_path: Path) -> None:
    with secure_door(own_certificate(tmp_path)) as port:
        foreign = rung(patient.report(BINANCE_REST_URL=f"https://127.0.0.1:{port}"), "tls")
    with secure_door(None) as port:
        none = rung(patient.report(BINANCE_REST_URL=f"https://127.0.0.1:{port}"), "tls")

    assert foreign["status"] == none["status"] == "problem"
    assert "certificate of 127.0.0.1 is not valid" in foreign["seen"]
    assert "SSL_CERT_FILE" in foreign["fix"]
    assert "does not speak TLS" in none["seen"]
    assert "Sign in to the network" in none["fix"]


@pytest.mark.night
def test_behind_a_proxy_the_way_is_the_proxys(patient: Patient) -> None:
    report = patient.report(http_proxy="http://user:CaNaRyPassword@127.0.0.1:1")

    assert rung(report, "dns")["seen"] == "resolved by the proxy 127.0.0.1:1 (http_proxy)"
    assert rung(report, "tcp")["status"] == rung(report, "tls")["status"] == "off"
    assert rung(report, "rest")["status"] == "problem"
    assert "CaNaRyPassword" not in str(report)


def test_where_only_public_data_is_served_that_is_said(served: ServedExchange, patient: Patient) -> None:
    with served_exchange(seed=11) as second:
        patient.networks = networks(served, second, data=second.rest_url)
        fault("/api/v3/*", status=451, code=0, msg="restricted location")(served)

        report = patient.report(BINANCE_REST_URL="", BINANCE_STREAM_URL="")

    assert rung(report, "rest")["status"] == "warning"
    assert f"{second.host} answers instead" in rung(report, "rest")["seen"]
    assert "the account could not be read" in rung(report, "network")["seen"]


def test_a_time_that_runs_away_is_told_from_a_wrong_signature(served: ServedExchange, patient: Patient) -> None:
    fault("/api/v3/account", status=400, code=-1021, msg="Timestamp for this request is outside of the recvWindow.")(
        served
    )

    found = rung(patient.report(), "signature")

    assert "(-1021)" in found["seen"]
    assert "clock synchronisation" in found["fix"]


def test_a_stream_that_ends_at_once_is_found(served: ServedExchange, patient: Patient) -> None:
    served.exchange.hub.faults.add(StreamFault(kind="cut", times=None))

    assert "closed the connection" in rung(patient.report(), "streams")["seen"]


def test_a_chart_key_whose_day_is_used_up_is_a_warning(served: ServedExchange, patient: Patient) -> None:
    fault("/v3/*", status=429, body='{"message": "Limit Exceeded"}')(served)

    found = rung(patient.report(), "charts")

    assert found["status"] == "warning"
    assert "limit is reached" in found["seen"]


def test_a_live_chart_that_is_switched_off_is_said_to_be_and_of_none_without_charts_nothing_is_said(
    patient: Patient,
) -> None:
    switched_off = rung(patient.report(MCP_BINANCE_CHART_APP="off"), "live_chart")
    without_charts = rung(patient.report(MCP_BINANCE_TOOLSETS="market"), "live_chart")

    assert (switched_off["status"], switched_off["seen"]) == (
        "off",
        "switched off by MCP_BINANCE_CHART_APP: charts are pictures",
    )
    assert (without_charts["status"], without_charts["seen"]) == ("off", "")


def test_the_simulators_rights_can_be_set_by_its_control(served: ServedExchange, patient: Patient) -> None:
    answer = httpx2.post(f"{served.rest_url}/control/key", json={"withdrawals": True}, trust_env=False)

    assert answer.json()["withdrawals"] is True
    assert rung(patient.report(), "withdrawals")["status"] == "problem"


def test_a_folder_for_what_outlives_a_process_is_named_or_said_to_be_closed(patient: Patient, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("where a folder should be")

    fine = rung(patient.report(MCP_BINANCE_STATE_DIR=str(tmp_path / "new" / "state")), "state")
    closed = rung(patient.report(MCP_BINANCE_STATE_DIR=str(tmp_path / "file" / "state")), "state")

    assert (fine["status"], closed["status"]) == ("ok", "warning")
    assert fine["seen"] == "memory, for this process alone; past values in ~/new/state"
    assert closed["seen"].endswith("~/file cannot be written")
    assert closed["try"] == "export MCP_BINANCE_STATE_DIR=off"
    assert not (tmp_path / "new").exists()
