"""Symbols and addresses that mean nothing: only the contract's errors, and not one request to the exchange.

A commit tries 1,000 of each, a night 10,000; `scripts/test --scale 5 tests/faults/test_garbage.py` tries 50,000.
"""

import re
from collections.abc import Callable
from random import Random
from string import printable
from urllib.parse import quote, unquote

import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App
from mcp_binance_server.domain.symbols import SymbolTable, fold
from mcp_binance_server.errors import AppError

pytestmark = pytest.mark.flood

CONTRACT_CODES = {-32003, -32404}
CASES, CASES_OF_A_COMMIT = 10_000, 1_000
# So many go to the dispatcher, which answers every transport alike, for one that a client sends.
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


# Where to draw characters from: controls and ASCII, the alphabets, everything that is no half of a pair.
PLANES = (range(0x80), range(0x3000), range(0xD800), range(0xE000, 0x110000))


def word(chance: Random) -> str:
    """Return text of any kind: any characters, what can be typed, parts that mean something, one part very often."""
    match chance.randrange(4):
        case 0:
            return "".join(chr(chance.choice(chance.choice(PLANES))) for _ in range(chance.randrange(13)))
        case 1:
            return "".join(chance.choices(printable, k=chance.randrange(13)))
        case 2:
            return "".join(chance.choices(PARTS, k=chance.randint(1, 4)))
        case _:
            return chance.choice(PARTS) * chance.choice((chance.randint(1, 20), 1_000))


def address(chance: Random) -> str:
    """Return an address, half of the time one that begins well."""
    scheme = chance.choice(("binance://", chance.choice(SCHEMES)))
    category = chance.choice(("market", chance.choice(CATEGORIES)))
    found = word(chance)
    return f"{scheme}{category}/{quote(found, safe='') if chance.random() < 0.5 else found}"


@pytest.fixture
async def table(app: App) -> SymbolTable:
    return await app.market.directory.table()


def drawn(draw: Callable[[Random], str], count: int) -> list[str]:
    """Return examples, the same in every run."""
    chance = Random(7)
    return [draw(chance) for _ in range(count)]


@pytest.mark.timeout(900)
async def test_hostile_addresses_get_the_contracts_errors_and_cost_no_request(
    app: App, exchange: SimulatedExchange, table: SymbolTable, sized: Callable[[int, int], int]
) -> None:
    cases = sized(CASES, CASES_OF_A_COMMIT)
    sent_before = len(exchange.requests)
    tried = 0

    async with Client(app.server, cache=None) as client:

        async def read(uri: str) -> None:
            nonlocal tried
            tried += 1
            if table.find(fold(unquote(uri.rpartition("/")[2]))) or fold(uri).removesuffix("/") in INDEXES:
                return
            asked = app.dispatcher.read_resource(None, uri) if tried % CLIENT_EACH else client.read_resource(uri)
            with pytest.raises((AppError, MCPError)) as caught:
                await asked
            assert caught.value.code in CONTRACT_CODES, uri
            assert len(caught.value.message) < 300
            assert caught.value.message.isprintable()

        for uri in drawn(address, cases):
            await read(uri)
        for part in PARTS:
            await read("binance://market/" + part * (1_000_000 // len(part)))

    assert tried >= cases
    assert len(exchange.requests) == sent_before


def is_pair_in_other_words(text: str, table: SymbolTable) -> bool:
    """Return True for an asset, or for two assets with a separator, after an optional "BINANCE:"."""
    names = re.split(r"[\s/_-]+", fold(text).removeprefix("BINANCE:").strip())
    assets = {each.base for each in table.rules.values()} | {each.quote for each in table.rules.values()}
    return len(names) <= 2 and {*names} <= assets


@pytest.mark.timeout(900)
async def test_hostile_symbols_in_a_tool_are_refused_and_cost_no_request(
    app: App, exchange: SimulatedExchange, table: SymbolTable, sized: Callable[[int, int], int]
) -> None:
    cases = sized(CASES, CASES_OF_A_COMMIT)
    sent_before = len(exchange.requests)
    tried = 0

    async with Client(app.server, cache=None) as client:

        async def call(symbol: str) -> None:
            nonlocal tried
            tried += 1
            if table.find(fold(symbol)) or is_pair_in_other_words(symbol, table):
                return
            if tried % CLIENT_EACH:
                result = await app.dispatcher.call_tool(None, "get_ticker", {"symbol": symbol})
            else:
                result = await client.call_tool("get_ticker", {"symbol": symbol})
            assert result.is_error
            assert (result.structured_content or {})["code"] in {-32003, -32602}

        for symbol in drawn(word, cases):
            await call(symbol)
        for part in PARTS:
            await call(part * (1_000_000 // len(part)))

    assert tried >= cases
    assert len(exchange.requests) == sent_before
