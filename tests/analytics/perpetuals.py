"""A perpetual's answers by the hour: contracts, premiums, settlements, and rows of each kind."""

from collections.abc import Iterable, Sequence

from analytics.samples import HOUR_MS, Number, exact, price, quantity
from mcp_binance_server.domain.derivatives import (
    Contract,
    FundingPayment,
    FundingRule,
    InterestPoint,
    OpenInterest,
    PremiumIndex,
    SharePoint,
    TakerPoint,
)
from mcp_binance_server.domain.symbols import Symbol

NOW_MS = 500_000 * HOUR_MS + 600_000
"""Ten minutes after a full hour, the one at which an 8-hour contract settles."""
THIS_HOUR = 500_000


def contract(base: str = "SOL", quote: str = "USDT", *, delivery_ms: int = 4_133_404_800_000) -> Contract:
    symbol = f"{base}{quote}"
    return Contract(Symbol(symbol), symbol, "PERPETUAL", "TRADING", base, quote, price("0.01"), 0, delivery_ms)


def premium(
    mark: Number = "151.2", index: Number = "151.26", *, funding: Number | None = "0.0001", at_ms: int = NOW_MS
) -> PremiumIndex:
    estimate = None if funding is None else exact(funding)
    return PremiumIndex(Symbol("SOLUSDT"), price(mark), price(index), at_ms, estimate, at_ms + HOUR_MS)


def rule(hours: int, cap: Number = "0.02", floor: Number = "-0.02") -> FundingRule:
    return FundingRule(Symbol("SOLUSDT"), hours, exact(cap), exact(floor))


def settled(
    hours: Iterable[int], rates: Sequence[Number] = ("0.0001",), *, late_ms: int = 3, is_regular: bool = True
) -> list[FundingPayment]:
    """Return settlements at full hours of the epoch, with the rates over and over."""
    return [
        FundingPayment(hour * HOUR_MS + late_ms, exact(rates[place % len(rates)]), is_regular)
        for place, hour in enumerate(hours)
    ]


def open_interest(contracts: Number = 1_000) -> OpenInterest:
    return OpenInterest(Symbol("SOLUSDT"), quantity(contracts), NOW_MS - 5_000)


def interest_hours(contracts: Sequence[Number], worth: Number = 2, *, last: int = THIS_HOUR) -> list[InterestPoint]:
    """Return rows that end at an hour, each worth so much a contract."""
    first, each_worth = last - len(contracts) + 1, exact(worth)
    return [
        InterestPoint((first + place) * HOUR_MS, quantity(held), quantity(held * each_worth))
        for place, held in enumerate(map(exact, contracts))
    ]


def share_hours(shares: Sequence[Number], *, last: int = THIS_HOUR) -> list[SharePoint]:
    first = last - len(shares) + 1
    return [
        SharePoint((first + place) * HOUR_MS, share, share / (1 - share))
        for place, share in enumerate(map(exact, shares))
    ]


def taker_hours(
    bought: Sequence[Number], sold: Sequence[Number], *, last_began: int = THIS_HOUR - 1
) -> list[TakerPoint]:
    first = last_began - len(bought) + 1
    return [
        TakerPoint((first + place) * HOUR_MS, quantity(one), quantity(other))
        for place, (one, other) in enumerate(zip(bought, sold, strict=True))
    ]
