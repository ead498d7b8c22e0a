"""Automatic stop of trading after signs of a problem with the exchange or with the client. Pure."""

from dataclasses import dataclass

from mcp_binance_server.trading.judgement.exposure import Purpose
from mcp_binance_server.trading.judgement.policy import Way

UNKNOWN_MS, UNKNOWN_MOST = 600_000, 3
REJECTED_MS, REJECTED_MOST = 60_000, 5
FOUND_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class TradingTroubles:
    """Recent errors of one account since its last resume.

    Errors are counted per account, to detect a client in a loop.
    """

    unknown: int
    rejected: int
    found_after_all: str | None
    """ID of an order that exists although it was declared not placed."""


def cause(of: TradingTroubles) -> str | None:
    """Return the most serious reason to stop trading, or None."""
    if of.found_after_all is not None:
        return f"order {of.found_after_all} was declared not placed but was found"
    if of.unknown >= UNKNOWN_MOST:
        return f"{of.unknown} orders with unknown outcome within {UNKNOWN_MS // 60_000} minutes"
    if of.rejected >= REJECTED_MOST:
        return f"{of.rejected} orders rejected within {REJECTED_MS // 1000} seconds"
    return None


def passes(purpose: Purpose, way: Way) -> bool:
    """Return whether an order passes a stop that allows exits: if a person confirmed it, or as a step of a plan.

    A plan cancels exits before it sells. If trading is stopped in between, they are placed again all the same.
    """
    return purpose == "step" or (purpose != "entry" and way != "policy")
