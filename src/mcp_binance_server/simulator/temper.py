"""How a market behaves: who takes, how often, how much, and how far its book reaches."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Temper:
    """The knobs of a market; the defaults are those of an ordinary day.

    `least_bought` is the smallest share of a day's volume that takers buy, in per cent, and `bought_span` how much more
    it may be. Aggregates are those of a minute; no minute can do with fewer than ten. `reach` is in slots of the book.
    """

    least_bought: int = 40
    bought_span: int = 20
    aggregates: int = 16
    volume_percent: int = 100
    least_spread_bps: int = 0
    reach: int = 9_000

    @property
    def aggregates_a_day(self) -> int:
        return self.aggregates * 1440

    @property
    def extra_trades_a_day(self) -> int:
        return self.aggregates_a_day * 9 // 16


ORDINARY = Temper()
BUSY = Temper(least_bought=48, bought_span=5, aggregates=320, reach=2_000)
ONE_SIDED = Temper(least_bought=72, bought_span=7, aggregates=160, reach=2_000)
THIN = Temper(aggregates=12, volume_percent=2, least_spread_bps=5, reach=128)
