"""Our server against the bare SDK, interleaved, as ratios. See README.md.

python ab.py stdio                                                    bare against bare: must give about 1
python ab.py stdio --ours "mcp-binance-server" --tool NAME --args JSON --resource URI
python ab.py http  --ours "mcp-binance-server --http --port {port}" --tool NAME --args JSON
python ab.py http  --ours http://127.0.0.1:8080/mcp --tool NAME --args JSON
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import http_load
import stdio_load
from measuring import Calls, listener_pid, show

BARE = [sys.executable, str(Path(__file__).with_name("bare_server.py"))]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port: int, process: subprocess.Popen[Any], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with exit code {process.returncode} before it listened")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"nothing listens on port {port} after {seconds:.0f} s")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transport", choices=["stdio", "http"])
    parser.add_argument("--ours", help="a command line ({port} is replaced for http) or, for http, a URL")
    parser.add_argument("--tool", help="tool to call on ours (default: echo)")
    parser.add_argument("--args", type=json.loads, help="its arguments as JSON")
    parser.add_argument("--resource", help="resource to read on ours; without it only tools are measured")
    parser.add_argument("--header", action="append", default=[], metavar="K:V", help="extra header for ours")
    parser.add_argument("--path", default="/mcp", help="path of ours when --ours is a command (default /mcp)")
    parser.add_argument("--pid", type=int, help="server process of ours when --ours is a URL (default: the listener)")
    parser.add_argument("--eras", default="handshake,modern", help="stdio: handshake,modern")
    parser.add_argument("--modes", default="modern,stateful", help="http: modern,stateful,stateless")
    parser.add_argument("--response", choices=["json", "sse"], default="json", help="answers of the bare HTTP server")
    parser.add_argument("--clients", default="1,8", help="http: connections, e.g. 1,8,64")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of windows per case")
    parser.add_argument("--requests", type=int, default=1500, help="stdio: requests per window")
    parser.add_argument("--seconds", type=float, default=2.0, help="http: length of a window")
    parser.add_argument("--cold", type=int, default=3, help="stdio: cold starts per side, 0 to skip")
    parser.add_argument("--first-answers", type=int, metavar="PAIRS", help="stdio: only starts, in this many pairs")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--max-cpu-ratio", type=float, help="exit 1 when a CPU ratio is above this")
    parser.add_argument("--max-p50-ratio", type=float, help="exit 1 when a p50 ratio is above this")
    return parser.parse_args()


def run_http(options: argparse.Namespace, calls: Calls, kinds: list[str]) -> list[Any]:
    modes = options.modes.split(",")
    if "stateless" in modes and len(modes) > 1:
        raise SystemExit("stateless needs a bare server of its own: run it alone with --modes stateless")
    flags = ["--response", options.response, *(["--stateless"] if modes == ["stateless"] else [])]
    started: list[subprocess.Popen[Any]] = []

    def launch(command: list[str], port: int) -> int:
        started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        wait_for(port, started[-1])
        return started[-1].pid

    try:
        port = free_port()
        pid = launch([*BARE, "http", str(port), *flags], port)
        bare = http_load.HttpSide("bare", f"http://127.0.0.1:{port}/mcp", Calls(), pid)
        headers = dict(h.split(":", 1) for h in options.header)
        if options.ours and options.ours.startswith("http://"):
            ours = http_load.HttpSide("ours", options.ours, calls, options.pid, headers)
            host, port = ours.address
            if ours.pid is None and host in ("127.0.0.1", "localhost"):
                ours.pid = listener_pid(port)
        else:
            port = free_port()
            command = (
                shlex.split(options.ours.replace("{port}", str(port)))
                if options.ours
                else [*BARE, "http", str(port), *flags]
            )
            path = options.path if options.ours else "/mcp"
            ours = http_load.HttpSide("ours", f"http://127.0.0.1:{port}{path}", calls, launch(command, port), headers)
        if ours.pid is None:
            print("WARNING: the process of ours is not visible here: no CPU ratio (give --pid)")
        clients = [int(number) for number in options.clients.split(",")]
        return asyncio.run(http_load.run(bare, ours, modes, kinds, clients, options.rounds, options.seconds))
    finally:
        for process in started:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def show_first_answers(options: argparse.Namespace, pairs: list[dict[str, float]]) -> None:
    ratio = statistics.median(each["ratio"] for each in pairs)
    print(f"CPU to the reply of initialize: median ratio of {len(pairs)} pairs {ratio:.2f}")
    if options.json:
        options.json.write_text(json.dumps({"first_answers": pairs, "ratio": ratio}, indent=1) + "\n")


def main() -> None:
    options = arguments()
    if options.ours and not options.tool:
        raise SystemExit("--ours needs --tool (and --args): name a tool that answers from memory")
    calls = Calls()
    kinds = ["tool", "res"]
    if options.ours:
        calls = Calls(options.tool, options.args or {}, options.resource or "")
        kinds = ["tool", "res"] if options.resource else ["tool"]
    figures: dict[str, Any] = {}
    if options.transport == "stdio":
        command = shlex.split(options.ours) if options.ours else [*BARE, "stdio"]
        bare = stdio_load.StdioSide("bare", [*BARE, "stdio"], Calls())
        ours = stdio_load.StdioSide("ours", command, calls)
        if options.first_answers:
            show_first_answers(options, stdio_load.first_answers(bare, ours, options.first_answers))
            return
        if options.cold:
            figures["cold_start"] = cold = stdio_load.cold_start(bare, ours, options.cold)
            for step, asked in (("", "initialize"), ("_list", "tools/list at once after it")):
                print(
                    f"cold start to the reply of {asked}, best of {options.cold}: "
                    f"wall {cold[f'bare{step}_wall_ms']:.0f} -> {cold[f'ours{step}_wall_ms']:.0f} ms, "
                    f"cpu {cold[f'bare{step}_cpu_ms']:.0f} -> {cold[f'ours{step}_cpu_ms']:.0f} ms, "
                    f"ratio {cold[f'ours{step}_cpu_ms'] / cold[f'bare{step}_cpu_ms']:.2f}"
                )
        rows = stdio_load.run(bare, ours, options.eras.split(","), kinds, options.rounds, options.requests)
    else:
        rows = run_http(options, calls, kinds)
    figures["rows"] = summaries = [row.summary() for row in rows]
    show(summaries)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    for limit, name in ((options.max_cpu_ratio, "cpu_ratio"), (options.max_p50_ratio, "p50_ratio")):
        over = [r["case"] for r in summaries if limit and r[name] and r[name] > limit]
        if over:
            raise SystemExit(f"{name} above {limit}: {', '.join(over)}")


if __name__ == "__main__":
    main()
