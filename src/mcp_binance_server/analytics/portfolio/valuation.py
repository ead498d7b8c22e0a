"""Value of holdings, and its concentration in a few of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.account import Balance
from mcp_binance_server.domain.money import STABLECOINS, Price, Quantity, name_of
from mcp_binance_server.domain.symbols import Symbol

DOLLAR = "USDT"
PAR = "par"
_ONE = Price(Decimal(1))
_VIA = ("BTC", "BNB", "ETH", "FDUSD", "USDC")

Level = Literal["diversified", "moderate", "concentrated"]


@dataclass(frozen=True, slots=True)
class Route:
    """A price in USDT, the symbols that it was computed from, and the wording for a page."""

    price: Price | None
    legs: tuple[str, ...]
    text: str | None
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One asset of a portfolio. Without a route to USDT it has no price, value and weight."""

    asset: str
    name: str
    free: Quantity
    locked: Quantity
    total: Quantity
    price: Price | None
    value: Decimal | None
    weight: Decimal | None
    route: str | None

    @property
    def is_stable(self) -> bool:
        return self.asset in STABLECOINS


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Holdings by value, largest first. Assets without a price are listed separately and are not in the total."""

    holdings: tuple[Holding, ...]
    excluded: tuple[Holding, ...]
    total: Decimal
    why_null: WhyNull | None = None

    @property
    def stablecoin_share(self) -> Decimal | None:
        if self.why_null:
            return None
        return sum((each.weight or Decimal(0) for each in self.holdings if each.is_stable), Decimal(0))


def find_route(asset: str, prices: Mapping[Symbol, Price]) -> Route:
    """Find the price of an asset in USDT.

    These routes are tried in order: the asset itself, its USDT market, the inverse market, par, and a market with
    another asset.
    """
    if asset == DOLLAR:
        return Route(_ONE, (), PAR)
    if direct := _price(prices, asset + DOLLAR):
        return Route(direct, (asset + DOLLAR,), asset + DOLLAR)
    if inverse := _price(prices, DOLLAR + asset):
        leg = f"1/{DOLLAR}{asset}"
        return Route(Price(1 / inverse), (leg,), leg)
    if asset in STABLECOINS:
        return Route(_ONE, (), PAR)
    for via in _VIA:
        first, second = _price(prices, asset + via), _price(prices, via + DOLLAR)
        if first and second:
            return Route(Price(first * second), (asset + via, via + DOLLAR), f"via {via}")
    return Route(None, (), None, "no_route")


def value_portfolio(balances: Iterable[Balance], prices: Mapping[Symbol, Price]) -> Portfolio:
    """Value every balance that is not zero. Assets without a route to USDT are left out of the total."""
    routed = [(each, find_route(each.asset, prices)) for each in balances if each.total]
    total = sum((each.total * route.price for each, route in routed if route.price is not None), Decimal(0))
    rows = [_holding(each, route, total) for each, route in routed]
    priced = sorted(
        (each for each in rows if each.value is not None), key=lambda each: (-(each.value or 0), each.asset)
    )
    excluded = sorted((each for each in rows if each.value is None), key=lambda each: each.asset)
    return Portfolio(tuple(priced), tuple(excluded), total, None if total else "empty_portfolio")


def _price(prices: Mapping[Symbol, Price], symbol: str) -> Price | None:
    # The exchange lists a market without any trade at zero, which is not a price.
    return prices.get(Symbol(symbol)) or None


def _holding(balance: Balance, route: Route, total: Decimal) -> Holding:
    value = None if route.price is None else balance.total * route.price
    return Holding(
        asset=balance.asset,
        name=name_of(balance.asset),
        free=balance.free,
        locked=balance.locked,
        total=balance.total,
        price=route.price,
        value=value,
        weight=value / total if value is not None and total else None,
        route=route.text,
    )


@dataclass(frozen=True, slots=True)
class Concentration:
    """Herfindahl index of the weights, effective number of equal assets, and a word for the concentration."""

    weights: tuple[float, ...]
    hhi: float | None
    normalised: float | None
    effective: float | None
    level: Level | None
    n: int
    why_null: WhyNull | None = None


def concentration(values: Sequence[Decimal], *, edges: tuple[float, float] = DEFAULTS.hhi_edges) -> Concentration:
    """Measure concentration by value. Assets without value do not count."""
    total = sum(values, Decimal(0))
    n = sum(1 for value in values if value)
    if not total:
        return Concentration((), None, None, None, None, n, "empty_portfolio")
    weights = tuple(float(value / total) for value in values)
    hhi = sum(weight * weight for weight in weights)
    normalised = (hhi - 1 / n) / (1 - 1 / n) if n > 1 else 1.0
    moderate, concentrated = edges
    level: Level = "diversified" if hhi < moderate else "moderate" if hhi < concentrated else "concentrated"
    return Concentration(weights, hhi, normalised, 1 / hhi, level, n)
