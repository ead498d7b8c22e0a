"""Everything that is told of one perpetual, section by section, and what could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.derivatives.basis import MarkVsIndex, PerpVsSpot, Quarterly
from mcp_binance_server.analytics.derivatives.funding import FundingInterval, FundingReport
from mcp_binance_server.analytics.derivatives.interest import InterestReport
from mcp_binance_server.analytics.derivatives.liquidation_minutes import LiquidationSample
from mcp_binance_server.analytics.derivatives.positioning import ShareReport, TakerReport
from mcp_binance_server.analytics.derivatives.spot_pair import SpotPair
from mcp_binance_server.domain.derivatives import Contract, ShareKind
from mcp_binance_server.domain.market import Origin

Listening = Literal["listening", "just began to listen", "open but silent", "not reached", "off"]


@dataclass(frozen=True, slots=True)
class LiquidationReport:
    """What the stream of liquidations has told, and whether it can be heard at all."""

    listening: Listening
    sample: LiquidationSample
    setting: str | None = None
    """What would have to be set, where nobody listens."""


@dataclass(frozen=True, slots=True)
class DerivativesReport:
    """One perpetual; a section is None, or empty, where a read failed, and `missing` says which and why."""

    contract: Contract
    interval: FundingInterval
    spot: SpotPair | None
    funding: FundingReport | None
    interest: InterestReport | None
    mark: MarkVsIndex | None
    perp_vs_spot: PerpVsSpot | None
    quarterlies: tuple[Quarterly, ...]
    shares: Mapping[ShareKind, ShareReport]
    taker: TakerReport | None
    liquidations: LiquidationReport | None
    missing: tuple[str, ...]
    host: str
    origin: Origin
    as_of_ms: int
    age_ms: int


@dataclass(frozen=True, slots=True)
class PerpetualGlance:
    """What a page about a spot pair says of its perpetual in one line."""

    estimate: Decimal
    interval: FundingInterval
    apr: Decimal
    left_ms: int | None
    interest_24h_percent: Decimal | None
    mark_vs_index_bps: Decimal | None
