"""The whole kill matrix on the wire, by several exchanges at a time, and what was found."""

import argparse
import gc
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from mcp_binance_server.clock import SystemClock
from support.repeating import print_run_command
from trading.wire.exchange_process import SEED
from trading.wire.wire_matrix import chosen_cases, run_cases
from trading.wire.wire_scenes import ACTS, WireCase

FAULTS = {"doubles": ("double:",), "not final": ("lost:", "not final"), "disagreements": ("disagree:",)}


def main() -> int:
    """Run it and print the sums; 1 if anything was wrong."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=2_500)
    asked.add_argument("--workers", type=int, default=4, help="so many exchanges, each with its own processes")
    asked.add_argument("--faster", type=int, default=20, help="how much shorter everything waits; 1 is the truth")
    asked.add_argument("--desk", choices=["desk", "late", "resending"], default="desk")
    asked.add_argument("--acts", choices=ACTS, nargs="+", default=ACTS, help="what is sent when a process dies")
    asked.add_argument("--folder", type=Path, help="where workers write down how they stand; usually nowhere for long")
    given = asked.parse_args()
    clock = SystemClock()
    began_ms = clock.monotonic_ms()
    gc.disable()  # a fork that collects copies the pages of its parent
    with tempfile.TemporaryDirectory() as usual:
        folder: Path = given.folder or Path(usual)
        chosen = chosen_cases(_own(folder, "labels"), given.desk, given.runs, given.faster, given.acts)
        parts = [_begun(_own(folder, str(part)), given, chosen[part :: given.workers]) for part in range(given.workers)]
        for worker in parts:
            os.waitpid(worker, 0)
        told = [json.loads(each.read_text()) for each in folder.glob("*/found.json")]
    show(told, (clock.monotonic_ms() - began_ms) / 1000)
    if is_wrong := any(each["wrong"] for each in told) or len(told) < given.workers:
        # The cases follow from the options; processes are killed at labels and not at random.
        print_run_command(SEED, "scripts/kill_matrix", *sys.argv[1:])
    return int(is_wrong)


def _own(folder: Path, name: str) -> Path:
    own = folder / name
    own.mkdir(mode=0o700, parents=True)
    return own


def _begun(folder: Path, given: argparse.Namespace, chosen: list[list[WireCase]]) -> int:
    worker = os.fork()
    if worker:
        return worker
    try:
        for matrix in run_cases(folder, given.desk, given.faster, chosen):
            (folder / "new.json").write_text(json.dumps(matrix.found()))
            (folder / "new.json").replace(folder / "found.json")
    finally:
        os._exit(0)


def show(told: list[dict[str, Any]], took_secs: float) -> None:
    """Print the sums of what workers found."""
    killed_at, ended, wrong = Counter[str](), Counter[str](), list[str]()
    acts = Counter[str]()
    for each in told:
        killed_at.update(each["killed_at"])
        ended.update(each["ended"])
        wrong += each["wrong"]
    for name, times in killed_at.items():
        acts[name.partition(":")[0]] += times
    runs, kills, missed = (sum(each[name] for each in told) for name in ("runs", "kills", "missed"))
    say(f"{runs:,} runs, {kills:,} kills at {len(killed_at):,} labels, {took_secs:.0f} s; {missed:,} labels not met")
    say(f"  runs by what was sent: {dict(acts)}")
    for kind in ("send", "recv"):
        say(f"  {kind}: { ({name: times for name, times in sorted(killed_at.items()) if f' {kind} ' in name}) }")
    for name, times in sorted(ended.items()):
        say(f"  {name}: {times:,}")
    counted = {name: sum(any(sign in each for sign in signs) for each in wrong) for name, signs in FAULTS.items()}
    say(", ".join(f"{name} {count:,}" for name, count in counted.items()) + f", all that was wrong {len(wrong):,}")
    say(f"slowest start until everything was known: {max(each['slowest_secs'] for each in told):.1f} s")
    for each in wrong[:20]:
        say(f"  {each}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
