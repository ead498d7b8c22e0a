"""What portfolio_risk says of each asset and of the whole, measured again from the raw candles of several accounts."""

import re
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from math import sqrt
from statistics import stdev

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.market.portfolio import ZERO, Balance, Order, Portfolio
from support.clock import FakeClock
from support.desk import raw
from support.requirement import requirement

WORTH = Decimal(40_000)
EIGHT = Decimal("0.00000001")
EDGES = ((0.05, "Stable"), (0.30, "Low volatility"), (0.50, "Medium volatility"), (0.75, "Medium-high volatility"))
VOLATILE = {"Medium-high volatility", "High volatility"}
MORE_STABLE = "*- Increase stablecoin allocation to 25-30% to reduce volatility*"
DIVERSIFY = "*- Diversify into additional altcoins to spread risk*"
SET_STOPS = "*- Consider setting stop-loss orders on high-value positions*"

# What each account holds, in per cent of its worth.
ACCOUNTS = {
    "one coin": {"SOL": 100},
    "two majors": {"BTC": 60, "ETH": 24, "USDT": 16},
    "one wild coin": {"PEPE": 60, "ETH": 11, "BNB": 9, "USDT": 20},
    "half asleep": {"USDT": 55, "ETH": 30, "DOGE": 15},
    "asleep": {"USDT": 80, "BTC": 20},
    "gold and dollars": {"PAXG": 24, "USDT": 40, "USDC": 36},
    "dollars alone": {"USDT": 70, "USDC": 30},
    "well spread": {"USDT": 26, "BTC": 15, "ETH": 14, "SOL": 13, "ADA": 12, "LINK": 11, "XRP": 9},
}


async def page(client: Client) -> str:
    (message,) = (await client.get_prompt("portfolio_risk", {})).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


async def fund(exchange: SimulatedExchange, parts: dict[str, int], *orders: Order) -> None:
    """Give the demo account these parts of the same worth, at the prices of the moment."""
    prices = {row["symbol"]: Decimal(row["price"]) for row in await raw(exchange, "ticker/price")}
    balances = [
        Balance(asset, str((WORTH * part / 100 / prices.get(f"{asset}USDT", Decimal(1))).quantize(EIGHT)), ZERO)
        for asset, part in parts.items()
    ]
    portfolio = Portfolio(balances=tuple(balances), orders=orders, updated_ms=exchange.now_ms())
    exchange.stage = replace(exchange.stage, portfolio=portfolio)


def yearly(closes: list[float]) -> float:
    return stdev([after / before - 1 for before, after in pairwise(closes)]) * sqrt(365)


async def class_of(exchange: SimulatedExchange, asset: str) -> str:
    """Return the class that windows of a month, and then all days, entered or left by more than a tenth of its edge."""
    if asset == "USDT":
        return "Stable"
    rows = await raw(exchange, f"klines?symbol={asset}USDT&interval=1d&limit=91")
    closes = [float(row[4]) for row in rows[:-1]]
    windows = [yearly(closes[end - 31 : end]) for end in range(31, len(closes) + 1)]
    place = sum(windows[0] >= edge for edge, _ in EDGES)
    for annual in (*windows[1:], yearly(closes)):
        while place < len(EDGES) and annual >= 1.1 * EDGES[place][0]:
            place += 1
        while place and annual < 0.9 * EDGES[place - 1][0]:
            place -= 1
    return [*(name for _, name in EDGES), "High volatility"][place]


async def moves_of(exchange: SimulatedExchange, asset: str) -> list[float]:
    if asset == "USDT":
        return [0.0] * 89
    rows = await raw(exchange, f"klines?symbol={asset}USDT&interval=1d&limit=91")
    return [float(after[4]) / float(before[4]) - 1 for before, after in pairwise(rows[:-1])]


async def effective_by_risk(exchange: SimulatedExchange, parts: dict[str, int]) -> float:
    """Return the squared diversification ratio, from the raw candles."""
    moves = {asset: await moves_of(exchange, asset) for asset in parts}
    whole = [sum(part / 100 * moves[asset][day] for asset, part in parts.items()) for day in range(89)]
    return (sum(part / 100 * stdev(moves[asset]) for asset, part in parts.items()) / stdev(whole)) ** 2


async def shortfall(exchange: SimulatedExchange, parts: dict[str, float]) -> float:
    """Return the mean loss of the five worst days, in per cent, from the raw candles."""
    moves = {asset: await moves_of(exchange, asset) for asset in parts}
    whole = sorted(sum(part * moves[asset][day] for asset, part in parts.items()) for day in range(89))
    return -sum(whole[:5]) / 5


def spread_wider(parts: dict[str, int]) -> tuple[str, dict[str, float]] | None:
    """Return the what-if of more altcoins: its name, and the parts after it."""
    risky = {asset: part for asset, part in parts.items() if asset not in {"USDT", "USDC"}}
    source = max(risky, key=lambda asset: risky[asset], default="")
    targets = sorted((asset for asset in risky if asset not in {source, "BTC"}), key=lambda asset: -risky[asset])
    if not targets:
        return None
    share = min(20, risky[source] / 2)
    after = {asset: part + share / len(targets) * (asset in targets) for asset, part in parts.items()}
    return f"{share:.0f} points from {source} to {', '.join(targets)}", after | {source: parts[source] - share}


def quarter_stable(parts: dict[str, int]) -> dict[str, float]:
    """Return the parts after all coins shrank to three quarters of the whole. The new stablecoins do not move."""
    stable = parts.get("USDT", 0) + parts.get("USDC", 0)
    return {asset: part * (1 if asset in {"USDT", "USDC"} else 75 / (100 - stable)) for asset, part in parts.items()}


def stop_order(symbol: str, quantity: str, side: str = "SELL", kind: str = "STOP_LOSS_LIMIT") -> Order:
    return Order(
        symbol=symbol, order_id=1, client_order_id="stop", side=side, price="1000.00", quantity=quantity,
        executed=ZERO, executed_value=ZERO, status="NEW", placed_ms=0, updated_ms=0, kind=kind, stop_price="1001.00",
    )  # fmt: skip


def composition(text: str) -> dict[str, tuple[float, str]]:
    """Return share and class of each asset, in the order shown."""
    section = text.split("**Portfolio Composition**:\n")[1].split("\n\n", maxsplit=1)[0]
    found = (re.fullmatch(r"- .+ \((\S+)\): ([0-9.]+)% \((.+)\)", line) for line in section.split("\n"))
    return {match[1]: (float(match[2]), match[3]) for match in found if match}


def verdict(text: str) -> tuple[str, list[str]]:
    """Return the sentence of the assessment and the lines of advice below it."""
    sentence, _, rest = text.split("**Risk Assessment**: ")[1].partition("\n\n")
    return sentence, rest.split("\n\n")[0].split("\n")


@requirement("prompts/portfolio-risk-composition", "SC-002")
@pytest.mark.parametrize("account", ACCOUNTS)
async def test_each_asset_shows_its_share_and_its_measured_class(
    client: Client, exchange: SimulatedExchange, account: str
) -> None:
    await fund(exchange, ACCOUNTS[account])

    shown = composition(await page(client))

    assert set(shown) == set(ACCOUNTS[account])
    for asset, part in ACCOUNTS[account].items():
        said, _, beside = shown[asset][1].partition(", ")
        assert (shown[asset][0], said) == (pytest.approx(part, abs=0.051), await class_of(exchange, asset))
        assert not beside or beside.startswith("close to ")
    assert list(shown.values()) == sorted(shown.values(), key=lambda each: -each[0])


@requirement("prompts/portfolio-risk-advice", "prompts/us2-3")
@pytest.mark.parametrize("account", ACCOUNTS)
async def test_the_verdict_and_its_advice_follow_from_shares_and_classes(
    client: Client, exchange: SimulatedExchange, account: str
) -> None:
    parts = ACCOUNTS[account]
    await fund(exchange, parts)

    sentence, advice = verdict(await page(client))

    ranked = sorted(parts, key=lambda asset: -parts[asset])
    volatile = [asset for asset in ranked if await class_of(exchange, asset) in VOLATILE]
    share = sum(parts[asset] for asset in volatile)
    named = f"weighted toward high-volatility assets ({share}.0% in {'+'.join(volatile)})"
    weighting = f"heavily {named}" if share >= 60 else f"moderately {named}" if share >= 30 else None
    assert sentence == (
        f"Your portfolio is {weighting or 'mostly in lower-volatility assets'}. "
        "Consider the following for balanced diversification:"
    )
    stable = parts.get("USDT", 0) + parts.get("USDC", 0)
    effective = await effective_by_risk(exchange, parts)
    largest = max((part for asset, part in parts.items() if asset not in {"USDT", "USDC"}), default=0)
    now = await shortfall(exchange, {**parts})
    calmer = await shortfall(exchange, quarter_stable(parts)) if stable < 100 else now
    wider = spread_wider(parts)
    apart = now if wider is None else await shortfall(exchange, wider[1])
    fired = [
        (MORE_STABLE, stable < 25 and now - calmer >= 0.1),
        (DIVERSIFY, effective < 5 and largest > 0 and now - apart >= 0.1),
        (SET_STOPS, largest >= 25),
    ]
    assert advice == ([line for line, fires in fired if fires] or ["*- No rule-based change suggested*"])


@requirement("prompts/portfolio-risk-advice", "ruling/49")
@pytest.mark.parametrize(
    "account", ["two majors", "one wild coin", "half asleep", "asleep", "well spread", "dollars alone"]
)
async def test_each_advice_gives_its_reason_and_its_own_what_if_in_numbers(
    client: Client, exchange: SimulatedExchange, account: str
) -> None:
    parts = ACCOUNTS[account]
    await fund(exchange, parts)

    text = await page(client)

    _, advice = verdict(text)
    effective = await effective_by_risk(exchange, parts)
    now, wider = await shortfall(exchange, {**parts}), spread_wider(parts)
    calmer = await shortfall(exchange, quarter_stable(parts)) if account != "dollars alone" else now
    few = f"{effective:.1f} effective assets by risk (assets that move together count as one), under 5"
    if wider is not None:
        few += f": {wider[0]}, ES {now:.1f}% → {await shortfall(exchange, wider[1]):.1f}%"
    large = [f"{part}.0% in {asset}" for asset, part in parts.items() if asset != "USDT" and part >= 25]
    reasons = {
        MORE_STABLE: f"stablecoins are {parts['USDT']}.0%, under 25%: with 25%, ES {now:.1f}% → {calmer:.1f}%",
        DIVERSIFY: few,
        SET_STOPS: f"no live stop order covers {' and '.join(large)}, 25% or more",
    }
    given = "; ".join(reasons[line] for line in advice if line in reasons)
    assert [line for line in text.split("\n") if line.startswith("**Why this advice**: ")] == (
        [f"**Why this advice**: {given}"] if given else []
    )
    is_withheld = DIVERSIFY not in advice and effective < 5 and set(parts) - {"USDT", "USDC"}
    untried = "but no other altcoin is held, so the effect was not measured" if wider is None else "which is not lower"
    assert [line for line in text.split("\n") if line.startswith("**Not advised**: ")] == (
        [f"**Not advised**: {few}, {untried}"] if is_withheld else []
    )


@requirement("ruling/49")
async def test_altcoins_that_raise_the_expected_shortfall_are_not_advised(
    client: Client, exchange: SimulatedExchange
) -> None:
    parts = {"BTC": 60, "ETH": 15, "BNB": 5, "USDT": 20}
    await fund(exchange, parts)

    text = await page(client)

    now, wider = await shortfall(exchange, {**parts}), spread_wider(parts)
    assert wider is not None
    after = await shortfall(exchange, wider[1])
    assert after > now
    assert DIVERSIFY not in text
    assert f": 20 points from BTC to ETH, BNB, ES {now:.1f}% → {after:.1f}%, which is not lower" in text
    assert "| 20 points from BTC to ETH, BNB | VaR " in text


@requirement("ruling/49")
@pytest.mark.parametrize(
    "order", [("BTCUSDT", "0.001"), ("BTCUSDT", "9", "BUY"), ("BTCUSDT", "9", "SELL", "LIMIT"), ("ETHBTC", "9")]
)
async def test_a_stop_is_advised_where_no_live_stop_sells_a_large_position(
    client: Client, exchange: SimulatedExchange, order: tuple[str, ...]
) -> None:
    await fund(exchange, {"BTC": 60, "ETH": 20, "USDT": 20}, stop_order(*order))

    text = await page(client)

    assert SET_STOPS in text
    assert re.search(r"no live stop order covers (60.0|59.\d)% in BTC, 25% or more", text)


@requirement("ruling/49")
@pytest.mark.parametrize("symbol", ["BTCUSDT", "BTCUSDC"])
async def test_no_stop_is_advised_where_a_live_stop_sells_the_large_position(
    client: Client, exchange: SimulatedExchange, symbol: str
) -> None:
    await fund(exchange, {"BTC": 60, "ETH": 20, "USDT": 20}, stop_order(symbol, "9"))

    text = await page(client)

    assert SET_STOPS not in text
    assert "no live stop order" not in text


@requirement("ruling/49")
async def test_without_the_open_orders_no_stop_is_advised_and_the_page_says_so(
    client: Client, exchange: SimulatedExchange
) -> None:
    await fund(exchange, ACCOUNTS["asleep"] | {"BTC": 40, "USDT": 60})
    exchange.faults.add(Fault(kind="status", path="*/openOrders", status=500, times=None))

    text = await page(client)

    assert SET_STOPS not in text
    assert "no live stop order covers 40.0% in BTC, 25% or more, but the open orders could not be read" in text


@requirement("prompts/portfolio-risk-advice")
async def test_an_account_whose_holdings_have_no_price_is_not_judged(
    client: Client, exchange: SimulatedExchange
) -> None:
    await fund(exchange, {"BTC": 40, "USDT": 30, "ETH": 20, "NOWHERE": 10})

    text = await page(client)

    assert "**Risk Assessment**: not judged: 25 % of holdings have no price\n" in text
    assert MORE_STABLE not in text
    assert "Your portfolio is" not in text
    assert "_Not valued, and not in the total: NOWHERE (no route to USDT)_" in text


@pytest.mark.slow
@requirement("prompts/us2-3")
async def test_the_accounts_above_meet_every_verdict(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    said: set[str] = set()
    for parts in ACCOUNTS.values():
        clock.advance(60_000)
        await fund(exchange, parts)
        sentence, advice = verdict(await page(client))
        said |= {sentence.split()[3], *advice}

    assert said == {
        "heavily", "moderately", "mostly", MORE_STABLE, DIVERSIFY, SET_STOPS, "*- No rule-based change suggested*"
    }  # fmt: skip


@requirement("prompts/us2-3")
async def test_a_model_finds_what_it_needs_to_judge_diversification(
    client: Client, exchange: SimulatedExchange
) -> None:
    await fund(exchange, ACCOUNTS["well spread"])

    text = await page(client)

    assert "effective assets of 7)" in text
    assert "**Stablecoin share**: 26.0%" in text
    for heading in ("## Measured Risk (", "## What If"):
        assert heading in text
    rows = [line.split(" | ") for line in text.split("\n") if line.endswith("USDT |") and line.count("|") == 7]
    assert {row[0].removeprefix("| ") for row in rows} == set(ACCOUNTS["well spread"]) - {"USDT"}
    assert all(0.5 < float(row[4]) <= 1 for row in rows)


@requirement("prompts/portfolio-risk-composition")
async def test_a_volatility_beside_an_edge_names_the_class_across_it(
    client: Client, exchange: SimulatedExchange
) -> None:
    parts = ACCOUNTS["well spread"]
    await fund(exchange, parts)

    rows = [line.split(" | ") for line in (await page(client)).split("\n") if line.endswith("USDT |")]

    across: dict[str, str] = {}
    names = [*(name for _, name in EDGES), "High volatility"]
    for asset in set(parts) - {"USDT"}:
        closes = [float(row[4]) for row in await raw(exchange, f"klines?symbol={asset}USDT&interval=1d&limit=91")]
        place = names.index(await class_of(exchange, asset))
        sides = [
            (EDGES[at][0], names[other]) for at, other in ((place - 1, place - 1), (place, place + 1)) if 0 <= at < 4
        ]
        for edge, name in sides:
            if abs(yearly(closes[:-1]) / edge - 1) < 0.1:
                across[asset] = f"(close to {name.removesuffix(' volatility')})"
    said = {row[0].removeprefix("| "): row[2].partition(" ")[2] for row in rows if "(" in row[2]}
    assert across
    assert said == across


@requirement("prompts/portfolio-risk-composition")
async def test_a_class_that_was_not_measured_says_that_it_is_a_default(
    client: Client, exchange: SimulatedExchange
) -> None:
    await fund(exchange, ACCOUNTS["two majors"])
    exchange.faults.add(Fault(kind="status", path="*/klines", status=500, times=None))

    shown = composition(await page(client))

    assert {asset: words for asset, (_, words) in shown.items()} == {
        "BTC": "High volatility, default",
        "ETH": "Medium-high volatility, default",
        "USDT": "Stable",
    }
