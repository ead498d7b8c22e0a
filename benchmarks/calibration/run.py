"""Print how often each judgement speaks on noise, and how often it finds what was put there.

    scripts/calibration                                     # the default size, a few minutes of one core
    scripts/calibration --size full --seed 31 --seed 37     # before a release: about an hour of two cores
    scripts/calibration --part heavy                        # sizes as heavy as on recorded majors; no bounds

Exits with 1 when a bound is missed: by the whole interval of each seed, and by the share itself of all seeds together
where the size is full. Seeds 7 and 11 are those on which floors and alphas may be chosen; others only judge.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

from calibration.measuring import SIZES, books, changed_books, levels, pooled, series, tapes, walks
from calibration.ours.books import learn
from calibration.ours.levels import standing_out
from calibration.ours.series import trend
from calibration.ours.tapes import PAST_WINDOWS, flow_word
from calibration.ours.walks import thin_ranges
from calibration.rates import Table, missed
from calibration.zero_intelligence import HEAVY, REGIMES

HEAVY_PART = "heavy"


def _of_regime(at: int) -> Callable[[str, int], Table]:
    regime = (*REGIMES, HEAVY)[at]
    return lambda size, seed: books(learn, SIZES[size], seed, [regime])


def _changed(at: int) -> Callable[[str, int], Table]:
    return lambda size, seed: changed_books(learn, SIZES[size], seed, [REGIMES[at]])


PARTS: dict[str, list[Callable[[str, int], Table]]] = {
    "books": [_of_regime(at) for at in range(len(REGIMES))],
    HEAVY_PART: [_of_regime(len(REGIMES))],
    # The regimes of few orders come first: a quick run takes only these.
    "changes": [_changed(at) for at in (3, 2, 1, 0)],
    "tapes": [lambda size, seed: tapes(flow_word, SIZES[size], seed, PAST_WINDOWS)],
    "walks": [lambda size, seed: walks(thin_ranges, SIZES[size], seed)],
    "levels": [lambda size, seed: levels(standing_out, SIZES[size], seed)],
    "series": [lambda size, seed: series(trend, SIZES[size], seed)],
}


def measure(job: tuple[str, int, str, int]) -> Table:
    """Run one piece of a part: of books there is one for each regime."""
    part, piece, size, seed = job
    return PARTS[part][piece](size, seed)


def measured(parts: Sequence[str], size: str, seeds: Sequence[int], processes: int) -> dict[int, Table]:
    """Return the table of each seed."""
    jobs = [(part, piece, size, seed) for seed in seeds for part in parts for piece in range(len(PARTS[part]))]
    with ProcessPoolExecutor(processes) as pool:
        tables = [*pool.map(measure, jobs)]
    return {seed: pooled([table for job, table in zip(jobs, tables, strict=True) if job[3] == seed]) for seed in seeds}


def main() -> int:
    """Read the arguments, print a table of each seed and one of all."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    ask.add_argument("--size", choices=SIZES, default="default")
    ask.add_argument("--part", choices=PARTS, action="append")
    ask.add_argument("--seed", type=int, action="append")
    ask.add_argument("--processes", type=int, default=2)
    args = ask.parse_args()
    parts: list[str] = args.part or [part for part in PARTS if part != HEAVY_PART]
    seeds: list[int] = args.seed or [7]
    by_seed = measured(parts, args.size, seeds, args.processes)
    wrong: list[str] = []
    for seed, table in by_seed.items():
        print(f"\n# Seed {seed}, size {args.size}", *table.lines(), sep="\n")
        if HEAVY_PART not in parts:
            wrong += [f"seed {seed}: {line}" for line in missed(table)]
    together = pooled([*by_seed.values()])
    if len(seeds) > 1:
        print("\n# All seeds", *together.lines(), sep="\n")
    if HEAVY_PART not in parts:
        wrong += [f"all seeds: {line}" for line in missed(together, by_share=args.size == "full")]
    print("", *(f"MISSED {line}" for line in wrong), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
