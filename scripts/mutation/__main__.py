"""Run mutation tests and print surviving mutants: `scripts/mutants [TARGET…] [--changed REV] [--only ID] [--list]`."""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from hypothesis.configuration import set_hypothesis_home_dir

from mutation.mutant import Mutant
from mutation.python import SourceFile
from mutation.suite import OPTIONS, Coverage, Source, TestRun, WarmSuite, forked, load_libraries, survives_cold
from mutation.targets import ROOT, TARGETS, Target
from mutation.texts import ScriptFile

Survives = Callable[[Any, Mutant, Sequence[TestRun]], bool | None]

NAMES = ", ".join(each.name for each in TARGETS)
LONGEST_RUN_SECS = 36_000
HEADER = f"{'module':<30}" + "".join(
    f"{each:>11}" for each in ("mutants", "killed", "timed out", "equivalent", "survived")
)
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


@dataclass
class Score:
    """Results of the mutants of one file."""

    path: Path
    least: int
    killed: int = 0
    timed_out: int = 0
    equivalent: int = 0
    survivors: list[Mutant] = field(default_factory=list[Mutant])

    @property
    def share(self) -> float:
        """Percentage of killed mutants, without those that cannot be killed."""
        dead = self.killed + self.timed_out
        judged = dead + len(self.survivors)
        return 100 * dead / judged if judged else 100.0

    @property
    def row(self) -> str:
        dead = self.killed + self.timed_out
        total = dead + self.equivalent + len(self.survivors)
        counts = (total, self.killed, self.timed_out, self.equivalent, len(self.survivors))
        return (
            f"{self.path.parent.name + '/' + self.path.name:<30}"
            + "".join(f"{each:>11}" for each in counts)
            + f"{self.share:>9.1f} %"
        )


Scores = dict[Path, Score]


@cache
def source_of(path: Path) -> Source:
    """Return a file with all its mutants."""
    return ScriptFile(path) if path.suffix == ".lua" else SourceFile(path)


def main() -> int:
    """Run the command line. Return 1 if a target has too few killed mutants."""
    asked = _asked()
    chosen = [each for each in TARGETS if not asked.targets or _names(each) & {*asked.targets}]
    known = equivalent_mutants()
    mutants = {each.name: _mutants(each, asked) for each in chosen}
    if asked.list:
        for found in mutants.values():
            for each in found:
                print(each.key)
        return 0
    chosen = [each for each in chosen if mutants[each.name]]
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=_memory()) as folder:
        tempfile.tempdir = folder
        os.environ["PYTEST_DEBUG_TEMPROOT"] = folder  # noqa: TID251 - the tests' temporary folder
        set_hypothesis_home_dir(folder)
        sys.dont_write_bytecode = True
        scores = [score for each in chosen for score in _scored(each, mutants[each.name], known)]
    _report(scores)
    everything = not (asked.targets or asked.changed or asked.only)
    stale = sorted(set(known) - {each.key for found in mutants.values() for each in found}) if everything else []
    for key in stale:
        print(f"no longer matches: {key}")
    return 1 if stale or any(each.share < each.least for each in scores) else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/mutants", description="Mutants of the modules that decide about money.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"one of {NAMES}")
    parser.add_argument("--changed", metavar="REV", help="limit to functions that differ from a revision")
    parser.add_argument("--only", metavar="ID", action="append", help="limit to the mutant of this name, repeatable")
    parser.add_argument("--list", action="store_true", help="print the names of the mutants and run none")
    return parser.parse_args()


def _names(target: Target) -> set[str]:
    return {target.name, *(each.stem for each in target.paths)}


def _memory() -> str | None:
    shared = Path("/dev/shm")  # noqa: S108 - a folder in memory
    return str(shared) if os.access(shared, os.W_OK) else None


def _mutants(target: Target, asked: argparse.Namespace) -> list[Mutant]:
    is_whole = not asked.targets or target.name in asked.targets
    paths = [each for each in target.paths if is_whole or each.stem in asked.targets]
    found = [each for path in paths for each in source_of(path).mutants]
    if asked.only:
        return [each for each in found if each.key in asked.only]
    if asked.changed:
        return [each for each in found if not _changed(asked.changed, each.path).isdisjoint(each.around)]
    return found


@cache
def _changed(revision: str, path: Path) -> frozenset[int]:
    """Return the lines of a file that have changed since a revision."""
    command = ["git", "diff", "--unified=0", "--no-color", revision, "--", str(path)]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603 - ours
    lines: set[int] = set()
    for line in told.splitlines():
        if line.startswith("@@"):
            first, _, count = line.split()[2].removeprefix("+").partition(",")
            lines.update(range(int(first), int(first) + int(count or 1)))
    return frozenset(lines)


def equivalent_mutants() -> dict[str, str]:
    """Return the mutants that cannot be killed, with the reasons by ID."""
    if not EQUIVALENT.exists():
        return {}
    return {each["id"]: each["reason"] for each in tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["mutant"]}


def _scored(target: Target, mutants: Sequence[Mutant], known: dict[str, str]) -> list[Score]:
    began = perf_counter()
    print(f"{target.name}: {len(mutants)} mutants", flush=True)
    living = [each for each in mutants if each.key not in known]
    scores = {each.path: Score(each.path, target.least) for each in mutants}
    for each in mutants:
        scores[each.path].equivalent += each.key in known

    def warm() -> tuple[Scores, Coverage] | None:
        coverage: list[Coverage] = []

        def work(suite: WarmSuite) -> None:
            coverage.append(suite.covered(target.watched))
            print(f"  {len(coverage[0].runs)} tests run them ({perf_counter() - began:.0f} s)", flush=True)
            _judge(scores, [each for each in living if each.reach != "module"], coverage[0], suite.survives)

        pytest.main([*OPTIONS, *target.tests], plugins=[WarmSuite(work)])
        return (scores, coverage[0]) if coverage else None

    found = forked(warm, LONGEST_RUN_SECS, silent=False)
    if found is None:
        raise SystemExit(f"{target.name}: the tests could not be run")
    scores, coverage = found
    for nodeid in coverage.failed:
        print(f"  skipped, because it fails without a change: {nodeid}", flush=True)
    load_libraries(coverage.modules)
    _judge(scores, [each for each in living if each.reach == "module"], coverage, survives_cold)
    print(HEADER, *(each.row for each in scores.values()), f"{perf_counter() - began:.0f} s\n", sep="\n", flush=True)
    return [*scores.values()]


def _judge(scores: Scores, mutants: Iterable[Mutant], coverage: Coverage, survives: Survives) -> None:
    for done, each in enumerate(mutants):
        if done and done % 100 == 0:
            print(f"  {done} done", flush=True)
        score, runs = scores[each.path], coverage.of(each)
        verdict = survives(source_of(each.path), each, runs) if runs else True
        if verdict is None:
            score.timed_out += 1
        elif verdict:
            score.survivors.append(each)
            _tell(each, len(runs))
        else:
            score.killed += 1


def _tell(mutant: Mutant, tests: int) -> None:
    print(f"  survived {tests} tests: {mutant.path.relative_to(ROOT)}:{mutant.first_line}")
    print(f"    {mutant.before}\n    {mutant.after}\n    scripts/mutants --only {shlex.quote(mutant.key)}", flush=True)


def _report(scores: Iterable[Score]) -> None:
    print(HEADER)
    for each in scores:
        print(each.row)


if __name__ == "__main__":
    sys.exit(main())
