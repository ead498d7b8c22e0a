"""Microstructure of one market: its last whole minutes, its stress and health now, and its book."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import sqrt
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.book.impact import PaidSpread
from mcp_binance_server.analytics.book.metrics import BookState, TopOfBook
from mcp_binance_server.analytics.confidence import shrunk_share
from mcp_binance_server.analytics.market.glance import FLOW_MS, TakerFlow, TouchReport, flow_of_bars
from mcp_binance_server.analytics.market.health import HealthNow
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.analytics.market.reference_class import ReferenceClass
from mcp_binance_server.analytics.market.stress import StressNow
from mcp_binance_server.analytics.market.symbol_scores import ALPHA, EVENTS, EndedMinute, EventVerdict, JudgementName
from mcp_binance_server.analytics.market.volatility import log_returns
from mcp_binance_server.analytics.metric import BaseRate, Basis, NotJudged, Unknown, WhyNull
from mcp_binance_server.analytics.ranks import mid_rank
from mcp_binance_server.analytics.score_history import Judgement
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.price_reading import contradicts
from mcp_binance_server.domain.symbols import SymbolRules

AnalysisDepth = Literal["quick", "standard", "deep"]

MINUTE_MS = 60_000
LEAST_DEPLETIONS = 5
LEAST_WINDOWS = 40

NO_SCORE: Mapping[BookState, WhyNull] = {"crossed": "crossed_book", "one_sided": "one_sided_book"}


class DepthSample(NamedTuple):
    """Depth of one side near the mid at one moment."""

    time_ms: int
    depth: float


class Recoveries(NamedTuple):
    """Number of sudden losses of depth, and how many of them recovered soon."""

    recovered: int
    depletions: int

    def shrunk(self, hour: "Recoveries") -> float | None:
        """Return the recovered share, shrunk towards the hour's share. Return None if the hour had too few losses."""
        if hour.depletions < LEAST_DEPLETIONS:
            return None
        return shrunk_share(self.recovered, self.depletions, hour.recovered / hour.depletions)


def count_recoveries(samples: Sequence[DepthSample], *, thresholds: Thresholds = DEFAULTS) -> Recoveries:
    """Count sudden losses of depth on one side. A loss counts only after its time for recovery is over."""
    recovered = depletions = at = 0
    while at < len(samples):
        peak = _peak_before(samples, at, thresholds.depletion_ms)
        if not peak or samples[at].depth > (1 - thresholds.depletion_drop) * peak:
            at += 1
            continue
        until = samples[at].time_ms + thresholds.recovery_ms
        after = at + 1
        while after < len(samples) and samples[after].time_ms <= until:
            if samples[after].depth >= thresholds.recovery_share * peak:
                break
            after += 1
        else:
            if after == len(samples) and samples[-1].time_ms < until:
                break
            depletions += 1
            at = after
            continue
        recovered, depletions, at = recovered + 1, depletions + 1, after + 1
    return Recoveries(recovered, depletions)


def _peak_before(samples: Sequence[DepthSample], at: int, within_ms: int) -> float:
    peak, earlier = samples[at].depth, at
    while earlier >= 0 and samples[at].time_ms - samples[earlier].time_ms <= within_ms:
        peak = max(peak, samples[earlier].depth)
        earlier -= 1
    return peak


def minute_volatility(prices: Sequence[float], step_ms: int) -> float | None:
    """Return the root mean square of the moves, scaled to a minute. Return None below two moves."""
    returns = log_returns(prices)
    if len(returns) < 2:
        return None
    return sqrt(sum(each * each for each in returns) / len(returns) * MINUTE_MS / step_ms)


class WindowRanks(NamedTuple):
    """Share of the `n` windows before, in percent, with less volume and with a narrower range than the newest."""

    volume: float
    range: float
    n: int


def window_ranks(bars: Sequence[Candle], bar_ms: int) -> WindowRanks | None:
    """Rank the newest five minutes among the windows of five minutes before, or return None with too few of them."""
    size = FLOW_MS // bar_ms
    if not size:
        return None
    ends = range(len(bars), size - 1, -size)
    windows = [each for each in (bars[end - size : end] for end in ends) if _is_gapless(each, bar_ms)]
    if len(windows) <= LEAST_WINDOWS:
        return None
    volumes = [sum((each.volume for each in window), Decimal(0)) for window in windows]
    ranges = [max(each.high for each in window) - min(each.low for each in window) for window in windows]
    return WindowRanks(mid_rank(volumes[0], volumes[1:]), mid_rank(ranges[0], ranges[1:]), len(windows) - 1)


def _is_gapless(window: Sequence[Candle], bar_ms: int) -> bool:
    return window[-1].open_time_ms - window[0].open_time_ms == FLOW_MS - bar_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyReport:
    """The last whole minutes of a market, and its stress now. Without a stream only the reason is set.

    `changed` names the judgements that were often unusual within the hour. A single unusual minute of these means
    little. `reference` is the class of similar markets. It can only suppress findings.
    """

    rules: SymbolRules
    basis: Basis
    minutes: tuple[EndedMinute, ...] = ()
    stress: StressNow | None = None
    changed: Mapping[JudgementName, BaseRate] = field(default_factory=dict[JudgementName, BaseRate])
    reference: ReferenceClass | None = None
    past_minutes: int = 0
    unknown: Unknown | None = None
    thresholds: Thresholds = DEFAULTS

    @property
    def verdicts(self) -> tuple[EventVerdict, ...]:
        """The rarest minute of each kind of event. Of equal ones the newest is taken."""
        if not self.minutes:
            return ()
        return tuple(min((each.of(name) for each in reversed(self.minutes)), key=_rarity) for name in EVENTS)

    @property
    def judged(self) -> tuple[EventVerdict, ...]:
        return tuple(each for each in self.verdicts if each.judgement.not_judged is None)

    @property
    def unusual(self) -> tuple[EventVerdict, ...]:
        """The unusual events. Events that were often unusual within the hour are left out."""
        return tuple(each for each in self.judged if each.judgement.is_unusual and each.name not in self.changed)

    @property
    def findings(self) -> tuple[EventVerdict, ...]:
        """The events that survive the correction for multiple tests.

        Their p is at most alpha divided by the number of tests, or they were unusual in two minutes in a row.
        """
        most = ALPHA / len(EVENTS)
        return tuple(
            each
            for each in self.unusual
            if each.judgement.again or (each.judgement.p is not None and each.judgement.p <= most)
        )

    @property
    def is_stressed(self) -> bool:
        """Whether stress is unusual now. It is False if stress was often unusual within the hour."""
        return self.stress is not None and self.stress.judgement.is_unusual and "stress" not in self.changed

    def waiting(self, judgement: Judgement) -> NotJudged | None:
        """Return why a score is not judged yet. Add the market class if the score is usual there."""
        if judgement.not_judged is None or self.reference is None or not self.reference.calls_usual(judgement):
            return judgement.not_judged
        return replace(judgement.not_judged, usual_of=self.reference.name)

    @property
    def chance_of_any(self) -> float:
        """Return the probability that chance makes at least one of these judgements unusual."""
        return 1 - (1 - ALPHA) ** (len(self.judged) * max(1, len(self.minutes)))


def _rarity(verdict: EventVerdict) -> tuple[float, float]:
    judgement = verdict.judgement
    speaks = judgement.p is not None and judgement.score >= judgement.criterion.floor
    return (judgement.p or 1.0) if speaks else 2.0, -judgement.score


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """The health index with its parts, or the reason why it is missing.

    Some values are shown next to the index and do not contribute to it.
    """

    rules: SymbolRules
    basis: Basis
    grid: PriceGrid
    now: HealthNow | None
    unknown: Unknown | None
    not_judged: NotJudged | None
    top: TopOfBook
    imbalance: float | None
    recoveries: Recoveries
    hour_recoveries: Recoveries
    past_minutes: int
    thresholds: Thresholds = DEFAULTS

    @property
    def resilience(self) -> float | None:
        return self.recoveries.shrunk(self.hour_recoveries)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketPart:
    """The page's data on the book. `day_volatility` is a volatility per minute.

    It is read only for the deepest analysis.
    """

    book: TouchReport
    flow: TakerFlow | None
    """The last minute of the tape, if complete."""
    anomalies: AnomalyReport
    health: HealthReport
    day_volatility: float | None
    paid: PaidSpread | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MicrostructureReport:
    """Parts of the page. A missing part has its reason."""

    rules: SymbolRules
    hours: int
    depth: AnalysisDepth
    profile: ProfileReport | None
    no_profile: str
    market: MarketPart | None
    no_market: str
    now_ms: int
    thresholds: Thresholds = DEFAULTS

    @property
    def close(self) -> Price | None:
        """Close of the newest bar, to compare with the book."""
        return self.profile.bars[-1].close if self.profile is not None and self.profile.bars else None

    @property
    def is_contradictory(self) -> bool:
        return contradicts(self.close, self.market.book.top.middle if self.market else None)

    @property
    def flow(self) -> TakerFlow | None:
        """The latest taker flow: from complete trades, or else from the newest closed bars."""
        if self.market is not None and self.market.flow is not None:
            return self.market.flow
        seen = self.profile
        if seen is None or not seen.bars or seen.bars[-1].open_time_ms + seen.interval_ms != seen.window.to_ms:
            return None
        newest = [each for each in seen.bars if each.open_time_ms >= seen.window.to_ms - FLOW_MS]
        return flow_of_bars(newest, FLOW_MS, seen.window.to_ms)

    @property
    def ranks(self) -> WindowRanks | None:
        return None if self.profile is None else window_ranks(self.profile.bars, self.profile.interval_ms)

    @property
    def is_cold(self) -> bool:
        """Whether nothing that needs a live past can be judged yet."""
        part = self.market
        if part is None or part.book.cost is None or part.health.now is not None or part.anomalies.judged:
            return False
        stress = part.anomalies.stress
        is_same = part.health.unknown is None or part.anomalies.unknown is not None
        return is_same and (stress is None or stress.judgement.not_judged is not None)
