"""In scenario `contract` both prompts say every line of the contract's samples, and each comes out by measuring."""

import re
from itertools import pairwise
from math import log, sqrt
from statistics import stdev

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.desk import NETWORK, Loop, raw
from support.fixtures import CONTRACT_DOCUMENTS, needs
from support.golden import golden_text
from support.requirement import requirement
from support.samples import SAMPLE_MOMENT_MS, contract_pages, golden_lines, prompt_samples

ASKED = {
    "trading_analysis": {"symbol": "BTCUSDT", "strategy": "balanced", "risk_tolerance": "medium"},
    "portfolio_risk": {},
}
LATER_MS = 1_784_592_123_456


async def said(prompt: str, *, seed: int, now_ms: int) -> list[str]:
    """Return the lines of a prompt on the contract's market, begun at that moment."""
    clock = FakeClock()
    clock.set_wall(now_ms)
    exchange = SimulatedExchange(clock, seed=seed, scenario="contract")
    keys = {"BINANCE_API_KEY": exchange.account.api_key, "BINANCE_SECRET_KEY": exchange.account.secret_key}
    async with (
        running_app(read_settings(keys), clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        Client(app.server, cache=None) as client,
    ):
        (message,) = (await client.get_prompt(prompt, ASKED[prompt])).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text.split("\n")


# No line is excepted: the sums of the samples that do not add up stand on resources.
@pytest.mark.slow
@requirement("ruling/20", "prompts/trading-analysis-page", "prompts/portfolio-risk-page")
@pytest.mark.parametrize("prompt", ASKED)
@pytest.mark.parametrize("seed", [7, 8, 2026])
async def test_every_line_of_the_sample_is_said_in_its_order(prompt: str, seed: int) -> None:
    lines = await said(prompt, seed=seed, now_ms=SAMPLE_MOMENT_MS)

    *body, _, last = golden_lines(prompt)
    assert lines[: len(body)] == body
    assert lines[-1] == last


@pytest.mark.slow
@requirement("ruling/20")
@pytest.mark.parametrize("seed", range(20, 32))
async def test_on_any_day_and_with_any_seed_the_same_words_are_measured(seed: int) -> None:
    lines = await said("portfolio_risk", seed=seed, now_ms=LATER_MS + seed * 47 * 86_400_000)

    *body, _, _ = golden_lines("portfolio_risk")
    assert [line for line in body if line not in lines] == []


@needs(CONTRACT_DOCUMENTS)
@pytest.mark.parametrize("prompt", ASKED)
def test_our_golden_pages_hold_the_samples_line_by_line(prompt: str) -> None:
    assert golden_lines(prompt) == prompt_samples()[prompt].split("\n")


@needs(CONTRACT_DOCUMENTS)
def test_our_golden_page_of_an_empty_account_is_the_sample() -> None:
    assert golden_text("views/portfolio_risk.empty_account.md") == prompt_samples()["empty"] + "\n"


@needs(CONTRACT_DOCUMENTS)
@pytest.mark.parametrize(
    ("uri", "golden"),
    [
        ("binance://market/btcusdt", "market_btcusdt"),
        ("binance://market/ethusdt", "market_ethusdt"),
        ("binance://account/balances", "account_balances"),
        ("binance://orders/open", "orders_open"),
    ],
)
def test_our_golden_pages_of_resources_are_the_samples(uri: str, golden: str) -> None:
    sample = contract_pages()[uri]

    if golden == "orders_open":  # the sum on the sample is not that of its rows
        sample = re.sub(r"(?m)^\*\*Total Value\*\*.*$", "**Total Value**: ~$3,074.00 (estimated)", sample)

    assert golden_text(f"views/{golden}.contract.md") == sample


@requirement("ruling/20")
async def test_the_classes_are_those_of_the_candles(exchange: SimulatedExchange, clock: FakeClock) -> None:
    clock.set_wall(SAMPLE_MOMENT_MS)
    exchange.set_scenario("contract")

    annual: dict[str, float] = {}
    for asset in ("BTC", "ETH", "BNB"):
        rows = (await raw(exchange, f"klines?symbol={asset}USDT&interval=1d&limit=91"))[:-1]
        moves = [log(float(after[4]) / float(before[4])) for before, after in pairwise(rows)]
        annual[asset] = stdev(moves) * sqrt(365)

    assert annual["BTC"] > 0.75
    assert 0.50 < annual["ETH"] < 0.75
    assert 0.30 < annual["BNB"] < 0.50


@requirement("ruling/20")
async def test_in_another_market_the_same_coins_have_other_classes(client: Client) -> None:
    (message,) = (await client.get_prompt("portfolio_risk", {})).messages

    assert isinstance(message.content, types.TextContent)
    assert "- Bitcoin (BTC): " in message.content.text
    assert "% (High volatility)" not in message.content.text.split("- Bitcoin (BTC): ")[1].split("\n")[0]
