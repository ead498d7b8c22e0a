"""What the doctor prints: for people and for programs, in full health, with little, and without anybody's secrets."""

import io
import os
import pty
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from binance_simulator.account import KeyRights
from binance_simulator.faults import Fault
from mcp_binance_server.cli.doctor.bench import CheckResult, DoctorCheck, export, forget, good, knock, set_clock
from mcp_binance_server.cli.doctor.examination import LADDER, ReportRedactor
from mcp_binance_server.cli.doctor.local import packages
from mcp_binance_server.cli.doctor.report import lines
from mcp_binance_server.cli.main import main
from mcp_binance_server.cli.terminal import Terminal
from support.exchange_socket import ServedExchange
from support.golden import Golden
from support.patient import Patient, rung, statuses
from support.process import clean_environment
from support.warm import WarmProcess

VOLATILE = (
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST"),
    (re.compile(r"port \d+"), "port N"),
    (re.compile(r"\d+ ms"), "N ms"),
    (re.compile(r"\d+ of 6000"), "N of 6000"),
)


def steady(text: str) -> str:
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return text


def test_a_healthy_report_has_a_steady_shape(patient: Patient, golden: Golden) -> None:
    report = patient.report()

    for name in ("python", "packages"):
        rung(report, name)["seen"] = "VERSIONS"
    report["version"] = "VERSION"
    told = {key: value for key, value in report.items() if key != "rungs"}
    told["rungs"] = [{**each, "seen": steady(each["seen"])} for each in report["rungs"]]
    golden.check("doctor/healthy.json", told)


def test_people_read_a_line_for_each_rung_within_eighty_columns(patient: Patient, served: ServedExchange) -> None:
    served.exchange.rights = KeyRights(withdrawals=True, ip_restricted=False)

    code, said = patient.lines(CHART_IMG_KEY="x", CHART_IMG_API_KEY="")

    assert code == 1
    assert max(map(len, said.splitlines())) <= 80
    assert "\x1b" not in said
    assert all(each.title in said for each in LADDER)
    assert "Not healthy: 1 problem, 2 warnings." in said
    assert f"see   {'https://www.binance.com/en/my/settings/api-management'}" in said


def test_a_quiet_report_is_of_trouble_alone(patient: Patient, served: ServedExchange) -> None:
    healthy = patient.trouble()
    served.exchange.rights = KeyRights(withdrawals=True, ip_restricted=False)

    code, said = patient.trouble()

    assert healthy == (0, "")
    assert code == 1
    assert [line.split()[0] for line in said.splitlines() if line.startswith("  ") and line[2] != " "] == ["!", "✗"]


def test_without_a_key_there_is_nothing_to_say_about_it(patient: Patient) -> None:
    bare = dict.fromkeys(("BINANCE_API_KEY", "BINANCE_SECRET_KEY", "CHART_IMG_API_KEY", "BINANCE_STREAM_URL"), "")

    code, said = patient.lines(**bare)
    report = patient.report(**bare)

    assert code == 0
    assert "Healthy." in said
    assert "none set: public data only" in said
    assert "Withdrawals" not in said
    assert statuses(report)["withdrawals"] == statuses(report)["network"] == "off"
    assert "everything is read by REST" in rung(report, "streams")["seen"]


@pytest.mark.parametrize("network", ["testnet", "demo"])
def test_networks_that_tell_no_rights_are_not_asked(network: str, patient: Patient, served: ServedExchange) -> None:
    report = patient.report(BINANCE_NETWORK=network)

    assert f"{network} does not report" in rung(report, "permissions")["seen"]
    assert statuses(report)["withdrawals"] == "off"
    assert not any("sapi" in request.path for request in served.exchange.requests)


def test_a_host_that_tells_no_rights_is_no_problem(patient: Patient, served: ServedExchange) -> None:
    served.exchange.faults.add(Fault(kind="status", path="/sapi/*", times=None, status=404, body="Not Found"))

    report = patient.report()

    assert report["healthy"] is True
    assert "this host does not report" in rung(report, "permissions")["seen"]


def test_a_key_that_may_trade_is_told_that_nobody_needs_it(patient: Patient, served: ServedExchange) -> None:
    served.exchange.rights = KeyRights(trading=True)

    assert rung(patient.report(), "permissions")["seen"] == "may read, trade; this server only reads"


def test_no_image_is_spent_and_little_weight(patient: Patient, served: ServedExchange) -> None:
    before = served.exchange.charts.remaining

    patient.report()

    assert served.exchange.charts.remaining == before
    assert sum(request.weight for request in served.exchange.requests) <= 60


@pytest.mark.night
def test_nothing_secret_is_in_any_report(patient: Patient, served: ServedExchange, tmp_path: Path) -> None:
    account = served.exchange.account
    secrets = (account.api_key, account.secret_key, served.exchange.charts.api_key, "203.0.113.7", str(tmp_path))
    illnesses: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({"reading": False}, {}),
        ({"address_listed": False}, {}),
        ({"withdrawals": True}, {"BINANCE_SECRET_KEY": account.api_key}),
        ({}, {"MCP_BINANCE_LOG_LEVEL": account.secret_key}),
        ({}, {"BINANCE_API_KEY": f"{account.api_key}{account.secret_key}"}),
    ]

    for boxes, environment in illnesses:
        served.exchange.rights = KeyRights(**boxes)
        said = str(patient.report(**environment)) + patient.lines(**environment)[1]

        assert not any(secret[at : at + 9] in said for secret in secrets for at in range(len(secret) - 8))


def test_what_others_say_is_cleaned() -> None:
    cleaner = ReportRedactor(["CaNaRy0123456789"], "/home/ann")
    said = (
        "CaNaRy0123456789 at /home/ann/x from 203.0.113.7, 2001:db8::1 or 127.0.0.1:80 at 12:30:45\x1b[31m, try 1.1.1.1"
    )

    cleaned = cleaner.clean(CheckResult("problem", said, said, said, said))

    assert cleaned.seen == "[hidden] at ~/x from [address], [address] or 127.0.0.1:80 at 12:30:45 [31m, try 1.1.1.1"
    assert cleaned.seen == cleaned.why == cleaned.fix == cleaned.command
    assert len(cleaner.text("x" * 9_999)) <= 400
    assert "CaNaRy" not in repr(cleaner)


async def test_packages_that_do_not_fit_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def required(_name: str) -> list[str]:
        return ["mcp>=99", "httpx2<1 ; python_version > '3'", "gone-package>=1"]

    monkeypatch.setattr("importlib.metadata.requires", required)

    found = await packages(None)  # type: ignore[arg-type]

    assert found.status == "problem"
    assert "mcp 2." in found.seen
    assert "needs >=99" in found.seen
    assert "gone-package missing" in found.seen


def test_commands_are_those_of_the_system() -> None:
    assert (forget(["A", "B"], "linux"), forget(["A", "B"], "win32")) == (
        "unset A B",
        "Remove-Item Env:A; Remove-Item Env:B",
    )
    assert (export("A", "b", "darwin"), export("A", "b", "win32")) == ("export A=b", '$env:A="b"')
    assert (knock("h", 1, "linux"), knock("h", 1, "win32")) == ("nc -vz h 1", "Test-NetConnection h -Port 1")
    assert len({set_clock(platform) for platform in ("linux", "darwin", "win32")}) == 3


class Ascii(io.StringIO):
    """A stream of an old console."""

    encoding = "cp437"


def test_where_a_tick_cannot_be_written_words_are() -> None:
    terminal = Terminal.of(Ascii(), {})

    said = lines(DoctorCheck("x", "Title", packages), good("fine"), terminal)

    assert said == "  ok   Title           fine\n"
    assert said.isascii()


@pytest.mark.night
@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is a Unix thing")
@pytest.mark.parametrize("colourless", [False, True])
def test_a_terminal_shows_colour_unless_asked_not_to(
    served: ServedExchange, tmp_path: Path, *, colourless: bool
) -> None:
    terminal, end = pty.openpty()
    environment = {**served.environment(), "HOME": str(tmp_path), "TERM": "xterm", "COLUMNS": "80"}
    environment |= {"NO_COLOR": "1"} if colourless else {}
    process = WarmProcess(["doctor"], None, (end, end, end), clean_environment(environment), in_terminal=True)
    os.close(end)
    said = _everything(terminal)

    assert process.wait(60) == 0
    assert ("\x1b[32m✓\x1b[0m" in said) is not colourless
    assert "… Public REST\r\x1b[K" in said
    assert "Healthy" in said


def test_the_command_and_its_exit_code(
    served: ServedExchange, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {**served.environment(), "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}.items():
        monkeypatch.setenv(name, value)

    assert main(["doctor"]) == 0
    monkeypatch.setenv("BINANCE_NETWORK", "moonnet")
    assert main(["doctor", "--json"]) == 1
    assert '"network": null' in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--jsno"])
    assert left.value.code == 2
    assert "did you mean --json?" in capsys.readouterr().err


def _everything(terminal: int) -> str:
    said = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not chunk:
            break
        said += chunk
    os.close(terminal)
    return said.decode()
