"""Start each peer, and our server, against the same loopback exchange and print one table.

python -m peers.bench --into DIR [--peers amz,snj] [--exchange URL] [--ours "COMMAND ..."] [--ours-env K=V]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shlex
import statistics
import sys
import time
import tomllib
from pathlib import Path
from typing import Any, cast

from peers.exchange import Exchange
from peers.stdio import Gone, StdioServer, is_error

HERE = Path(__file__).resolve().parent
BAN_SECS, BAN_CALLS = 120, 5
KEYS = {"BINANCE_API_KEY": "k" * 64, "BINANCE_API_SECRET": "s" * 64, "BINANCE_SECRET_KEY": "s" * 64}
COLUMNS = {
    "peer": "peer", "start_secs": "start s", "tools": "tools", "list_bytes": "tools/list B", "answer_bytes": "ticker B",
    "upstream": "upstream/call", "first_ms": "first ms", "p50_ms": "p50 ms", "p95_ms": "p95 ms", "rss_mb": "RSS MB",
    "impure": "bad stdout lines", "bad_symbol": "bad symbol isError", "banned": "418: isError / wait named / upstream",
}  # fmt: skip


def fill(value: Any, names: dict[str, str]) -> Any:
    """Put the names into every {placeholder} of a nested value."""
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda match: names.get(match[1], match[0]), value)
    if isinstance(value, dict):
        return {key: fill(item, names) for key, item in cast("dict[str, Any]", value).items()}
    return [fill(item, names) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def market(base: str, quote: str = "USDT") -> dict[str, str]:
    return {"base": base, "quote": quote, "symbol": base + quote, "lower": (base + quote).lower()}


def names_the_wait(reply: dict[str, Any]) -> bool:
    """Say whether the answer tells how long to wait: seconds left, or the end of the ban."""
    text = json.dumps(reply.get("result", reply.get("error")))
    return bool(re.search(rf"\b({BAN_SECS}|{BAN_SECS - 1})\b|\b1[0-9]{{12}}\b|retry.?after", text, re.IGNORECASE))


async def measure(peer: dict[str, Any], names: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    exchange = Exchange(options.exchange)
    names = names | {"url": exchange.url}
    command, env = fill(peer["command"], names), KEYS | {"EXCHANGE_URL": exchange.url} | fill(peer["env"], names)

    def question(base: str) -> tuple[str, dict[str, Any]]:
        return peer["ask"]["method"], fill(peer["ask"]["params"], market(base))

    starts: list[float] = []
    for _ in range(options.starts - 1):
        async with StdioServer(command, env) as server:
            starts.append(server.start_secs)
    async with StdioServer(command, env) as server:
        starts.append(server.start_secs)
        tools, list_bytes = await server.list_all("tools/list", "tools")
        times: list[float] = []
        reply, size, seen = {}, 0, 0
        for index in range(options.calls + 1):
            seen = len(exchange.seen) if index == 1 else seen  # the first call may load markets
            began = time.perf_counter()
            reply, size = await server.call(*question("BTC"))
            times.append((time.perf_counter() - began) * 1000)
        if is_error(reply):
            raise Gone(f"the ticker call failed: {json.dumps(reply)[:300]}")
        upstream = (len(exchange.seen) - seen) / options.calls
        rss = server.rss_mb()
        bad, _ = await server.call(*question("NOPE"))
        exchange.ban(BAN_SECS)
        before = len(exchange.seen)
        banned = [(await server.call(*question("ETH")))[0] for _ in range(BAN_CALLS)]
        during = len(exchange.seen) - before
        impure = len(server.impure)
    exchange.close()
    yes = {True: "yes", False: "NO"}
    ordered = sorted(times[1:])
    return {
        "peer": peer["title"],
        "start_secs": round(statistics.median(starts), 2),
        "tools": len(tools),
        "list_bytes": list_bytes,
        "answer_bytes": size,
        "upstream": round(upstream, 2),
        "first_ms": round(times[0]),
        "p50_ms": round(statistics.median(ordered), 1),
        "p95_ms": round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 1),
        "rss_mb": round(rss),
        "impure": impure,
        "bad_symbol": yes[is_error(bad)],
        "banned": f"{yes[is_error(banned[0])]} / {yes[names_the_wait(banned[0])]} / {during} in {BAN_CALLS} calls",
    }


def table(rows: list[dict[str, Any]]) -> str:
    def cell(value: object) -> str:
        return f"{value:,}" if isinstance(value, int) else str(value)

    lines = [[*COLUMNS.values()], *([cell(row.get(key, "-")) for key in COLUMNS] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines)


async def main() -> None:
    peers = tomllib.loads((HERE / "peers.toml").read_text())
    ours = peers.pop("ours")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=Path(), help="the folder given to install.py")
    parser.add_argument("--peers", default=",".join(peers), help="comma-separated, or none; default: %(default)s")
    parser.add_argument("--exchange", help="URL of a running loopback exchange; default: the built-in fake")
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--ours", help="command line of our server; {url} becomes the exchange")
    parser.add_argument("--ours-env", action="append", default=[], metavar="K=V", help="{url} becomes the exchange")
    parser.add_argument("--ours-ask", type=json.loads, default=ours["ask"], help='{"method": ..., "params": {...}}')
    parser.add_argument("--json", type=Path, help="also write the rows here")
    options = parser.parse_args()
    chosen = [peers[name] for name in options.peers.split(",") if name in peers]
    if options.ours:
        env = dict(pair.split("=", 1) for pair in options.ours_env)
        chosen.append(ours | {"command": shlex.split(options.ours), "env": env, "ask": options.ours_ask})
    names = {"root": str(options.into.resolve()), "here": str(HERE)}
    rows: list[dict[str, Any]] = []
    for peer in chosen:
        try:
            rows.append(await measure(peer, names, options))
        except (Gone, OSError) as reason:
            print(f"{peer['title']}: {reason}", file=sys.stderr)
            rows.append({"peer": peer["title"]})
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
