"""What stops trading by itself: signs that something is wrong with the exchange, or with who asks. Pure."""

from dataclasses import dataclass

UNKNOWN_MS, UNKNOWN_MOST = 600_000, 3
REJECTED_MS, REJECTED_MOST = 60_000, 5
FOUND_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class TradingTroubles:
    """What went wrong of late with one account, since it was last resumed: many who err once are no loop."""

    unknown: int
    rejected: int
    found_after_all: str | None
    """An order that was declared not placed, and is there."""


def cause(of: TradingTroubles) -> str | None:
    """Return why trading must stop, the gravest reason first; None if it need not."""
    if of.found_after_all is not None:
        return f"order {of.found_after_all} was declared not placed and was found after all"
    if of.unknown >= UNKNOWN_MOST:
        return f"{of.unknown} orders without a known outcome within {UNKNOWN_MS // 60_000} minutes"
    if of.rejected >= REJECTED_MOST:
        return f"{of.rejected} orders rejected within {REJECTED_MS // 1000} seconds"
    return None
