"""The prompt portfolio_risk: the contract's page, and every figure on it computed again from the raw answers."""

import re
from decimal import Decimal
from itertools import pairwise
from math import ceil, sqrt
from statistics import covariance, fmean, stdev, variance

import pytest
from mcp import Client, MCPError, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.desk import NETWORK, Loop, raw
from support.golden import Golden
from support.requirement import requirement
from support.samples import SAMPLE_MOMENT_MS


async def page(client: Client) -> str:
    result = await client.get_prompt("portfolio_risk", {})
    (message,) = result.messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


def rows_below(text: str, heading: str) -> list[list[str]]:
    section = text[text.index(heading) :].split("\n## ", maxsplit=1)[0]
    table = [line for line in section.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def number(cell: str) -> float:
    return float(re.sub(r"[$,%~+]", "", cell.split(" ", maxsplit=1)[0]))


@requirement(
    "FR-004", "SC-002", "prompts/us2-1", "prompts/us2-2", "prompts/portfolio-risk-page",
    "prompts/portfolio-risk-value", "prompts/format-tables", "prompts/format-decimals", "ruling/11-account",
)  # fmt: skip
async def test_the_contracts_page_comes_first_and_in_its_words(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, golden: Golden
) -> None:
    clock.set_wall(SAMPLE_MOMENT_MS)
    exchange.set_scenario("contract")

    text = await page(client)

    golden.check("views/portfolio_risk.contract.md", text + "\n")


@requirement("ruling/19", "prompts/no-holdings")
async def test_an_empty_account_gets_the_contracts_own_words(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, golden: Golden
) -> None:
    clock.set_wall(SAMPLE_MOMENT_MS)
    exchange.set_scenario("empty_account")

    golden.check("views/portfolio_risk.empty_account.md", await page(client) + "\n")


async def test_every_measured_figure_is_that_of_the_raw_answers(client: Client, exchange: SimulatedExchange) -> None:
    text = await page(client)
    prices = {row["symbol"]: Decimal(row["price"]) for row in await raw(exchange, "ticker/price")}
    holdings = {row[0]: Decimal(row[3].replace(",", "")) for row in rows_below(text, "## Current Holdings")}
    values = {a: float(q * (1 if a == "USDT" else prices[f"{a}USDT"])) for a, q in holdings.items()}
    total = sum(values.values())
    closes: dict[str, list[float]] = {}
    for asset in holdings:
        if asset != "USDT":
            rows = await raw(exchange, f"klines?symbol={asset}USDT&interval=1d&limit=91")
            closes[asset] = [float(row[4]) for row in rows[:-1]]
    moves = {a: [after / before - 1 for before, after in pairwise(v)] for a, v in closes.items()}
    moves["USDT"] = [0.0] * 89
    weights = {a: v / total for a, v in values.items()}
    whole = [sum(weights[a] * moves[a][day] for a in weights) for day in range(89)]
    sigma = stdev(whole)
    worst = sorted(whole)[: ceil(89 * 5 / 100)]

    total_line = next(line for line in text.split("\n") if line.startswith("**Total Portfolio Value**"))
    assert number(total_line.partition(": ")[2]) == pytest.approx(total, abs=0.02)
    for row in rows_below(text, "## Measured Risk"):
        asset = row[0]
        assert number(row[1]) == pytest.approx(100 * weights[asset], abs=0.051)
        share = weights[asset] * covariance(moves[asset], whole) / sigma**2
        assert number(row[3]) == pytest.approx(100 * share, abs=0.051)
        if asset != "USDT":
            annual = stdev(moves[asset]) * sqrt(365)
            assert number(row[2]) == pytest.approx(100 * annual, abs=0.051)
            rho = covariance(moves[asset], moves["BTC"]) / sqrt(variance(moves[asset]) * variance(moves["BTC"]))
            assert number(row[4]) == pytest.approx(rho, abs=0.0051)
    line = next(each for each in text.split("\n") if each.startswith("**Portfolio volatility**"))
    shown = [float(each) for each in re.findall(r"([0-9.]+)%(?!\*)", line)]
    assert shown == [
        pytest.approx(100 * sigma * sqrt(365), abs=0.051),
        pytest.approx(-100 * worst[-1], abs=0.051),
        pytest.approx(-100 * fmean(worst), abs=0.051),
    ]
    assert "(5 worst of 89 days" in line
    dollars = [float(each.replace(",", "")) for each in re.findall(r"\$([0-9,]+)", line)]
    assert dollars == [pytest.approx(-total * worst[-1], abs=1), pytest.approx(-total * fmean(worst), abs=1)]
    hhi = sum(weight**2 for weight in weights.values())
    assert f"**HHI**: {hhi:.3f}" in text
    scenarios = rows_below(text, "## What If")
    assert number(scenarios[0][1]) == pytest.approx(0.8 * (total - values["USDT"]) + values["USDT"], abs=0.02)
    betas = {a: covariance(moves[a], moves["BTC"]) / variance(moves["BTC"]) for a in moves}
    after = sum(v * (1 - 0.1 * betas[a]) for a, v in values.items())
    assert number(scenarios[1][1]) == pytest.approx(after, abs=0.5)
    shrink = 0.75 / (1 - weights["USDT"])
    calmer = sorted(sum(shrink * weights[a] * moves[a][day] for a in weights) for day in range(89))[:5]
    assert [float(each) for each in re.findall(r"([0-9.]+)%", scenarios[2][1])] == [
        pytest.approx(-100 * calmer[-1], abs=0.051),
        pytest.approx(-100 * fmean(calmer), abs=0.051),
    ]
    assert f"{1 / hhi:.1f} effective assets of {len(weights)}" in text
    for row in rows_below(text, "## Current Holdings"):
        assert number(row[4]) == pytest.approx(values[row[0]], abs=0.011)


@requirement("FR-019", "prompts/invalid-credentials", "prompts/code-invalid-credentials")
async def test_without_a_key_the_error_names_the_variables_and_where_to_get_one(
    clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    async with (
        running_app(read_settings({}), clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        with pytest.raises(MCPError) as caught:
            await page(client)

    assert caught.value.code == (-32002 if era == "legacy" else 32002)
    assert caught.value.message == (
        "Invalid API credentials. Please check your BINANCE_API_KEY and BINANCE_SECRET_KEY environment variables."
    )
    assert {"masked_api_key", "help_url", "recovery_suggestion"} <= set(caught.value.data)
    assert exchange.requests == []


@requirement("FR-019", "prompts/invalid-credentials")
async def test_a_refused_key_is_shown_masked(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(
        Fault(kind="status", path="*/account", status=401, code=-2015, msg="Invalid API-key", times=None)
    )

    with pytest.raises(MCPError) as caught:
        await page(client)

    key = exchange.account.api_key
    assert caught.value.data["masked_api_key"] == f"{key[:4]}****{key[-4:]}"
    assert key[4:13] not in str(caught.value.data)


async def test_missing_histories_leave_the_valued_page_with_the_gap_marked(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", path="*/klines", status=500, times=None))

    text = await page(client)

    assert "**Total Portfolio Value**: ~$" in text
    assert "_Collecting: 0 of 60 daily closes_" in text
    assert "_Unavailable: daily candles of BTCUSDT: " in text
    assert "(High volatility, default)" in text


async def test_a_rate_limit_on_the_way_is_an_error(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", path="*/klines", status=429, code=-1003, headers={"Retry-After": "9"}))

    with pytest.raises(MCPError) as caught:
        await page(client)

    assert caught.value.code == -32001


async def test_the_page_costs_three_requests_and_one_per_asset_an_hour(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await page(client)
    exchange.requests.clear()
    clock.advance(10_000)

    await page(client)

    assert sorted(request.path[8:] for request in exchange.requests) == ["account", "openOrders", "ticker/price"]
    clock.advance(3_600_000)
    exchange.requests.clear()
    await page(client)
    assert [request.path[8:] for request in exchange.requests].count("klines") == 4


@requirement("prompts/portfolio-risk-registration", "prompts/no-arguments", "data-model/prompt-portfolio-risk")
async def test_it_is_listed_without_arguments_and_takes_none(client: Client) -> None:
    (listed,) = [prompt for prompt in (await client.list_prompts()).prompts if prompt.name == "portfolio_risk"]

    assert listed.model_dump(exclude_none=True, by_alias=True) == {
        "name": "portfolio_risk",
        "description": "Assess portfolio risk and provide diversification recommendations based on current holdings",
        "arguments": [],
    }
    with pytest.raises(MCPError) as caught:
        await client.get_prompt("portfolio_risk", {"account": "another"})
    assert caught.value.code == -32602
