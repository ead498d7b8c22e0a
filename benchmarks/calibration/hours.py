"""Hours of calm markets through the running server, faster than they pass, with a question every five seconds.

    PYTHONPATH=benchmarks:tests:. python -m calibration.hours --hours 8

Each regime is the book of a simulated exchange; a client asks two tools, and counts what they say. Nothing happens in
these markets, so every word is a false alarm. Prints a Markdown table.
"""

import argparse
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import anyio

from calibration.source import RegimeSource
from calibration.zero_intelligence import HEAVY, REGIMES, Market, Regime
from support.stepped import LiveMarket, live_market

SYMBOLS = {"btc-like": "BTCUSDT", "xrp-like": "XRPUSDT", "pepe-like": "PEPEUSDT", "thin-alt": "DOTUSDT"}
ALL = (*REGIMES, HEAVY)
EVERY_S = 5
EVENTS = ("hidden_size", "absorption", "came_and_went", "flood", "standing_size")
BAD = ("Strained", "Broken")


@dataclass(slots=True)
class Heard:
    """What was said in the minutes of one regime."""

    judged: Counter[str] = field(default_factory=Counter[str])
    unusual: Counter[str] = field(default_factory=Counter[str])
    words: list[list[str | None]] = field(default_factory=list[list[str | None]])
    stress: Counter[bool] = field(default_factory=Counter[bool])
    minutes_of_stress: Counter[bool] = field(default_factory=Counter[bool])
    most_changes: int = 0
    asked: int = 0

    def note_minute(self, events: list[Mapping[str, Any]], stress: list[bool], words: list[str | None]) -> None:
        """Take a minute: its verdicts, which are of whole minutes, and what was said every five seconds."""
        self.asked += len(words)
        for each in events:
            self.judged[each["event"]] += 1
            self.unusual[each["event"]] += bool(each["unusual"])
        self.stress.update(stress)
        if stress:
            self.minutes_of_stress[any(stress)] += 1
        if None not in words:
            self.words.append(words)
            changes = sum(now != before for before, now in pairwise(words))
            self.most_changes = max(self.most_changes, changes)

    def row(self, name: str) -> str:
        """Return the regime's row of the table."""
        cells = [_share(self.unusual[each], self.judged[each]) for each in EVENTS]
        cells += [_share(each[True], each.total()) for each in (self.stress, self.minutes_of_stress)]
        bad = sum(any(word in BAD for word in words) for words in self.words)
        cells += [_share(bad, len(self.words)), str(self.most_changes)]
        return f"| {name} | {self.judged['hidden_size']} | {' | '.join(cells)} |"


def _share(k: int, n: int) -> str:
    return f"{k / n:.1%}" if n else "not judged"


async def listen(regime: Regime, hours: float, seed: int) -> Heard:
    """Let a regime run, ask every five seconds, and return what was said."""
    heard, symbol = Heard(), SYMBOLS.get(regime.name, "BTCUSDT")
    async with live_market() as market:
        listed = market.exchange.listing.symbols[symbol]
        source = RegimeSource(listed, Market(regime, seed), market.clock.now_ms())
        market.exchange.stage.market.sources = {**market.exchange.stage.market.sources, symbol: source}
        await market.watch(symbol, 10)
        for _ in range(round(hours * 60)):
            await _minute(market, symbol, heard)
    return heard


async def _minute(market: LiveMarket, symbol: str, heard: Heard) -> None:
    stress: list[bool] = []
    words: list[str | None] = []
    events: list[Mapping[str, Any]] = []
    for _ in range(60 // EVERY_S):
        await market.run(EVERY_S)
        said = await _asked(market, "detect_market_anomalies", symbol)
        events = said["events"]["value"] or []
        if (now := said["stress"].get("value")) is not None and "not_judged" not in said["stress"]:
            stress.append(now["unusual"])
        health = await _asked(market, "get_microstructure_health", symbol)
        words.append(health["word"].get("value"))
    heard.note_minute(events, stress, words)


async def _asked(market: LiveMarket, tool: str, symbol: str) -> Mapping[str, Any]:
    answer = await market.client.call_tool(tool, {"symbol": symbol})
    assert answer.structured_content is not None, answer
    return answer.structured_content["metrics"]


def measured(regime: int, hours: float, seed: int) -> str:
    """Return the row of a regime."""
    return anyio.run(listen, ALL[regime], hours, seed).row(ALL[regime].name)


def main() -> None:
    """Print the table."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    ask.add_argument("--hours", type=float, default=8.0)
    ask.add_argument("--seed", type=int, default=53)
    args = ask.parse_args()
    names = (
        "hidden size",
        "absorption",
        "came and went",
        "flood",
        "standing size",
        "stress, of questions",
        "stress, of minutes",
        "health Strained or worse",
    )
    head = ("Market", "minutes judged", *names, "most changes of its word in a minute")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    with ProcessPoolExecutor(2) as pool:
        for row in pool.map(measured, range(len(ALL)), [args.hours] * len(ALL), [args.seed] * len(ALL)):
            print(row, flush=True)


if __name__ == "__main__":
    main()
