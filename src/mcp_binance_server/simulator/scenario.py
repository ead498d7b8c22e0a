"""What a named scenario puts on stage: a market, a portfolio, and numbers that stand still."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mcp_binance_server.simulator.contract import (
    LEVELS,
    LISTED_PRICES,
    TICKERS,
    FixedTicker,
    contract_courses,
    contract_portfolio,
)
from mcp_binance_server.simulator.holdings import holdings
from mcp_binance_server.simulator.listing import Listing
from mcp_binance_server.simulator.market import Market
from mcp_binance_server.simulator.portfolio import Portfolio
from mcp_binance_server.simulator.temper import BUSY, ONE_SIDED, THIN, Temper


@dataclass(frozen=True, slots=True)
class Stage:
    market: Market
    portfolio: Portfolio
    tickers: Mapping[str, FixedTicker] = field(default_factory=dict[str, FixedTicker])
    listed_prices: Mapping[str, str] = field(default_factory=dict[str, str])


def _market(listing: Listing, seed: int, now_ms: int) -> Stage:
    market = Market(listing, seed)
    return Stage(market, holdings(market, now_ms))


def _empty_account(listing: Listing, seed: int, now_ms: int) -> Stage:
    return Stage(Market(listing, seed), Portfolio(updated_ms=now_ms))


def _quiet(listing: Listing, seed: int, now_ms: int) -> Stage:
    return Stage(Market(listing, seed, quiet=True), Portfolio(updated_ms=now_ms))


def _tempered(temper: Temper) -> Callable[[Listing, int, int], Stage]:
    def build(listing: Listing, seed: int, now_ms: int) -> Stage:
        market = Market(listing, seed, temper=temper)
        return Stage(market, holdings(market, now_ms))

    return build


def _contract(listing: Listing, seed: int, now_ms: int) -> Stage:
    market = Market(listing, seed, levels=LEVELS, courses=contract_courses(now_ms))
    return Stage(market, contract_portfolio(), TICKERS, LISTED_PRICES)


SCENARIOS: Mapping[str, Callable[[Listing, int, int], Stage]] = {
    "market": _market,
    "contract": _contract,
    "empty_account": _empty_account,
    "quiet": _quiet,
    "busy": _tempered(BUSY),
    "one_sided": _tempered(ONE_SIDED),
    "thin": _tempered(THIN),
}
