"""Measure a good client during an attack of hundreds of bad ones.

    python scripts/slow_clients.py --connections 400 --seconds 20 [--server http] [--kind body] [--rounds 3]
                                   [--deadline 0.5] [--tool slowhttptest]

The bad clients send headers or bodies slowly, do not read answers, or send requests without end. Starts a small server,
or with `--server http` the real command on the offline exchange. With `--tool`, that program attacks the small server
instead of this script. Prints one JSON object a round: the lifetime of bad connections, and the latency of a good
client during the attack and just before it.
"""

import argparse
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from product import running_product

TOY = Path(__file__).parents[1] / "tests" / "support" / "toy.py"
KINDS = {
    "head": b"POST /echo HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ",
    "body": b"POST /echo HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100000\r\n\r\n",
    "reader": b"GET /long HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
    "pipeline": b"POST /echo HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\n\r\nhi",
}
GOOD = b"POST /echo HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\n\r\nhi"
ASK = (
    b'{"jsonrpc":"2.0","id":1,"method":"%b","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",\
"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"slow","version":"1"}}}}'
)
POST = (
    b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n"
    b"accept: application/json, text/event-stream\r\nmcp-method: %b\r\ncontent-length: %d\r\n\r\n%b"
)
LIST = b"tools/list", len(ASK % b"tools/list"), ASK % b"tools/list"
KINDS_OF_OURS = {
    "head": b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ",
    "body": b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100000\r\n\r\n",
    # The longest answer that every caller can get. It fits into the system's buffers, so the client cannot see that the
    # server has closed the connection. The server's number of open descriptors shows it.
    "reader": POST % LIST,
    "pipeline": POST % LIST,
}
DISCOVER = b"server/discover", len(ASK % b"server/discover"), ASK % b"server/discover"
# Requests of slow clients and of a good client, by server.
SENT = {"toy": KINDS, "http": KINDS_OF_OURS}
ASKED = {"toy": GOOD, "http": POST % DISCOVER}
STATUS_LINE = b"HTTP/1.1 200 "
TOOL_KINDS = {"head": "-H", "body": "-B", "reader": "-X"}
PIPELINED = 24
TICK_SECS = 0.05
OPENED_A_SECOND = 200
GIVE_UP_SECS = 30
GOOD_EVERY_SECS = 0.004


class SlowClient:
    """One slow connection. It notices when the server closes it."""

    def __init__(self, port: int, server: str, kind: str) -> None:
        self._drips = kind != "reader"
        self._socket = socket.socket()
        if kind == "reader":
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self._socket.settimeout(10)
        self._socket.connect(("127.0.0.1", port))
        self._socket.sendall(SENT[server][kind])
        self._socket.setblocking(False)  # noqa: FBT003 - its one argument
        self._poll = select.poll()
        self._poll.register(self._socket, 0)
        self.answers = 0
        self.began = time.perf_counter()

    def is_closed(self) -> bool:
        """Send one more byte, if this kind sends slowly. Return whether the server has closed the connection."""
        if self._poll.poll(0):
            return True
        if not self._drips:
            return False
        try:
            self._socket.send(b"x")
            while self._socket.recv(4_096):
                pass
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def close(self) -> None:
        self._socket.close()


class Pipelining:
    """One connection that sends many requests at once and reads until all are answered."""

    def __init__(self, port: int, server: str, kind: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._socket.sendall(PIPELINED * SENT[server][kind])
        self._socket.setblocking(False)  # noqa: FBT003 - its one argument
        self.answers = 0
        self._end = b""
        self.began = time.perf_counter()

    def is_closed(self) -> bool:
        """Read more. Return whether all requests are answered or the server has closed the connection."""
        try:
            while data := self._socket.recv(2**18):
                # A status line can be split between two reads. The kept end is shorter than a status line, so no line
                # counts twice.
                self.answers += (self._end + data).count(STATUS_LINE)
                self._end = data[1 - len(STATUS_LINE) :]
        except BlockingIOError:
            return self.answers == PIPELINED
        except OSError:
            pass
        return True

    def close(self) -> None:
        self._socket.close()


def attack(port: int, server: str, kind: str, connections: int) -> dict[str, float]:
    """Open the bad connections, two hundred a second. Return their lifetimes."""
    os.nice(10)  # lower the priority, because real attackers have their own machines
    begin = Pipelining if kind == "pipeline" else SlowClient
    clients: list[SlowClient | Pipelining] = []
    lasted: list[float] = []
    answers = 0
    began = time.perf_counter()
    while len(lasted) < connections and (now := time.perf_counter() - began) < GIVE_UP_SECS:
        wanted = min(connections, int(now * OPENED_A_SECOND)) - len(lasted)
        while len(clients) < wanted:
            clients.append(begin(port, server, kind))
        for client in [each for each in clients if each.is_closed()]:
            lasted.append(time.perf_counter() - client.began)
            clients.remove(client)
            answers += client.answers
            client.close()
        time.sleep(TICK_SECS)  # noqa: TID251
    answers += sum(client.answers for client in clients)
    longest = max(lasted, default=GIVE_UP_SECS)
    return {"closed": len(lasted), "longest_secs": round(longest, 2), "answers": answers}


def good_client(port: int, server: str, seconds: float) -> dict[str, float]:
    """Send requests on one connection in a loop. Return the response times."""
    taken: list[float] = []
    until = time.perf_counter() + seconds
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while time.perf_counter() < until:
            began = time.perf_counter()
            client.sendall(ASKED[server])
            answer = b""
            while not is_whole(answer):
                answer += client.recv(4_096)
            taken.append(1_000 * (time.perf_counter() - began))
            time.sleep(GOOD_EVERY_SECS)  # noqa: TID251
    taken.sort()
    return {
        "requests": len(taken),
        "p50_ms": round(taken[len(taken) // 2], 2),
        "p99_ms": round(taken[len(taken) * 99 // 100], 2),
        "max_ms": round(taken[-1], 2),
    }


def is_whole(answer: bytes) -> bool:
    """Return whether the answer to a good request is complete."""
    head, blank, body = answer.partition(b"\r\n\r\n")
    if blank and not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"a good client was refused: {answer!r}")
    return bool(blank) and len(body) == int(head.lower().partition(b"content-length: ")[2].split()[0])


@contextmanager
def served(given: argparse.Namespace) -> Generator[tuple[subprocess.Popen[str], int]]:
    """Start the server and yield it with its port."""
    if given.server == "http":
        with running_product() as product:
            yield product.process, product.port
        return
    deadlines = dict.fromkeys(("head_secs", "body_secs", "reading_secs"), given.deadline) if given.deadline else {}
    server = subprocess.Popen([sys.executable, TOY, json.dumps(deadlines)], stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        yield server, int(server.stdout.readline() if server.stdout else 0)
    finally:
        server.kill()


def measured(given: argparse.Namespace) -> dict[str, object]:
    with served(given) as (server, port):
        attacked = attacked_by_tool if given.tool else attacked_by_us
        found: dict[str, object] = {}
        for kind in given.kind or (TOOL_KINDS if given.tool else KINDS):
            # Measure without an attack immediately before each attack, because the machine's other load varies.
            quiet = good_client(port, given.server, given.seconds)
            found[kind] = {"quiet": quiet, **attacked(given, port, kind)}
        server.send_signal(signal.SIGTERM)
        found["exit_code"] = server.wait(30)
        return found


def attacked_by_us(given: argparse.Namespace, port: int, kind: str) -> dict[str, object]:
    options = [f"--attack={kind}", f"--server={given.server}", f"--port={port}", f"--connections={given.connections}"]
    before = open_files(port, given.server)
    with subprocess.Popen([sys.executable, __file__, *options], stdout=subprocess.PIPE, text=True) as attacker:  # noqa: S603
        good = good_client(port, given.server, given.seconds)
        still_open = open_files(port, given.server) - before
        return {"good": good, "still_open": still_open, "slow": json.loads(attacker.communicate()[0])}


def attacked_by_tool(given: argparse.Namespace, port: int, kind: str) -> dict[str, object]:
    path = "/long" if kind == "reader" else "/echo"
    pace = ["-w", "512", "-y", "1024", "-n", "5", "-z", "32"] if kind == "reader" else ["-i", "10"]
    command = [
        "nice", given.tool, TOOL_KINDS[kind], "-c", str(given.connections), "-r", str(OPENED_A_SECOND), *pace,
        "-l", str(int(given.seconds) + 5),
        "-t", "GET" if kind == "reader" else "POST", "-u", f"http://127.0.0.1:{port}{path}",
    ]  # fmt: skip
    before = open_files(port, given.server)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as attacker:  # noqa: S603
        good = good_client(port, given.server, given.seconds)
        # Count the server's descriptors: the tool counts a reset connection as open while it has data to read.
        still_open = open_files(port, given.server) - before
        attacker.terminate()
    return {"good": good, "still_open": still_open}


def open_files(port: int, server: str) -> int:
    """Return the number of the server's open descriptors."""
    path = {"toy": "/counts", "http": "/metrics"}[server]
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
        answer = b""
        while chunk := client.recv(4_096):
            answer += chunk
    body = answer.partition(b"\r\n\r\n")[2]
    if server == "toy":
        return int(json.loads(body)["descriptors"])
    return int(float(body.partition(b"\nprocess_open_fds ")[2].split()[0]))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--connections", type=int, default=400)
    options.add_argument("--seconds", type=float, default=20)
    options.add_argument("--deadline", type=float, help="seconds for head, body and reading, instead of the real ones")
    options.add_argument("--server", choices=SENT, default="toy", help="a small server, or the real command")
    options.add_argument("--kind", choices=KINDS, action="append", help="attack to run, repeatable")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--tool", help="path of slowhttptest")
    options.add_argument("--attack", choices=KINDS, help=argparse.SUPPRESS)
    options.add_argument("--port", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.server == "http" and (given.tool or given.deadline):
        options.error("--tool and --deadline need the small server")
    if given.attack:
        print(json.dumps(attack(given.port, given.server, given.attack, given.connections)))
    else:
        for _ in range(given.rounds):
            print(json.dumps(measured(given)), flush=True)


if __name__ == "__main__":
    main()
