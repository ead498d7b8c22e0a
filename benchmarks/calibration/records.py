"""What the generators write and the adapters read; prices are whole ticks, sizes whole lots."""

from typing import NamedTuple

Levels = tuple[tuple[int, int], ...]
Place = tuple[str, int]


class Delta(NamedTuple):
    """What one 100 ms message of the book sets; a size of 0 removes the level; `updates` counts the changes in it."""

    ms: int
    updates: int
    bids: Levels
    asks: Levels


class Print(NamedTuple):
    """One fill; `sell` when the seller was the aggressor, so that it took from the bids."""

    ms: int
    tick: int
    lots: int
    sell: bool
    id: int


class Second(NamedTuple):
    """The book at the end of a second and what happened in it."""

    ms: int
    mid: float
    spread: int
    bid10: float
    ask10: float
    depth50: float
    updates: int
    trades: int
    ofi: float
    quotes: int
    buy: int
    sell: int


class Snap(NamedTuple):
    """The best levels of both sides, best first."""

    ms: int
    bids: Levels
    asks: Levels


class Truth(NamedTuple):
    """What was put into a minute: kind, side, price, and whether the market ever met it."""

    kind: str
    side: str = ""
    tick: int = 0
    met: bool = True


class Minute(NamedTuple):
    """Sixty seconds of one market, complete."""

    from_ms: int
    to_ms: int
    tick: str
    lot: str
    first: Snap
    deltas: list[Delta]
    trades: list[Print]
    seconds: list[Second]
    snaps: list[Snap]
    truth: tuple[Truth, ...] = ()


class Said(NamedTuple):
    """What a detector made of one minute: None when it could not judge; `where` holds the prices it names."""

    fired: bool | None
    where: tuple[Place, ...] = ()


class HealthAt(NamedTuple):
    """Health asked at a second of the minute; words Usual, Thin, Strained, Broken; None without a score."""

    second: int
    score: float | None
    word: str | None


class Tape(NamedTuple):
    """Trades of one window as columns: time in ms, price, size, and whether the aggressor sold."""

    ms: list[int]
    price: list[float]
    size: list[float]
    sell: list[bool]
    tick: float = 0.01
    hole: tuple[float, float] | None = None


class TrendWords(NamedTuple):
    """What was said of one series: -1, 0, 1 for the words; a label without its level; levels with strength."""

    bias: int
    sentiment: int
    false_resistance: bool
    false_support: bool
    level_claim: bool
    levels: list[tuple[float, float]]
