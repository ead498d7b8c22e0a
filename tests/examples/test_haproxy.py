"""The balancer of examples/http-fleet, for real: sessions of two servers keep to the one that opened them."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from support.state_server import BINARY, free_port
from support.webapp import HttpClient, request
from support.workers import http_server, surroundings, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.flood]

CONFIG = Path(__file__).parents[2] / "examples" / "http-fleet" / "haproxy.cfg"
ACCEPT = {"accept": "application/json, text/event-stream"}
SESSIONS = 8
EACH = 40


@pytest.fixture
def haproxy() -> str:
    found = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if found is None:
        pytest.skip("the balancer's example is not checked here: haproxy is not installed")
    return found


def plain(folder: Path, port: int, servers: tuple[int, int] = (3000, 3000)) -> Path:
    """Write the example for this machine: no certificate, other ports; the rest is as it stands."""
    text = CONFIG.read_text(encoding="utf-8")
    text, bound = re.subn(r"bind :8443 .*", f"bind 127.0.0.1:{port}", text)
    for number, server in enumerate(servers, 1):
        text, named = re.subn(rf"server{number}:3000", f"127.0.0.1:{server}", text)
        assert named == 1
    assert bound == 1
    config = folder / "haproxy.cfg"
    config.write_text(text)
    return config


def test_haproxy_takes_its_configuration(haproxy: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [haproxy, "-c", "-f", str(plain(tmp_path, 8443))], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr


@pytest.fixture
def balanced(haproxy: str, tmp_path: Path) -> Iterator[tuple[int, tuple[int, int]]]:
    """Run two servers on one state, and the balancer before them."""
    if BINARY is None:
        pytest.skip("the balancer's example is not checked here: no redis-server or valkey-server is installed")
    port = free_port()
    with surroundings() as around, http_server(around) as (_, first), http_server(around) as (_, second):
        config = plain(tmp_path, port, (first, second))
        said = tmp_path / "said"
        with said.open("wb") as stderr:
            process = subprocess.Popen([haproxy, "-db", "-f", str(config)], stdout=stderr, stderr=stderr)
        try:
            wait_for(lambda: process.poll() is not None or uses_both(port, (first, second)), "both")
            assert process.poll() is None, said.read_text()
            yield port, (first, second)
        finally:
            process.terminate()
            process.wait(30)


def uses_both(port: int, servers: tuple[int, int]) -> bool:
    """Ask the balancer something, and look whether it has ever asked each of its servers."""
    with suppress(httpx2.TransportError):
        httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=5)
        return all('route="/healthz"' in httpx2.get(f"http://127.0.0.1:{each}/metrics").text for each in servers)
    return False


@pytest.mark.night
async def test_a_session_keeps_to_its_server_through_forty_requests(balanced: tuple[int, tuple[int, int]]) -> None:
    port, servers = balanced
    limits = httpx2.Limits(max_keepalive_connections=0)  # a connection for each request: only the id can tell
    statuses: Counter[int] = Counter()
    async with HttpClient(base_url=f"http://127.0.0.1:{port}", headers=ACCEPT, limits=limits, timeout=60) as http:
        sessions = [await http.initialize() for _ in range(SESSIONS)]
        for number in range(EACH):
            for session in sessions:
                statuses[(await http.ask("ping", session, request_id=number)).status_code] += 1
        pair = (await http.post("/mcp/sse")).headers["connection-id"]
        for number in range(EACH):
            sent = request("ping", None, number)
            told = await http.post("/mcp/message", json=sent, headers={"connection-id": pair})
            statuses[told.status_code] += 1
        assert (await http.get("/metrics")).status_code == 404

    assert statuses == {200: (SESSIONS + 1) * EACH}
    served = [httpx2.get(f"http://127.0.0.1:{server}/metrics").text for server in servers]
    assert all(re.search(r'requests_total\{method="ping"', text) for text in served), "one server had it all"
