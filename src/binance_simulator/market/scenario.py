"""Scenarios: a market and an account with known numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from binance_simulator.market.listing import Listing
from binance_simulator.market.noise import BUSY, ONE_SIDED, THIN, Temper
from binance_simulator.market.portfolio import ZERO, Balance, Order, Portfolio, holdings
from binance_simulator.market.prices import Course
from binance_simulator.market.sample_history import end_hour_of, sample_courses
from binance_simulator.market.synthetic import Market

# Ethereum's price in the portfolio sample, which is five seconds older than the Ethereum ticker.
LISTED_PRICES: Mapping[str, str] = {"ETHUSDT": "3000.00000000"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedTicker:
    """The 24-hour statistics of one symbol, as in the API."""

    change: str
    change_percent: str
    average: str
    opened: str
    last: str
    high: str
    low: str
    volume: str
    value: str
    count: int
    closed_ms: int


TICKERS: Mapping[str, FixedTicker] = {
    "BTCUSDT": FixedTicker(
        change="1234.56000000",
        change_percent="2.500",
        average="50150.32000000",
        opened="49000.00000000",
        last="50234.56000000",
        high="51000.00000000",
        low="49000.00000000",
        volume="12345.67000000",
        value="620123456.78000000",
        count=45_678,
        closed_ms=1_760_711_025_123,
    ),
    "ETHUSDT": FixedTicker(
        change="-45.25000000",
        change_percent="-1.500",
        average="3005.12000000",
        opened="3045.75000000",
        last="3000.50000000",
        high="3050.00000000",
        low="2980.00000000",
        volume="25678.90000000",
        value="77036700.00000000",
        count=38_234,
        closed_ms=1_760_711_030_456,
    ),
}


def contract_portfolio() -> Portfolio:
    """Return the balances and the three open orders of the sample."""
    return Portfolio(
        balances=(
            Balance("BTC", "0.50000000", ZERO),
            Balance("ETH", "5.20000000", "0.50000000"),
            Balance("USDT", "10000.00000000", "500.00000000"),
            Balance("BNB", "20.00000000", ZERO),
        ),
        orders=(
            _order(
                12_345, "BTCUSDT", "BUY", "49000.00", quantity="0.001", executed="0.000", placed_ms=1_760_710_800_000
            ),
            _order(12_346, "ETHUSDT", "SELL", "3100.00", quantity="0.5", executed="0.000", placed_ms=1_760_710_935_000),
            _order(
                12_347,
                "BNBUSDT",
                "BUY",
                "295.00",
                quantity="10.0",
                executed="5.0",
                placed_ms=1_760_710_710_000,
                value="1475.00000000",
            ),
        ),
        updated_ms=1_760_711_040_789,
    )


def _order(
    number: int, symbol: str, side: str, price: str, *, quantity: str, executed: str, placed_ms: int, value: str = ZERO
) -> Order:
    return Order(
        symbol=symbol,
        order_id=number,
        client_order_id=f"sample-{number}",
        side=side,
        price=price,
        quantity=quantity,
        executed=executed,
        executed_value=value,
        status="NEW" if value == ZERO else "PARTIALLY_FILLED",
        placed_ms=placed_ms,
        updated_ms=placed_ms,
    )


@dataclass(frozen=True, slots=True)
class Stage:
    market: Market
    portfolio: Portfolio
    tickers: Mapping[str, FixedTicker] = field(default_factory=dict[str, FixedTicker])
    listed_prices: Mapping[str, str] = field(default_factory=dict[str, str])
    wild: bool = False
    """With True, premiums and flows of the futures are independent draws, even from one hour to the next."""


Courses = Mapping[str, Course]
Builder = Callable[[Listing, int, int, Courses], Stage]


def _market(listing: Listing, seed: int, now_ms: int, courses: Courses) -> Stage:
    market = Market(listing, seed, courses=courses)
    return Stage(market, holdings(market, now_ms))


def _empty_account(listing: Listing, seed: int, now_ms: int, courses: Courses) -> Stage:
    return Stage(Market(listing, seed, courses=courses), Portfolio(updated_ms=now_ms))


def _quiet(listing: Listing, seed: int, now_ms: int, courses: Courses) -> Stage:
    return Stage(Market(listing, seed, courses=courses, quiet=True), Portfolio(updated_ms=now_ms))


def _noise(listing: Listing, seed: int, now_ms: int, courses: Courses) -> Stage:
    market = Market(listing, seed, courses=courses)
    return Stage(market, holdings(market, now_ms), wild=True)


def _tempered(temper: Temper) -> Builder:
    def build(listing: Listing, seed: int, now_ms: int, courses: Courses) -> Stage:
        market = Market(listing, seed, courses=courses, temper=temper)
        return Stage(market, holdings(market, now_ms))

    return build


def _contract(listing: Listing, seed: int, now_ms: int, courses: Courses) -> Stage:
    market = Market(listing, seed, courses={**sample_courses(end_hour_of(now_ms)), **courses})
    return Stage(market, contract_portfolio(), TICKERS, LISTED_PRICES)


def _contract_noise(listing: Listing, seed: int, now_ms: int, courses: Courses) -> Stage:
    market = Market(listing, seed, courses={**sample_courses(end_hour_of(now_ms), noisy=True), **courses})
    return Stage(market, contract_portfolio(), TICKERS, LISTED_PRICES)


SCENARIOS: Mapping[str, Builder] = {
    "market": _market,
    "contract": _contract,
    "contract_noise": _contract_noise,
    "empty_account": _empty_account,
    "quiet": _quiet,
    "busy": _tempered(BUSY),
    "one_sided": _tempered(ONE_SIDED),
    "thin": _tempered(THIN),
    "noise": _noise,
}
