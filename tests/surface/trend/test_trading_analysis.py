"""The prompt trading_analysis: the contract's page, and every figure on it computed again from the raw answers."""

import re
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import pairwise
from math import log, sqrt
from statistics import stdev

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

DAY_MS = 86_400_000


async def page(client: Client, **arguments: str) -> str:
    result = await client.get_prompt("trading_analysis", {**arguments, "detail": "true"})
    (message,) = result.messages
    assert message.role == "user"
    assert isinstance(message.content, types.TextContent)
    return message.content.text


@pytest.fixture
def contract(exchange: SimulatedExchange, clock: FakeClock) -> SimulatedExchange:
    clock.set_wall(SAMPLE_MOMENT_MS)
    exchange.set_scenario("contract")
    return exchange


@pytest.mark.slow
@requirement(
    "FR-001", "FR-002", "FR-005", "prompts/us1-1", "prompts/us1-2", "prompts/one-message",
    "prompts/trading-analysis-page", "prompts/trading-analysis-preferences", "prompts/trading-analysis-levels",
    "prompts/format-title", "prompts/format-metrics", "prompts/format-italics", "prompts/format-timestamp",
    "ruling/12-prompts", "ruling/15-prompts", "ruling/20",
)  # fmt: skip
async def test_the_contracts_page_comes_first_and_in_its_words(
    client: Client, contract: SimulatedExchange, golden: Golden
) -> None:
    given = {"symbol": "BTCUSDT", "strategy": "balanced", "risk_tolerance": "medium"}
    text = await page(client, **given)
    (message,) = (await client.get_prompt("trading_analysis", given)).messages

    assert contract.scenario == "contract"
    assert isinstance(message.content, types.TextContent)
    golden.check("views/trading_analysis.brief.md", message.content.text + "\n")
    golden.check("views/trading_analysis.contract.md", text + "\n")


LENGTH = 1_700


@pytest.mark.parametrize("scenario", ["contract", "contract_noise", "market"])
async def test_the_page_without_detail_is_short(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, scenario: str
) -> None:
    clock.set_wall(SAMPLE_MOMENT_MS)
    exchange.set_scenario(scenario)
    (message,) = (await client.get_prompt("trading_analysis", {"symbol": "BTCUSDT"})).messages
    assert isinstance(message.content, types.TextContent)
    text, whole = message.content.text, await page(client, symbol="BTCUSDT")

    assert len(text.encode()) <= LENGTH
    for start in ("**Bias**: ", "**Odds**: ", "**Position Size**: ", "*It sees one book on one venue"):
        assert f"\n{start}" in text
    shared = text.split("\n## ")[0]
    assert whole.startswith(shared)


@pytest.mark.slow
@requirement("ruling/20")
@pytest.mark.parametrize("strategy", ["aggressive", "balanced", "conservative"])
async def test_the_same_ticker_after_loud_weeks_earns_none_of_the_samples_words(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, strategy: str
) -> None:
    clock.set_wall(SAMPLE_MOMENT_MS)
    exchange.set_scenario("contract_noise")

    text = await page(client, symbol="BTCUSDT", strategy=strategy)

    assert "**24h Change**: +2.5% ($1,234.56)" in text
    assert "is showing little net movement (+2.5%, 0.8 of a normal day's move) over 24 hours." in text
    assert "The price sits inside the daily range without a clear direction." in text
    assert "bullish" not in text
    assert "near resistance" not in text
    above = {"aggressive": "three quarters of a", "balanced": "half a", "conservative": "a quarter of a"}[strategy]
    assert f"({above} range above the 24h high)*" in text


@pytest.mark.parametrize(
    ("symbol", "strategy", "risk"),
    [
        ("PEPEUSDT", "conservative", "low"),
        ("ETHBTC", "aggressive", "high"),
        ("BTCEUR", "balanced", "medium"),
        ("SHIBUSDT", "balanced", "low"),
    ],
)
async def test_pages_of_other_markets_have_no_zero_price_and_no_float_artefact(
    client: Client, symbol: str, strategy: str, risk: str
) -> None:
    text = await page(client, symbol=symbol, strategy=strategy, risk_tolerance=risk)

    assert not re.search(r"\$0\.0+\b(?![0-9])", text)
    assert not re.search(r"[0-9]\.[0-9]{10,}|e-[0-9]", text)
    assert ("$" in text) is (symbol.endswith("USDT"))


def row_below(text: str, heading: str) -> list[str]:
    lines = text.split("\n")
    start = next(place for place, line in enumerate(lines) if line.startswith(heading))
    return [cell.strip() for cell in lines[start + 3].strip("|").split("|")]


def number(cell: str) -> float:
    return float(re.sub(r"[$,%]", "", cell.split(" ", maxsplit=1)[0]))


async def test_trend_figures_are_those_of_the_raw_candles(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    text = await page(client, symbol="BTCUSDT")
    rows = await raw(exchange, "klines?symbol=BTCUSDT&interval=1h&limit=1000")
    closed = [row for row in rows if row[6] < clock.now_ms()]
    close = [float(row[4]) for row in closed]

    def ema(n: int) -> float:
        value = sum(close[:n]) / n
        for price in close[n:]:
            value += (price - value) * 2 / (n + 1)
        return value

    def wilder(values: list[float], n: int) -> float:
        value = sum(values[:n]) / n
        for each in values[n:]:
            value = (value * (n - 1) + each) / n
        return value

    moves = [after - before for before, after in pairwise(close)]
    up, down = wilder([max(m, 0) for m in moves], 14), wilder([max(-m, 0) for m in moves], 14)
    ranges = [max(float(b[2]), float(a[4])) - min(float(b[3]), float(a[4])) for a, b in pairwise(closed)]
    returns = [log(after / before) for before, after in pairwise(close[-200:])]
    cells = row_below(text, "## Trend and Volatility")
    assert number(cells[0]) == pytest.approx(ema(20), abs=0.006)
    assert number(cells[1]) == pytest.approx(ema(50), abs=0.006)
    assert number(cells[2]) == pytest.approx(ema(200), abs=0.006)
    today = [row for row in closed if int(row[0]) // DAY_MS == int(closed[-1][0]) // DAY_MS]
    traded, bought = sum(float(row[5]) for row in today), sum(float(row[7]) for row in today)
    assert number(cells[3]) == pytest.approx(bought / traded, abs=0.006)
    assert number(cells[4]) == pytest.approx(100 * up / (up + down), abs=0.051)
    assert number(cells[5]) == pytest.approx(wilder(ranges, 14), abs=0.006)
    assert number(cells[6]) == pytest.approx(100 * stdev(returns) * sqrt(365 * 24), abs=0.051)
    assert cells[6].endswith("(n=199)")
    week = [log(after / before) for before, after in pairwise(close[-169:])]
    t = sum(week) / sqrt(sum(each * each for each in week))
    word = "No clear direction" if abs(t) < 2.1 else "Up" if t > 0 else "Down"
    said = f"**Bias**: {word} (t {t:z.1f} over 7 days; without a trend, |t| exceeds 2.1 in 4 % of cases)"
    assert said in text.split("\n")


def cents(level: Decimal) -> Decimal:
    return level.quantize(Decimal("0.01"), ROUND_HALF_EVEN)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "risk", "f1", "f2", "t", "s", "rho"),
    [
        ("aggressive", "high", "0.50", "0.75", "0.75", "0.50", "0.02"),
        ("balanced", "medium", "0.25", "0.50", "0.50", "0.25", "0.01"),
        ("conservative", "low", "0", "0.25", "0.25", "0.10", "0.005"),
    ],
)
async def test_levels_and_risk_follow_the_stated_rule(  # noqa: PLR0917 - one row of the rule's table
    client: Client, exchange: SimulatedExchange, strategy: str, risk: str, f1: str, f2: str, t: str, s: str, rho: str
) -> None:
    text = await page(client, symbol="SOLUSDT", strategy=strategy, risk_tolerance=risk)
    ticker = await raw(exchange, "ticker/24hr?symbol=SOLUSDT")
    price, high, low = (Decimal(ticker[key]) for key in ("lastPrice", "highPrice", "lowPrice"))

    span = high - low
    entry_low, entry_high = cents(low + Decimal(f1) * span), min(cents(low + Decimal(f2) * span), price)
    if price < entry_low:
        entry_low = low
    stop, target = cents(low - Decimal(s) * span), cents(high + Decimal(t) * span)
    row = next(line for line in text.split("\n") if line.startswith("| 24h range"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert [number(part) for part in cells[1].split("-")] == [float(entry_low), float(entry_high)]
    assert (number(cells[2]), number(cells[3])) == (float(stop), float(target))
    entry = (entry_low + entry_high) / 2
    ratio, _, mean = cells[4].rpartition("; noise alone reaches it in 24 h in ")
    assert ratio == (
        f"{(target - entry) / (entry - stop):.2f} reward:risk; "
        f"with no trend, the stop is hit before the target {(target - entry) / (target - stop) * 100:.0f} % of the time"
    )
    assert mean.endswith(" %; mean result by these odds: 0 before fees, -0.20% of the position after 0.10% a side")
    assert 0 < int(mean.partition(" %")[0]) < 100
    bounds = next(line for line in text.split("\n") if line.startswith("**Bounds (SOL)**: risk "))
    equity = Decimal(re.findall(r"of \$([0-9,.]+) equity", text)[0].replace(",", ""))
    assert number(bounds.split(": risk ")[1]) == pytest.approx(
        float(equity * Decimal(rho) / (entry - stop)), abs=0.0011
    )


@requirement("data-model/trading-strategy")
async def test_omitted_choices_are_marked_as_defaults(client: Client) -> None:
    text = await page(client, symbol="btcusdt", strategy="", risk_tolerance=" ")

    assert "**Strategy Preference**: Balanced (default)\n**Risk Tolerance**: Medium (default)" in text


@requirement("ruling/18")
async def test_the_other_spelling_and_any_case_of_a_choice_are_taken(client: Client) -> None:
    result = await client.get_prompt("trading_analysis", {"symbol": "BTCUSDT", "riskTolerance": "HIGH"})

    assert "**Risk Tolerance**: High\n" in result.model_dump_json().encode().decode("unicode_escape")


@requirement(
    "FR-006", "ruling/18", "prompts/list-response", "prompts/trading-analysis-registration",
    "data-model/prompt-attributes", "data-model/prompt-trading-analysis", "data-model/symbol-parameter",
    "data-model/trading-strategy",
)  # fmt: skip
async def test_the_list_shows_what_mcp_knows_of_an_argument(client: Client) -> None:
    (listed,) = [prompt for prompt in (await client.list_prompts()).prompts if prompt.name == "trading_analysis"]

    assert listed.model_dump(exclude_none=True, by_alias=True) == {
        "name": "trading_analysis",
        "description": "Analyze market conditions for a specific cryptocurrency and provide trading recommendations",
        "arguments": [
            {"name": "symbol", "description": "Trading pair symbol (e.g., BTCUSDT, ETHUSDT)", "required": True},
            {
                "name": "strategy",
                "description": "Trading strategy preference: aggressive, balanced, or conservative",
                "required": False,
            },
            {
                "name": "risk_tolerance",
                "description": "Risk tolerance level: low, medium, or high",
                "required": False,
            },
        ],
    }


@requirement("FR-007", "FR-020", "FR-022", "prompts/invalid-symbol", "prompts/code-invalid-symbol")
async def test_an_unknown_symbol_is_refused_with_the_contracts_fields(client: Client) -> None:
    with pytest.raises(MCPError) as caught:
        await page(client, symbol="INVALID")

    assert (caught.value.code, caught.value.message) == (
        -32003,
        "Invalid trading symbol 'INVALID'. Expected format: BTCUSDT, ETHUSDT",
    )
    assert caught.value.data == {
        "provided_symbol": "INVALID",
        "valid_examples": ["BTCUSDT", "ETHUSDT", "BNBUSDT"],
        "recovery_suggestion": "Use uppercase symbols without separators (e.g., BTCUSDT, not BTC-USDT)",
        "error_type": "invalid_symbol",
        "retryable": False,
        "guide": "guide://document/errors/symbols-and-orders.md",
    }


@requirement("prompts/symbol-required", "prompts/strategy-values", "prompts/risk-tolerance-values")
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"symbol": "BTCUSDT", "strategy": "yolo"},
        {"symbol": "BTCUSDT", "risk_tolerance": "none"},
        {"symbol": "BTCUSDT", "x": "1"},
    ],
)
async def test_wrong_arguments_name_what_is_wrong(client: Client, arguments: dict[str, str]) -> None:
    with pytest.raises(MCPError) as caught:
        await page(client, **arguments)

    assert caught.value.code == -32602
    assert caught.value.data["errors"]


@pytest.mark.slow
@requirement("FR-018", "ruling/07-prompts", "prompts/rate-limited", "prompts/code-rate-limited")
@pytest.mark.parametrize("path", ["*/ticker/24hr", "*/klines"])
async def test_a_rate_limit_on_the_way_is_an_error_and_never_half_a_page(
    client: Client, exchange: SimulatedExchange, path: str
) -> None:
    await page(client, symbol="ETHUSDT")
    exchange.faults.add(Fault(kind="status", path=path, status=429, code=-1003, headers={"Retry-After": "60"}))

    with pytest.raises(MCPError) as caught:
        await page(client, symbol="BTCUSDT")

    assert caught.value.code == -32001
    assert caught.value.data["retry_after_secs"] == 60


@pytest.mark.slow
async def test_missing_candles_leave_the_days_page_with_the_gap_marked(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="html", path="*/klines", times=None))

    text = await page(client, symbol="BTCUSDT")

    assert "*- Stop Loss: $" in text
    assert "_Unavailable: hourly candles: Binance API is temporarily unavailable" in text
    assert "## Trend" not in text


async def test_without_a_key_the_page_costs_six_requests_and_sizes_a_round_sum(
    clock: FakeClock, exchange: SimulatedExchange
) -> None:
    async with (
        running_app(read_settings({}), clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        Client(app.server, cache=None) as client,
    ):
        await client.read_resource("binance://market/ethusdt")
        exchange.requests.clear()
        text = await page(client, symbol="BTCUSDT")

    assert sorted(request.path[8:] for request in exchange.requests) == [
        "avgPrice", "depth", "klines", "klines", "klines", "ticker/24hr"
    ]  # fmt: skip
    assert sum(request.weight for request in exchange.requests) == 15
    assert "= 1% per $10,000 equity (" in text
    assert "_Sized without an account: by risk, depth and the exchange's rules, not by balances" in text


@pytest.mark.slow
async def test_with_a_key_the_size_is_counted_from_the_accounts_own_money(
    client: Client, exchange: SimulatedExchange
) -> None:
    (message,) = (await client.get_prompt("portfolio_risk", {})).messages
    assert isinstance(message.content, types.TextContent)
    worth = re.findall(r"Total Portfolio Value\*\*: ~(\$[0-9,.]+)", message.content.text)[0]
    exchange.requests.clear()

    text = await page(client, symbol="SOLUSDT")

    paths = sorted(request.path[8:] for request in exchange.requests)
    assert paths == [
        "account",
        "avgPrice",
        "depth",
        "exchangeInfo",
        "klines",
        "klines",
        "klines",
        "openOrders",
        "ticker/24hr",
    ]
    assert f"% of {worth} equity" in text


async def test_an_account_that_cannot_be_read_leaves_the_round_sum_and_says_so(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="html", path="*/account", times=None))

    text = await page(client, symbol="BTCUSDT")

    assert "per $10,000 equity" in text
    assert "_Unavailable: your account: Binance API is temporarily unavailable" in text


async def test_a_market_without_trades_has_no_levels_and_says_so(client: Client) -> None:
    text = await page(client, symbol="LUNAUSDT")

    assert "*- Entry Point: None by rule (flat range)*" in text
    assert "*Stale: no trades in the last 24 hours*" in text


@pytest.mark.slow
@requirement("data-model/prompt-stateless")
async def test_asked_again_the_page_is_made_anew_of_that_moment(client: Client, clock: FakeClock) -> None:
    first = await page(client, symbol="BTCUSDT")
    clock.advance(3_600_000)
    later = await page(client, symbol="BTCUSDT")

    assert first != later


@pytest.mark.flood
@requirement("prompts/symbol-pattern")
async def test_every_symbol_of_the_contracts_pattern_is_accepted(client: Client, exchange: SimulatedExchange) -> None:
    listed = [row["symbol"] for row in (await raw(exchange, "exchangeInfo"))["symbols"]]
    fitting = [symbol for symbol in listed if re.fullmatch("[A-Z]{2,10}USDT", symbol)]

    for symbol in fitting:
        assert (await page(client, symbol=symbol)).startswith(f"# Market Analysis: {symbol}\n")

    assert len(fitting) > 15
