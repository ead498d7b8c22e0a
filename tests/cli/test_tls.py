"""`--tls-cert` and `--tls-key`: one process, several, and gRPC, each with a certificate made for the test."""

import re
import runpy
import ssl
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import grpc
import httpx2
import pytest
from grpc.aio import secure_channel

from mcp_binance_server.cli.main import main
from mcp_binance_server.transports.arrival import Certificate
from support.certificates import certificate
from support.process import Process
from support.provider import Provider
from support.requirement import requirement
from support.state_server import BINARY
from support.webapp import HttpClient
from support.workers import surroundings, wait_for

pytestmark = pytest.mark.flood

HOST = "127.0.0.1"
CHECK = Path(__file__).parents[2] / "docker" / "healthcheck.py"
check: Callable[[list[str]], None] = runpy.run_path(str(CHECK), run_name="healthcheck")["check"]
BALANCES = {"uri": "binance://account/balances"}
ACCEPT = {"accept": "application/json, text/event-stream"}
ONE_EACH = httpx2.Limits(max_keepalive_connections=0)  # each request on a connection of its own, to any process


@pytest.fixture
def files(tmp_path: Path) -> Certificate:
    return Certificate(*certificate(tmp_path, valid_for=HOST))


def flags(files: Certificate) -> tuple[str, ...]:
    return "--tls-cert", str(files.chain), "--tls-key", str(files.key)


@contextmanager
def told(pattern: str, *arguments: str, environment: dict[str, str]) -> Generator[str]:
    """Start the command and return what it says when it is ready."""
    with Process(*arguments, "--port", "0", environment=environment, warm=True) as process:
        try:
            wait_for(lambda: re.search(pattern, process.errors.read_text()) is not None, pattern)
            found = re.search(pattern, process.errors.read_text())
            assert found is not None
            yield found[1]
        finally:
            if process.is_running:
                process.terminate()


@pytest.mark.night
@requirement("ruling/47")
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="several processes on one port are not for Windows")
def test_several_workers_speak_tls_and_pass_sessions_on(files: Certificate) -> None:
    async def ask(url: str, keys: dict[str, str]) -> tuple[set[int], list[bool]]:
        trusting = ssl.create_default_context(cafile=str(files.chain))
        async with HttpClient(base_url=url, headers=ACCEPT, verify=trusting, limits=ONE_EACH, timeout=60) as http:
            lent, brought = await http.initialize(), await http.initialize(**keys)
            answers = [await http.ask("resources/read", each, BALANCES) for _ in range(4) for each in (lent, brought)]
            passed = await http.ask("resources/read", lent, BALANCES, x_forwarded_for="203.0.113.9")
        shown = ["Account Balances" in each.text for each in (*answers, passed)]
        return {each.status_code for each in (*answers, passed)}, shown

    if BINARY is None:
        pytest.skip("several workers are not tested here: no redis-server or valkey-server is installed")
    with surroundings() as around:
        own = around.key
        keys = {"x_binance_api_key": own["BINANCE_API_KEY"], "x_binance_secret_key": own["BINANCE_SECRET_KEY"]}
        ready = rf"MCP at (https://{re.escape(HOST)}:\d+)/mcp"
        with told(ready, "--http", "--workers", "2", *flags(files), environment={**around.environment, **own}) as url:
            statuses, shown = anyio.run(ask, url, keys)
            check(["--http", *flags(files), "--port", url.rpartition(":")[2]])  # the image asks so whether it is alive

    assert statuses == {200}
    assert shown == [True] * 8 + [False]


@requirement("ruling/47")
def test_grpc_speaks_tls(files: Certificate) -> None:
    async def listed(address: str) -> list[str]:
        trusting = grpc.ssl_channel_credentials(files.chain.read_bytes())
        async with secure_channel(address, trusting) as channel:
            return [each.name for each in (await Provider(channel).capabilities()).prompts]

    with told(r"provider\.v1 over TLS on (\S+)", "--grpc", *flags(files), environment={}) as address:
        names = anyio.run(listed, address)

    assert names[:2] == ["trading_analysis", "portfolio_risk"]


@pytest.mark.parametrize("transport", [("--http",), ("--http", "--workers", "2"), ("--grpc",)])
def test_files_that_do_not_fit_stop_the_start(
    transport: tuple[str, ...],
    files: Certificate,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MCP_BINANCE_STATE_URL", "redis://127.0.0.1:1")
    other = Certificate(*certificate(tmp_path, valid_for="127.0.0.2"))

    code = main([*transport, "--port", "0", *flags(Certificate(files.chain, other.key))])

    said = capsys.readouterr().err
    assert code == 2
    assert "they cannot be used (key values mismatch)" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--http", "--tls-cert", "x"], "--tls-cert and --tls-key must be used together"),
        (["--tls-cert", "x", "--tls-key", "y"], "--tls-cert, --tls-key: stdio has no address"),
    ],
)
def test_half_a_pair_or_a_pipe_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)

    assert ended.value.code == 2
    assert said in capsys.readouterr().err
