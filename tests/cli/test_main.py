"""The command line: what a person types, what comes back, and the exit code."""

import json
import socket
import subprocess
from dataclasses import dataclass

import pytest

from mcp_binance_server import __version__
from mcp_binance_server.cli.main import main
from mcp_binance_server.cli.terminal import Verbosity
from support.process import COMMAND, PATIENCE_SECS, Process, clean_environment, run_warm
from support.requirement import requirement


@dataclass(frozen=True, slots=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str, **environment: str) -> Done:
    done = run_warm(*arguments, environment=environment)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])

    assert left.value.code == 0
    assert capsys.readouterr().out == f"mcp-binance-server {__version__}\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])

    shown = capsys.readouterr().out
    assert left.value.code == 0
    assert all(word in shown for word in ("demo", "simulator", "guide", "--stdio", "BINANCE_API_KEY"))


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--stdoi"], "did you mean --stdio?"),
        (["--grcp"], "did you mean --grpc?"),
        (["--http", "--grpc"], "not allowed with argument --http"),
        (["--sse", "--stdio"], "not allowed with argument --sse"),
        (["--port", "3000"], "--port: stdio has no address"),
        (["--stdio", "--host", "::1", "--unsafe-no-auth"], "--host, --unsafe-no-auth: stdio has no address"),
        (["--http", "demo"], "--http and the command demo exclude each other"),
        (["--stdio", "demo"], "--stdio and the command demo exclude each other"),
        (["trade"], "invalid choice: 'trade'"),
        (["simulator", "--port", "many"], "a port must be a number from 0 to 65535"),
        (["simulator", "--sede", "1"], "did you mean --seed?"),
        (["demo", "--port", "3000"], "demo --port needs --http"),
        (["--quiet", "setup", "--client", "zed"], "--quiet has no effect on the command setup"),
        (["--log-level", "debug", "doctor"], "--log-level has no effect on the command doctor"),
        (["--log-level", "loud"], "invalid choice: 'LOUD'"),
        (["completion", "cmd"], "invalid choice: 'cmd'"),
        (["--api-key", "x"], "unrecognized arguments: --api-key (keys come from the environment"),
        (["--seed", "-5", "--x"], "unrecognized arguments: --x"),
    ],
)
@requirement("ruling/23", "data-model/transport-exclusive", "ruling/30")
def test_a_wrong_flag_ends_with_two_and_a_line_that_helps(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)

    shown = capsys.readouterr()
    assert left.value.code == 2
    assert shown.out == ""
    assert hint in shown.err
    assert "--help" in shown.err


@pytest.mark.parametrize(
    ("environment", "hint"),
    [
        ({"BINANCE_NETWORK": "moonnet"}, "BINANCE_NETWORK"),
        ({"BINANCE_API_KEY": "only-a-key"}, "belong together"),
        ({"BINANCE_API_KEY": "k", "BINANCE_PRIVATE_KEY_FILE": "does-not-exist.pem"}, "No such file"),
        ({"BINANCE_API_KEY": "k", "BINANCE_SECRET_KEY": "-----BEGIN PRIVATE KEY-----"}, "not an unencrypted PKCS#8"),
        ({"MCP_BINANCE_STATE_URL": "redis://host:port"}, "MCP_BINANCE_STATE_URL"),
        ({"MCP_BINANCE_ANALYTICS_NONSENSE": "1"}, "MCP_BINANCE_ANALYTICS_NONSENSE"),
    ],
)
def test_settings_that_cannot_be_used_end_with_two_and_name_the_variable(
    environment: dict[str, str], hint: str
) -> None:
    done = run("--stdio", **environment)

    assert done.returncode == 2
    assert done.stdout == ""
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.night
def test_the_server_without_a_client_ends_quietly() -> None:
    done = subprocess.run(
        [*COMMAND],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=PATIENCE_SECS,
        check=False,
        env=clean_environment({}),
    )

    assert (done.returncode, done.stdout) == (0, b"")


@requirement("ruling/43")
@pytest.mark.parametrize("arguments", ["--stdio", "--http --port 0", "--grpc --port 0", "demo", "ask get_server_time"])
def test_a_variable_that_nobody_reads_stops_the_start_with_one_line(arguments: str) -> None:
    done = run(*arguments.split(), BINANCE_TESTNET="true")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "The configuration cannot be used: BINANCE_TESTNET: unknown setting. Did you mean BINANCE_NETWORK=testnet?\n"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--http", "cannot listen on 127.0.0.1 port {}: Address already in use"),
        ("--sse", "cannot listen on 127.0.0.1 port {}: Address already in use"),
        ("demo --http", "cannot listen on 127.0.0.1 port {}: Address already in use"),
        ("--grpc", "127.0.0.1:{}"),
        ("simulator", "--port {}: Address already in use"),
    ],
)
def test_a_port_that_is_taken_is_told_in_one_line(arguments: str, told: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run(*arguments.split(), "--port", port)

    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("The configuration cannot be used: ")
    assert told.format(port) in line
    assert "in use" in line


@pytest.mark.parametrize("arguments", ["--http", "demo --http", "--grpc", "simulator"])
@pytest.mark.parametrize("port", ["70000", "-5", "http"])
def test_a_port_out_of_range_is_refused(arguments: str, port: str) -> None:
    done = run(*arguments.split(), "--port", port)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"argument --port: a port must be a number from 0 to 65535, not '{port}'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_simulator_with_an_unknown_scenario_says_which_there_are() -> None:
    done = run("simulator", "--scenario", "apocalypse")

    assert done.returncode == 2
    assert "Unknown scenario 'apocalypse'" in done.stderr
    assert "contract" in done.stderr


def test_the_simulators_first_line_is_json_with_addresses_and_a_funded_key() -> None:
    with Process("simulator", "--seed", "11", warm=True) as process:
        described = json.loads(process.line())

        assert set(described) == {
            "rest",
            "streams",
            "ws_api",
            "futures_rest",
            "futures_streams",
            "control",
            "api_key",
            "secret_key",
            "chart_img",
            "chart_docs",
            "chart_img_key",
        }
        assert described["rest"].startswith("http://127.0.0.1:")
        assert len(described["secret_key"]) == 64
        assert process.terminate() in (0, -15)


def test_ctrl_c_is_a_way_to_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_verbosity: Verbosity) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("mcp_binance_server.cli.serve.run_stdio", interrupted)

    assert main([]) == 130
