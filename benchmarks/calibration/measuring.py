"""Each part of the yardstick: what is generated, who is asked, and under which row the answer is counted."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import pi, sin
from typing import NamedTuple, Protocol

import numpy as np

from calibration.candles import Floats, paths
from calibration.injections import EFFECTS
from calibration.rates import Table
from calibration.records import HealthAt, Minute, Said, Second, Tape, TrendWords, Truth
from calibration.tapes import signed, walked
from calibration.turns import LEVEL, Turns, turning
from calibration.zero_intelligence import REGIMES, Market, Regime

HISTORY = 60
BAD = ("Strained", "Broken")


class Size(NamedTuple):
    """How much is generated: calm minutes and injected ones of each effect per regime, tapes, walks, series.

    `changed` minutes follow a change of activity; a day of a season is thinned out to `day` minutes.
    """

    calm: int
    injected: int
    tapes: int
    walks: int
    series: int
    changed: int
    day: int


SIZES = {
    "quick": Size(20, 3, 60, 20, 30, 30, 120),
    "default": Size(45, 5, 80, 50, 60, 45, 120),
    "full": Size(300, 40, 1000, 300, 600, 60, 360),
}
# Changes of activity without an event: every rate times this, after a calm past.
CHANGES = {"x3": 3.0, "x1/3": 1 / 3}
# A day from half to twice the usual, after a weekend day of half its activity.
SEASON = "weekly season"
WEEKEND = 0.5
LEAST_TURNS = 8


class BookJudge(Protocol):
    """The judgements of a book, with 60 calm minutes behind them; `after` lets the judged minute join the past."""

    def book(self, minute: Minute) -> dict[str, Said]: ...

    def health(self, recent: Sequence[Second], minute: Minute) -> list[HealthAt]: ...

    def after(self) -> None: ...


Learn = Callable[[Sequence[Minute]], BookJudge]
FlowWord = Callable[[Sequence[Tape], Tape, int], int | None]
ThinRanges = Callable[[Tape], list[tuple[float, float]] | None]
Trend = Callable[[Floats], TrendWords]
StandingOut = Callable[[Turns], list[tuple[float, float]]]


def books(learn: Learn, size: Size, seed: int, regimes: Sequence[Regime] = REGIMES) -> Table:
    """Count what is said of calm minutes, and of minutes with an event in them."""
    table = Table()
    for regime in regimes:
        _one_book(learn, size, seed, regime, table)
    return table


def changed_books(learn: Learn, size: Size, seed: int, regimes: Sequence[Regime] = REGIMES) -> Table:
    """Count what is said of minutes in which nothing but the activity of the market has changed."""
    table = Table()
    for regime in regimes:
        market = Market(regime, seed)
        for _ in range(2):
            market.minute()
        past = [market.minute() for _ in range(2 * HISTORY)]
        for name, times in CHANGES.items():
            fork = market.fork()
            fork.regime = _times(regime, times)
            _said_of(table, name, learn(past), [fork.minute() for _ in range(size.changed)])
        season = Market(regime, seed + 1)
        weekend, monday = ([_of_day(season, regime, at, size.day, day) for at in range(size.day)] for day in (0, 1))
        _said_of(table, SEASON, learn(weekend), monday)
    return table


def _of_day(market: Market, regime: Regime, at: int, day: int, week: int) -> Minute:
    market.regime = _times(regime, (WEEKEND, 1.0)[week] * 2 ** sin(2 * pi * at / day))
    return market.minute()


def _times(regime: Regime, times: float) -> Regime:
    return regime._replace(
        limit_rate=regime.limit_rate * times,
        market_rate=regime.market_rate * times,
        cancel_rate=regime.cancel_rate * times,
    )


def _said_of(table: Table, name: str, judge: BookJudge, minutes: Sequence[Minute]) -> None:
    for minute in minutes:
        for kind, said in judge.book(minute).items():
            table.add(f"Changed books, {name}: minutes in which it speaks", kind, said.fired)
            table.add(f"Coverage, {name}: minutes judged", kind, said.fired is not None)
        judge.after()


def _one_book(learn: Learn, size: Size, seed: int, regime: Regime, table: Table) -> None:
    market = Market(regime, seed)
    for _ in range(2):
        market.minute()
    past = [market.minute() for _ in range(HISTORY)]
    judge = learn(past)
    recent = [second for minute in past[-5:] for second in minute.seconds]
    every = max(1, size.calm // size.injected)
    tried = 0
    for i in range(size.calm):
        if i % every == 0 and tried < size.injected:
            tried += 1
            _inject(judge, market, recent, table, seed * 1000 + i)
        minute = market.minute()
        calm = f"Calm books: {regime.name}"
        for kind, said in judge.book(minute).items():
            table.add("Calm books: minutes in which it speaks", kind, said.fired)
            table.add(calm, kind, said.fired)
            table.add("Coverage, calm: minutes judged", kind, said.fired is not None)
        for row, fired in _health(judge.health(recent, minute)).items():
            table.add("Calm books: minutes in which it speaks", row, fired)
            table.add(calm, row, fired)
        judge.after()
        recent = [*recent, *minute.seconds][-300:]


def _inject(judge: BookJudge, market: Market, recent: Sequence[Second], table: Table, seed: int) -> None:
    for kind, (injection, effects) in EFFECTS.items():
        for effect, times in effects.items():
            fork = market.fork()
            fork.draws.rng = np.random.default_rng(seed)
            minute = fork.minute(injection(times))
            if not any(truth.met for truth in minute.truth):
                continue
            found = hit(judge.book(minute)[kind], minute.truth)
            table.add("Books: events found", f"{kind}: {effect}", found)
            table.add(f"Books: events found, {market.regime.name}", f"{kind}: {effect}", found)
            if kind == "stress":
                fell = any(at.word in BAD for at in judge.health(recent, minute) if at.second >= 50)
                table.add("Books: events found", f"health falls: {effect}", fell)


def hit(said: Said, truths: Sequence[Truth]) -> bool | None:
    """Return whether it was found: it spoke, and named the right side and price where it names any."""
    if not said.fired or not said.where:
        return said.fired
    return any(place in {(truth.side, truth.tick) for truth in truths} for place in said.where)


def _health(seen: Sequence[HealthAt]) -> dict[str, bool | None]:
    scores = [at.score for at in seen if at.score is not None]
    words = [at.word for at in seen]
    changes = sum(now != before for before, now in pairwise(words))
    return {
        "health Strained or worse": any(word in BAD for word in words) if scores else None,
        "health moves 30 points in a minute": max(scores) - min(scores) >= 30 if scores else None,
        "health changes its word twice in a minute": changes >= 2 if scores else None,
    }


def tapes(word_of: FlowWord, size: Size, seed: int, windows: int) -> Table:
    """Count direction words on tapes that mean nothing and on bent ones, each with `windows` tapes before it."""
    table = Table()
    nulls = {"coin per order": 0.0, "parents of 5 s": 5.0, "parents of 15 s": 15.0, "parents of 30 s": 30.0}
    for seconds in (60, 300):
        for name, parent_s in [*nulls.items()][:: 1 if seconds == 60 else 2]:
            rows = [signed(seed + 7919 * i, seconds, parent_s=parent_s) for i in range(windows + size.tapes)]
            for at, tape in enumerate(rows[windows:]):
                word = word_of(rows[at : at + windows], tape, seconds)
                fired = None if word is None else word != 0
                table.add("Tapes of coins: windows with a word", f"{seconds} s, {name}", fired)
            if parent_s:
                continue
            for bought in (0.60, 0.75):
                for i in range(size.tapes // 2):
                    word = word_of(rows[i : i + windows], signed(seed + 5 + 104729 * i, seconds, buy=bought), seconds)
                    found = None if word is None else word == 1
                    table.add("Bent tapes: found", f"{seconds} s, {bought * 100:.0f} % bought", found)
    return table


def walks(thin: ThinRanges, size: Size, seed: int) -> Table:
    """Count thin ranges on walks without any, and the holes that are found."""
    table = Table()
    # Seeds that lie close together must not walk the same walks.
    first = 1_000 * seed
    for minutes, per in ((30, 60), (5, 600)):
        for i in range(size.walks):
            found = thin(walked(first + i, minutes, per))
            fired = None if found is None else bool(found)
            table.add("Walks: windows with a thin range", f"{minutes} min, {per} trades/min", fired)
        for hole in (0.5, 1.0):
            for i in range(size.walks // 2):
                tape = walked(first + 31 + i, minutes, per, hole=hole)
                table.add("Holes: found", f"hole of {hole} sigma, {minutes} min, {per}/min", _covers(thin(tape), tape))
    return table


def _covers(found: list[tuple[float, float]] | None, tape: Tape) -> bool | None:
    """Return whether one finding covers half of the hole and is at most two and a half times as wide."""
    if found is None or tape.hole is None:
        return None
    low, high = tape.hole
    width = high - low
    return any(min(b, high) - max(a, low) >= 0.5 * width and b - a <= 2.5 * width for a, b in found)


def series(trend: Trend, size: Size, seed: int) -> Table:
    """Count words on driftless series and on drifting ones; note whether strength leans to the middle of the range."""
    table = Table()
    minutes = 24 * 21 * 60
    leaning: list[tuple[float, float]] = []
    for path in paths(size.series, minutes, seed + len("zero drift, GARCH-t")):
        said = trend(path)
        row = "Driftless series: words"
        table.add(row, "bias word", said.bias != 0)
        table.add(row, "sentiment word", said.sentiment != 0)
        table.add(row, "near resistance without a level", said.false_resistance)
        table.add(row, "near support without a level", said.false_support)
        table.add(row, "a level said to hold better than arbitrary ones", said.level_claim)
        leaning += strengths(path, said)
    for days, what in ((1, "sentiment"), (7, "bias")):
        for sigmas in (3, 5):
            label = f"drift {sigmas} sigma in {'24 h' if days == 1 else '7 d'}"
            drifting = paths(size.series // 2, minutes, seed + len(label), drift_sigmas=sigmas, over=1440 * days)
            for path in drifting:
                said = trend(path)
                word = said.sentiment if what == "sentiment" else said.bias
                table.add("Drifting series: found", f"{what}: {label}", word == 1)
    table.notes.append(f"Strength of a level and its distance from the middle: rank correlation {lean(leaning):+.2f}")
    return table


def levels(standing_out: StandingOut, size: Size, seed: int) -> Table:
    """Count levels that stand out on walks with and without a level that turns four of five approaches."""
    table = Table()
    for at in range(size.series):
        table.add("Walks without a level", "a level stands out", bool(standing_out(turning(1_000 * seed + at, None))))
        walk = turning(1_000 * seed + at, 0.8)
        if walk.approaches >= LEAST_TURNS:
            found = any(abs(price - LEVEL) <= reach for price, reach in standing_out(walk))
            table.add("Walks with a level: found", "turns 80 % of eight or more approaches", found)
    return table


def strengths(path: Floats, said: TrendWords) -> list[tuple[float, float]]:
    """Return of each level its strength, and how far from the middle of the shown range it lies."""
    shown = path[-200 * 60 :]
    low, high = float(shown.min()), float(shown.max())
    return [(strength, abs(price - (high + low) / 2) / (high - low)) for price, strength in said.levels]


def lean(rows: Sequence[tuple[float, float]]) -> float:
    """Return the rank correlation of two columns."""
    first, second = (np.argsort(np.argsort(column)) for column in np.array(rows).T)
    return float(np.corrcoef(first, second)[0, 1])


def pooled(tables: Sequence[Table]) -> Table:
    """Return one table of several runs."""
    out = Table()
    for table in tables:
        out.merge(table.rates)
        out.notes += table.notes
    return out
