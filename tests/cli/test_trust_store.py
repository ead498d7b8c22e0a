"""SSL_CERT_FILE and SSL_CERT_DIR that cannot be used: one line that names variable, path and fix."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mcp_binance_server.channel import Channel
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.state.engine_factory import open_engine
from mcp_binance_server.tls.trust_store import check_trust_store
from support.certificates import certificate
from support.clock import FakeClock
from support.patient import Patient, rung
from support.process import COMMAND, PATIENCE_SECS, clean_environment, run_warm

MISSING = "/nonexistent/authorities.pem"
LINE = (
    f"The configuration cannot be used: SSL_CERT_FILE: {MISSING}: No such file or directory. "
    "Name a PEM file of certificate authorities, or unset the variable\n"
)


def missing(_folder: Path) -> dict[str, str]:
    return {"SSL_CERT_FILE": MISSING}


def folder_as_file(folder: Path) -> dict[str, str]:
    return {"SSL_CERT_FILE": str(folder)}


def missing_folder(_folder: Path) -> dict[str, str]:
    return {"SSL_CERT_DIR": "/nonexistent"}


def no_pem(folder: Path) -> dict[str, str]:
    (folder / "text.pem").write_text("no certificate", encoding="ascii")
    return {"SSL_CERT_FILE": str(folder / "text.pem")}


def cut_short(folder: Path) -> dict[str, str]:
    chain, _ = certificate(folder, valid_for="127.0.0.1")
    chain.write_bytes(chain.read_bytes()[:200])
    return {"SSL_CERT_FILE": str(chain)}


def empty_folder(folder: Path) -> dict[str, str]:
    return {"SSL_CERT_DIR": str(folder)}


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        (missing, f"SSL_CERT_FILE: {MISSING}: No such file or directory"),
        (folder_as_file, "Is a directory"),
        (no_pem, "text.pem: no PEM certificate in it"),
        (cut_short, "127.0.0.1.crt: no PEM certificate in it"),
        (missing_folder, "SSL_CERT_DIR: /nonexistent: No such file or directory"),
        (empty_folder, "no certificate with a hashed name"),
    ],
    ids=["missing", "folder", "text", "cut", "missing-folder", "empty-folder"],
)
def test_what_cannot_be_trusted_is_named_with_its_variable(
    environment: Callable[[Path], Mapping[str, str]], told: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as caught:
        check_trust_store(environment(tmp_path))

    (problem,) = caught.value.problems
    assert told in problem
    assert problem.endswith("unset the variable")


def test_what_can_be_used_passes(tmp_path: Path) -> None:
    chain, _ = certificate(tmp_path, valid_for="127.0.0.1")
    hashed = tmp_path / "hashed"
    hashed.mkdir()
    (hashed / "0a1b2c3d.0").write_bytes(chain.read_bytes())

    for environment in (
        {},
        {"SSL_CERT_FILE": "", "SSL_CERT_DIR": ""},
        {"SSL_CERT_FILE": str(chain), "SSL_CERT_DIR": "/nonexistent"},
        {"SSL_CERT_DIR": os.pathsep.join(("/nonexistent", str(hashed)))},
    ):
        check_trust_store(environment)


@pytest.mark.parametrize(
    "arguments", ["--stdio", "--http --port 0", "--grpc --port 0", "--http --port 0 --workers 2", "ask get_server_time"]
)
def test_every_command_that_connects_ends_with_two_and_one_line(arguments: str) -> None:
    done = run_warm(*arguments.split(), environment={"SSL_CERT_FILE": MISSING})

    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", LINE)


def test_a_process_of_its_own_says_the_same() -> None:
    done = subprocess.run(
        [*COMMAND, "ask", "get_server_time"],
        capture_output=True,
        timeout=PATIENCE_SECS,
        check=False,
        env=clean_environment({"SSL_CERT_FILE": MISSING}),
    )

    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", LINE)


def test_the_doctor_names_it_at_the_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patient = Patient({"HOME": str(tmp_path), "SSL_CERT_FILE": MISSING}, capsys)

    found = rung(patient.report(), "configuration")

    assert found["status"] == "problem"
    assert found["seen"].startswith(f"SSL_CERT_FILE: {MISSING}: No such file or directory")
    assert found["try"] == "unset SSL_CERT_FILE"


async def test_a_file_that_goes_away_after_the_start_is_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", MISSING)
    channel = Channel(deadline_secs=1)

    with pytest.raises(SettingsError) as caught:
        await channel.get("https://127.0.0.1:1/", {}, body_cap=1)

    assert "SSL_CERT_FILE, SSL_CERT_DIR: No such file or directory" in caught.value.message


@pytest.mark.parametrize("option", ["ssl_ca_certs", "ssl_certfile", "ssl_keyfile"])
def test_a_file_of_the_state_servers_address_is_read_at_the_start(option: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_engine(f"rediss://user:CaNaRyPassword@127.0.0.1/0?{option}={MISSING}", FakeClock())

    assert caught.value.problems == (f"MCP_BINANCE_STATE_URL: {option}: {MISSING}: No such file or directory",)
