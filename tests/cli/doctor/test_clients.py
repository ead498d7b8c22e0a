"""Each client's entry is started by the doctor as the client would start it: a real process, greeted and ended."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_binance_server.cli.doctor.clients import greeted
from mcp_binance_server.cli.setup.clients import CLIENTS
from mcp_binance_server.cli.setup.plan import OurEntry
from support.patient import Patient, rung

pytestmark = pytest.mark.slow

OURS = {"command": sys.executable, "args": ["-m", "mcp_binance_server"]}
SECRET = "CaNaRy0123456789" * 4


@pytest.fixture
def entries(tmp_path: Path) -> Any:  # noqa: ANN401 - a function with names of its own
    def write(**servers: object) -> None:
        (tmp_path / ".cursor").mkdir(exist_ok=True)
        (tmp_path / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    return write


@pytest.mark.night
def test_an_entry_that_works_is_started_and_greeted(patient: Patient, entries: Any, tmp_path: Path) -> None:  # noqa: ANN401 - the fixture above
    entries(binance=OURS, other={"command": "/nonexistent/other"})
    (tmp_path / ".codex").mkdir()
    written = json.dumps(OURS["args"])
    (tmp_path / ".codex/config.toml").write_text(
        f'[mcp_servers.mine]\ncommand = "{sys.executable}"\nargs = {written}\n', encoding="utf-8"
    )

    seen = rung(patient.report(), "clients")

    assert seen["status"] == "ok", seen
    assert seen["seen"].startswith("Cursor, Codex: each starts it, ")


@pytest.mark.night
@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "/nonexistent/mcp-binance-server"}, "cannot be started (No such file or directory)"),
        (
            {**OURS, "env": {"BINANCE_NETWORK": "mars"}},
            "the server exits at once; last output: The configuration cannot be used: BINANCE_NETWORK",
        ),
        ({**OURS, "args": ["-c", "print('mcp-binance-server 1.0')"]}, "its output is not MCP"),
    ],
    ids=["moved", "wrong setting", "not MCP"],
)
def test_an_entry_that_does_not_work_is_told_with_the_command_that_fixes_it(
    entry: dict[str, object],
    said: str,
    patient: Patient,
    entries: Any,  # noqa: ANN401 - the fixture above
) -> None:
    entries(mine=entry)

    seen = rung(patient.report(), "clients")

    assert seen["status"] == "problem"
    assert seen["seen"].startswith("Cursor, entry 'mine': ")
    assert said in seen["seen"]
    assert seen["try"].endswith("setup --client cursor --name mine --no-keys")


def test_what_a_client_does_not_hand_down_is_not_there(patient: Patient, entries: Any) -> None:  # noqa: ANN401 - the fixture above
    told = "import os, sys; print([n for n in os.environ if 'BINANCE' in n], file=sys.stderr) # mcp-binance-server"
    entries(binance={"command": sys.executable, "args": ["-c", told], "env": {"MCP_BINANCE_LOG_LEVEL": "INFO"}})

    seen = rung(patient.report(MCP_BINANCE_TOOLSETS="market"), "clients")

    assert "last output: ['MCP_BINANCE_LOG_LEVEL']" in seen["seen"]


def test_a_key_in_an_entry_is_not_shown(patient: Patient, entries: Any) -> None:  # noqa: ANN401 - the fixture above
    told = "import os, sys; print(os.environ['BINANCE_SECRET_KEY'], file=sys.stderr) # mcp-binance-server"
    entries(binance={"command": sys.executable, "args": ["-c", told], "env": {"BINANCE_SECRET_KEY": SECRET}})

    report = patient.report()

    assert "the server exits at once" in rung(report, "clients")["seen"]
    assert SECRET[:9] not in str(report)


def test_an_entry_that_is_switched_off_is_not_started(patient: Patient, entries: Any) -> None:  # noqa: ANN401 - the fixture above
    entries(binance={"command": "/nonexistent/mcp-binance-server", "disabled": True})

    seen = rung(patient.report(), "clients")

    assert (seen["status"], seen["seen"].partition(":")[0]) == ("off", "no MCP client here is set up yet")


def test_a_file_that_cannot_be_read_is_a_warning(patient: Patient, tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text("{", encoding="utf-8")

    seen = rung(patient.report(), "clients")

    assert (seen["status"], seen["seen"]) == ("warning", "~/.cursor/mcp.json cannot be read")


@pytest.mark.night
def test_one_that_never_answers_is_not_waited_for_and_is_ended(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    # A shell is there at once, also on a busy machine: what is waited for is the patience alone.
    code = f"trap '' TERM; echo $$ > '{marker}'; while :; do read -r line || exec sleep 600; done"
    entry = OurEntry(CLIENTS["cursor"], "binance", "/bin/sh", ("-c", code), {})

    greeting = anyio.run(partial(greeted, entry, {}, patience_secs=1, leave_secs=0.5))

    assert greeting.problem == "no answer within 1 s"
    assert not Path(f"/proc/{marker.read_text(encoding='utf-8').strip()}").exists()
