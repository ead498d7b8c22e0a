"""Symbols and addresses that mean nothing: only the contract's errors, and not one request to the exchange."""

from string import printable
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError

from mcp_binance_server.app import App
from mcp_binance_server.domain.symbols import SymbolTable, fold
from mcp_binance_server.errors import AppError
from mcp_binance_server.simulator.exchange import SimulatedExchange

pytestmark = pytest.mark.flood

CONTRACT_CODES = {-32003, -32404}
CASES, EACH = 50_000, 100
# So many go to the dispatcher, which answers every door alike, for one that a client sends.
CLIENT_EACH = 10
PARTS = (
    "btcusdt", "BTC", "USDT", "/", "-", "..", "../", "%2e%2e%2f", "%252e", "%00", "\\", "?", "#", "@", ":", "*",
    "&side=SELL", "' OR 1=1 --", "<script>", "\u017f", "\u0131", "\u202e", "\u200b", "\uff11", "币", "\x00", "\n",
    " ", "%ff", "{symbol}",
)  # fmt: skip
CATEGORIES = ("market", "account", "orders", "guide", "", "MARKET", "market/..", "invalid", "%6darket")
# A category alone is a page.
INDEXES = ("BINANCE://MARKET", "BINANCE://ACCOUNT", "BINANCE://ORDERS")
SCHEMES = ("binance://", "binance:/", "BINANCE://", "file://", "http://", "guide://", "", "binance://user@")


def repeated(part: str, times: int) -> str:
    return part * times


def address(scheme: str, category: str, word: str, *, encode: bool) -> str:
    return f"{scheme}{category}/{quote(word, safe='') if encode else word}"


words = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text(printable, max_size=12),
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("".join),
    st.builds(repeated, st.sampled_from(PARTS), st.sampled_from([10, 1_000])),
)
addresses = st.builds(
    address,
    st.one_of(st.just("binance://"), st.sampled_from(SCHEMES)),
    st.one_of(st.just("market"), st.sampled_from(CATEGORIES)),
    words,
    encode=st.booleans(),
)


@pytest.fixture
async def table(app: App) -> SymbolTable:
    return await app.market.directory.table()


def drawn(strategy: st.SearchStrategy[str], scale: int) -> list[str]:
    """Return tens of thousands of examples, the same in every run."""
    found: list[str] = []

    @settings(
        max_examples=scale * CASES // EACH,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
        derandomize=True,
        database=None,
        phases=[Phase.generate],
    )
    @given(st.lists(strategy, min_size=EACH, max_size=EACH))
    def collect(examples: list[str]) -> None:
        found.extend(examples)

    collect()
    return found


@pytest.mark.timeout(900)
async def test_hostile_addresses_get_the_contracts_errors_and_cost_no_request(
    app: App, exchange: SimulatedExchange, table: SymbolTable, scale: int
) -> None:
    sent_before = len(exchange.requests)
    tried = 0

    async with Client(app.server, cache=None) as client:

        async def read(uri: str) -> None:
            nonlocal tried
            tried += 1
            if table.find(fold(uri.rpartition("/")[2])) or fold(uri).removesuffix("/") in INDEXES:
                return
            asked = app.dispatcher.read_resource(None, uri) if tried % CLIENT_EACH else client.read_resource(uri)
            with pytest.raises((AppError, MCPError)) as caught:
                await asked
            assert caught.value.code in CONTRACT_CODES, uri
            assert len(caught.value.message) < 300
            assert caught.value.message.isprintable()

        for uri in drawn(addresses, scale):
            await read(uri)
        for part in PARTS:
            await read("binance://market/" + part * (1_000_000 // len(part)))

    assert tried >= CASES
    assert len(exchange.requests) == sent_before


@pytest.mark.timeout(900)
async def test_hostile_symbols_in_a_tool_are_refused_and_cost_no_request(
    app: App, exchange: SimulatedExchange, table: SymbolTable, scale: int
) -> None:
    sent_before = len(exchange.requests)
    tried = 0

    async with Client(app.server, cache=None) as client:

        async def call(symbol: str) -> None:
            nonlocal tried
            tried += 1
            if table.find(fold(symbol)):
                return
            if tried % CLIENT_EACH:
                result = await app.dispatcher.call_tool(None, "get_ticker", {"symbol": symbol})
            else:
                result = await client.call_tool("get_ticker", {"symbol": symbol})
            assert result.is_error
            assert (result.structured_content or {})["code"] in {-32003, -32602}

        for symbol in drawn(words, scale):
            await call(symbol)
        for part in PARTS:
            await call(part * (1_000_000 // len(part)))

    assert tried >= CASES
    assert len(exchange.requests) == sent_before
