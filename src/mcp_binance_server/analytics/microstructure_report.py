"""What the analyses of the live book answer: anomalies, health, and the page that joins both with the profile."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mcp_binance_server.analytics.anomalies import AnomalyVerdict
from mcp_binance_server.analytics.book_metrics import BandImbalance, Depth, TopOfBook
from mcp_binance_server.analytics.envelope import Basis
from mcp_binance_server.analytics.health import BookHealth, Recoveries
from mcp_binance_server.analytics.profile_report import ProfileReport
from mcp_binance_server.analytics.thresholds import DEFAULTS, Component, Thresholds
from mcp_binance_server.analytics.unknown import Unknown
from mcp_binance_server.domain.symbols import SymbolRules

AnalysisDepth = Literal["quick", "standard", "deep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyReport:
    """Every rule's verdict on one window."""

    rules: SymbolRules
    basis: Basis
    verdicts: tuple[AnomalyVerdict, ...]
    thresholds: Thresholds = DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """The index, why each missing component is missing, and what resilience was counted from."""

    rules: SymbolRules
    basis: Basis
    health: BookHealth
    unknown: Mapping[Component, Unknown]
    recoveries: Recoveries
    baseline_ms: int
    thresholds: Thresholds = DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchReport:
    """One book: its touch, what it holds within 10 bps, and what a market order may take within 2 bps of the mid."""

    top: TopOfBook
    band: BandImbalance
    buy: Depth | None
    sell: Depth | None
    is_live: bool
    age_ms: int
    levels: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketPart:
    """What the page says of the book; `day_volatility`, per minute, is only asked for by the deepest analysis."""

    book: TouchReport
    anomalies: AnomalyReport
    health: HealthReport
    day_volatility: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MicrostructureReport:
    """The parts of the page; a part that is missing has its reason."""

    rules: SymbolRules
    hours: int
    depth: AnalysisDepth
    profile: ProfileReport | None
    no_profile: str
    market: MarketPart | None
    no_market: str
    now_ms: int
    thresholds: Thresholds = DEFAULTS
