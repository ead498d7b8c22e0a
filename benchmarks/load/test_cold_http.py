"""A crowd at a server that has just been started, over HTTP: a probe of another caller is answered meanwhile."""

import json
import socket
from dataclasses import dataclass, field
from time import clock_gettime, perf_counter

import pytest

from support.process import Process
from support.raw import ENVELOPE
from support.workers import port_of

CALLERS, CROWD = 200, 1_000
# Real time on a busy machine is everybody's; what the server did before it answered a probe is its own. Measured: 25
# to 67 ms; it was 174 to 339 ms while a probe waited its turn behind the crowd of its own address.
MOST_SECS = 0.1
PROBE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

# The callers have a process of their own, so that the one who probes has its answer as soon as it is there.
CALLING = f"""
import asyncio, json, sys

async def call(port, number):
    meta = {ENVELOPE!r}
    params = {{"name": "get_ticker", "arguments": {{"symbol": f"CROWD{{number % 20:03}}USDT"}}, "_meta": meta}}
    body = json.dumps({{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}}).encode()
    head = (
        f"POST /mcp HTTP/1.1\\r\\nHost: 127.0.0.1:{{port}}\\r\\nAccept: application/json, text/event-stream\\r\\n"
        "Content-Type: application/json\\r\\nMCP-Protocol-Version: 2026-07-28\\r\\nMcp-Method: tools/call\\r\\n"
        f"Mcp-Name: get_ticker\\r\\nConnection: close\\r\\nContent-Length: {{len(body)}}\\r\\n\\r\\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + body)
    answer = await reader.read(-1)
    writer.close()
    return answer.startswith(b"HTTP/1.1 200") and b"structuredContent" in answer

async def crowd():
    port = int(sys.stdin.readline())
    return sum(await asyncio.gather(*(call(port, number) for number in range({CALLERS}))))

print("ready", flush=True)
print(asyncio.run(crowd()), flush=True)
"""


@dataclass
class Probes:
    """How long each probe of a server took, in real time and in CPU of the server's own."""

    pid: int
    walls: list[float] = field(default_factory=list[float])
    works: list[float] = field(default_factory=list[float])

    def ask(self, connection: socket.socket) -> None:
        began, work = perf_counter(), self._cpu_secs()
        connection.sendall(PROBE)
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        self.works.append(self._cpu_secs() - work)
        self.walls.append(perf_counter() - began)

    def _cpu_secs(self) -> float:
        """Return the CPU that all threads of the server have had; clock_getcpuclockid(3) makes the same number."""
        return clock_gettime((~self.pid << 3) | 2)

    def __str__(self) -> str:
        waits = sorted(self.walls)
        return (
            f"{len(waits)} probes, p50 {waits[len(waits) // 2] * 1000:.1f} ms, worst {waits[-1] * 1000:.0f} ms, "
            f"of the server's own CPU {max(self.works) * 1000:.0f} ms"
        )


@pytest.mark.timeout(300)
def test_a_cold_crowd_does_not_keep_a_probe_waiting() -> None:
    with Process("simulator", f"--crowd={CROWD}") as simulator, Process(code=CALLING) as callers:
        exchange = json.loads(simulator.line())
        assert callers.line() == b"ready"
        environment = {"BINANCE_REST_URL": exchange["rest"], "BINANCE_STREAM_URL": exchange["streams"]}
        with Process("--http", "--port", "0", environment=environment) as server:
            port, probes = port_of(server), Probes(server.pid)
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                callers.send(f"{port}\n".encode())
                while not callers.has_spoken(0.002):
                    probes.ask(connection)
            answered = int(callers.line())
            server.terminate()
        simulator.terminate()

    print(f"{answered} of {CALLERS} answered; {probes}")  # noqa: T201 - shown by -rP
    assert answered == CALLERS
    assert max(probes.works) < MOST_SECS
