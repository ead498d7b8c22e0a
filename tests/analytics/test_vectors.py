"""The shared vectors: every formula built so far gives the hand-made value."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, TypeAlias, TypedDict

import pytest

from analytics.microstructure import MICROSTRUCTURE
from analytics.samples import candle, exact, price
from analytics.sizes import sized
from analytics.weights import WEIGHT
from mcp_binance_server.analytics.indicators import basic as indicators
from mcp_binance_server.analytics.indicators.basic import Line
from mcp_binance_server.analytics.market import volatility
from mcp_binance_server.analytics.market.profile import value_area
from mcp_binance_server.analytics.metric import Measured
from mcp_binance_server.analytics.portfolio.report import shock
from mcp_binance_server.analytics.portfolio.risk import correlate, portfolio_returns, risk_contributions
from mcp_binance_server.analytics.portfolio.tail import tail_risk
from mcp_binance_server.analytics.portfolio.valuation import concentration, find_route
from mcp_binance_server.analytics.swings import find_swings
from mcp_binance_server.analytics.thresholds import RiskTolerance, Rows, Strategy
from mcp_binance_server.analytics.trend.levels import NoLevels, range_levels
from mcp_binance_server.analytics.trend.size import NoOrder
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.symbols import Symbol
from support.fixtures import DATA

PATH = DATA / "analytics/vectors.json"
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Rows4 = list[list[float]]


class Vector(TypedDict):
    id: str
    fn: str
    args: list[Any]
    expected: Json


def close(expected: Json, got: Json) -> bool:
    """Compare as the vectors' README says."""
    if isinstance(expected, dict):
        return isinstance(got, dict) and all(key in got and close(value, got[key]) for key, value in expected.items())
    if isinstance(expected, list):
        return isinstance(got, list) and len(expected) == len(got) and all(map(close, expected, got))
    if expected is None or isinstance(expected, bool | str):
        return type(expected) is type(got) and expected == got
    if isinstance(got, bool) or not isinstance(got, int | float):
        return False
    return abs(expected - got) <= 1e-12 + 1e-6 * abs(expected)


def plain(result: object) -> Json:
    """Return a result as JSON has it: tuples are lists, and money is the number it is."""
    return json.loads(json.dumps(result, default=float))


def bars(rows: Sequence[Sequence[float]]) -> list[Candle]:
    return [candle(*row, at=at) for at, row in enumerate(rows)]


def rv(prices: list[float]) -> dict[str, Any]:
    got = volatility.realised_volatility(prices)
    return {"rv": got.variance, "rvol": got.root, "stdev": got.stdev, "n": got.n}


def area(volumes: list[float], share: float, rows: Rows) -> dict[str, Any]:
    got = value_area([exact(volume) for volume in volumes], exact(share), rows)
    assert got is not None
    return {"poc": got.poc, "vah": got.high, "val": got.low, "volume": got.volume, "share": got.share}


def hhi(values: list[float]) -> dict[str, Any]:
    got = concentration([exact(value) for value in values])
    return {**asdict(got), "n_eff": got.effective, "hhi_norm": got.normalised}


def contributions(weights: list[float], covariance: list[list[float]]) -> dict[str, Any]:
    got = risk_contributions(weights, covariance)
    return {"sigma": got.sigma, "rc": got.contributions, "pct": got.shares, "why_null": got.why_null}


def shocked(values: list[float], shocks: list[float]) -> dict[str, Any]:
    got = shock([exact(value) for value in values], [exact(change) for change in shocks])
    return {"before": got.before, "after": got.after, "change": got.change, "change_pct": got.change_percent}


def route(asset: str, prices: Mapping[str, str]) -> dict[str, Any]:
    got = find_route(asset, {Symbol(symbol): price(text) for symbol, text in prices.items()})
    return {"price": got.price, "route": got.legs, "why_null": got.why_null}


def levels_24h(at: float, high: float, low: float, strategy: Strategy, risk: RiskTolerance) -> dict[str, Any]:
    got = range_levels(price(at), price(high), price(low), strategy=strategy, risk=risk, tick=price("0.01"))
    return asdict(got) if isinstance(got, NoLevels) else {**asdict(got), "reward_risk": got.reward_risk}


def size(own: bool, *given: float) -> dict[str, Any]:  # noqa: FBT001 - whether there is an account
    got = sized(*map(exact, given), has_account=own)
    if isinstance(got, NoOrder):
        return {"why": got.why, "bound": got.bound and got.bound.name}
    return {"qty": got.quantity, "value": got.value, "risk": got.risk, "bound": got.bound.name}


def corr(one: list[float], other: list[float]) -> dict[str, Any]:
    return asdict(correlate(one, other))


def var_es(returns: list[float], level: int = 95, minimum: int = 60) -> dict[str, Any]:
    return asdict(tail_risk(returns, level, minimum))


def of_bars(estimate: Callable[[Sequence[Candle]], Measured]) -> Callable[[Rows4], float | None]:
    return lambda rows: estimate(bars(rows)).value


def last_of(line: Callable[[Sequence[float], int], Line]) -> Callable[[list[float], int], float | None]:
    return lambda values, n: indicators.latest(line(values, n))


def average_true_range(rows: list[list[float]], n: int) -> dict[str, Any]:
    got = indicators.latest(indicators.atr(bars(rows), n))
    why = "insufficient_bars" if len(rows) < n + 1 else None
    return {"tr": indicators.true_ranges(bars(rows)), "atr": got, "why_null": why}


def swings(rows: list[list[float]], side: int) -> dict[str, Any]:
    return asdict(find_swings([candle(low, high, low, high, at=at) for at, (high, low) in enumerate(rows)], side))


CALLABLES: dict[str, Callable[..., object]] = {
    "rv": rv,
    "gk": of_bars(volatility.garman_klass),
    "value_area": area,
    "hhi": hhi,
    "var_es": var_es,
    "risk_contrib": contributions,
    "portfolio_returns": portfolio_returns,
    "corr": corr,
    "vol_class": volatility.volatility_class,
    "shock": shocked,
    "route": route,
    "levels_24h": levels_24h,
    "size_order": size,
    "atr": average_true_range,
    "ema": last_of(indicators.ema),
    "rsi": last_of(indicators.rsi),
    "swings": swings,
    **MICROSTRUCTURE,
    **WEIGHT,
}


@cache
def vectors() -> list[Vector]:
    return json.loads(PATH.read_text(encoding="utf-8"))["vectors"]


@pytest.mark.parametrize("fn", CALLABLES)
def test_a_formula_gives_the_value_worked_out_by_hand(fn: str) -> None:
    ours = [vector for vector in vectors() if vector["fn"] == fn]
    results = {vector["id"]: plain(CALLABLES[fn](*vector["args"])) for vector in ours}

    wrong = {
        vector["id"]: (vector["expected"], results[vector["id"]])
        for vector in ours
        if not close(vector["expected"], results[vector["id"]])
    }
    assert results
    assert wrong == {}


def test_every_formula_is_mapped() -> None:
    assert {vector["fn"] for vector in vectors()} == set(CALLABLES)


@pytest.mark.parametrize(
    ("expected", "got"),
    [(1.0, 1.00001), (True, 1), (1, True), (None, 0), ([1], [1, 2]), ({"a": 1}, {"b": 1}), ("x", None), (0.0, None)],
)
def test_the_comparison_itself_can_fail(expected: Json, got: Json) -> None:
    assert not close(expected, got)
