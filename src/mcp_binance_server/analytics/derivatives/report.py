"""Report on one perpetual in sections, with the reads that failed."""

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
    """Observed liquidations, and the state of their stream."""

    listening: Listening
    sample: LiquidationSample
    setting: str | None = None
    """The setting that would enable the stream, if it is off."""


@dataclass(frozen=True, slots=True)
class DerivativesReport:
    """Report on one perpetual.

    If the read of a section failed, it is None or empty, and `missing` holds its name and the reason.
    """

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
    """Summary of the perpetual for the page of its spot pair."""

    estimate: Decimal
    interval: FundingInterval
    apr: Decimal
    left_ms: int | None
    interest_24h_percent: Decimal | None
    mark_vs_index_bps: Decimal | None
