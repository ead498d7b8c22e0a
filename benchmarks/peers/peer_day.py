"""What a day costs each peer, and ours beside it; see README.md.

PYTHONPATH=benchmarks:tests python -m peers.peer_day --into DIR [--peers amz,snj] [--write]
"""

import argparse
import asyncio
import json
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from peers.bench import HERE, KEYS, fill, market
from peers.day import read_day, shortened
from peers.exchange import Exchange
from peers.our_day import our_server
from peers.stdio import Json, StdioServer
from peers.weights import weight_of_all

OLDEST_SECS = 1.0
# What is streamed costs the same however long a break is and however often it is read: less is quicker to simulate.
LIVE_BREAK_MS = 5_000
LIVE_CALLS = 300
TABLE = 20


@dataclass(frozen=True, slots=True)
class PeerSteps:
    """What one call of each step weighs at a peer, and which of its answers were not asked for anew after a second."""

    title: str
    weights: Mapping[str, int]
    old: frozenset[str]

    def total(self, calls: Counter[str]) -> int:
        return sum(self.weights[step] * count for step, count in calls.items())


async def weigh(peer: Json, names: Mapping[str, str]) -> PeerSteps:
    """Ask a peer for each step twice, more than a second apart, after it was asked for another symbol."""
    exchange = Exchange()
    secrets = {"key": KEYS["BINANCE_API_KEY"], "secret": KEYS["BINANCE_API_SECRET"]}
    known = {**names, **secrets, "url": exchange.url}
    command, env = fill(peer["command"], known), KEYS | {"EXCHANGE_URL": exchange.url} | fill(peer["env"], known)
    steps: dict[str, Json] = peer["steps"]
    weights: dict[str, int] = {}
    old: set[str] = set()
    async with StdioServer(command, env) as server:

        async def ask(step: str, base: str) -> list[str]:
            seen = len(exchange.seen)
            reply, _ = await server.call("tools/call", fill(steps[step], {**secrets, **market(base)}))
            assert "error" not in reply, f"{peer['title']}, {step}: {json.dumps(reply)[:300]}"
            return exchange.seen[seen:]

        for step in steps:
            await ask(step, "ETH")  # the first call may load markets
            weights[step] = weight_of_all(await ask(step, "BTC"))
            await asyncio.sleep(OLDEST_SECS + 0.1)
            if not await ask(step, "BTC"):
                old.add(step)
    exchange.close()
    return PeerSteps(peer["title"], weights, frozenset(old))


@dataclass(frozen=True, slots=True)
class Share:
    """What the same calls weigh at a peer and with us, and how old our oldest answer was."""

    theirs: int
    ours: int
    oldest_ms: int

    def __str__(self) -> str:
        return f"{self.ours:,} of {self.theirs:,}, {self.ours / self.theirs:.1%}"


async def compared(peer: PeerSteps, *, live: bool) -> Share:
    """Make the calls that the peer can answer too: the whole day, or the first of it with the symbols streamed."""
    day = read_day()
    calls = day.only(frozenset(peer.weights))
    calls = shortened(calls[:LIVE_CALLS], LIVE_BREAK_MS) if live else calls
    async with our_server(day.symbols, live=live) as server:
        spent = await server.spend(calls, day.asked)
    if live:  # the table was read while the streams began; of the hours in a day these calls are a part
        spent.weights["upkeep"] = round(TABLE * day.hours * len(calls) / len(day.only(frozenset(peer.weights))))
    print("  live:" if live else "  ours:", dict(spent.weights), "oldest, ms:", spent.ages_ms, flush=True)
    return Share(peer.total(spent.calls), spent.total, spent.oldest_ms)


async def main() -> None:
    peers: Json = tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))
    known = [name for name, peer in peers.items() if "steps" in peer]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True, help="the folder given to peers.install")
    parser.add_argument("--peers", default=",".join(known), help="comma-separated; default: %(default)s")
    parser.add_argument("--no-live", action="store_true", help="leave out the day with streamed symbols")
    options = parser.parse_args()
    names = {"root": str(options.into.resolve()), "here": str(HERE)}
    rows: list[tuple[object, ...]] = []
    for name in options.peers.split(","):
        found = await weigh(peers[name], names)
        print(f"{found.title}: {dict(found.weights)}; older than a second: {sorted(found.old) or 'none'}", flush=True)
        usual = await compared(found, live=False)
        live = None if options.no_live else await compared(found, live=True)
        oldest_ms = max(usual.oldest_ms, live.oldest_ms if live else 0)
        rows.append((found.title, "NO" if found.old else "yes", usual, live or "-", oldest_ms))
    print("| peer | answers at most 1 s old | our weight of its | with the symbols streamed | our oldest answer, ms |")
    print("|---|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    asyncio.run(main())
