"""Questions as people ask them find their playbook first, and every address that is named can be opened."""

from pathlib import Path

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock
from support.guides import GuideFolder
from support.served import Place, text_of

QUESTIONS = {
    "how do I size a position": "Position sizing",
    "how much should I buy if I want to lose at most 1%?": "Position sizing",
    "where does the stop come in when I calculate my size": "Position sizing",
    "what is my loss per day limit": "Risk policy template",
    "can you help me write a risk policy": "Risk policy template",
    "is my portfolio too concentrated?": "Reviewing a portfolio",
    "what does VaR mean in the portfolio": "Reviewing a portfolio",
    "how do I review my portfolio every week": "Reviewing a portfolio",
    "how do I make an api key that can only read": "API key hygiene",
    "my api key was leaked, what do I do?": "API key hygiene",
    "how do I rotate keys": "API key hygiene",
    "how do I get started": "Getting started",
    "what can I do without an API key in the first steps": "Getting started",
    "why was my key refused": "After a credential error (-32002; -2014, -2015, -1022, -1021)",
    "what does -2015 mean": "After a credential error (-32002; -2014, -2015, -1022, -1021)",
    "what should I do after a rate limit": "After a rate limit (-32001, 429, 418)",
    "why am I getting 418": "After a rate limit (-32001, 429, 418)",
    "the symbol was refused, how do I fix it": (
        "After a symbol or order error (-32003, -32004; -1121, -1013, -2010, -2011)"
    ),
    "what to do with insufficient balance": (
        "After a symbol or order error (-32003, -32004; -1121, -1013, -2010, -2011)"
    ),
    "what is an OCO order": "Order types and filters",
    "which order types are there?": "Order types and filters",
    "how do I read an order book": "Reading an order book",
    "what is imbalance in the book": "Reading an order book",
    "how do I interpret order flow": "Interpreting order flow",
    "what is the aggressor side": "Interpreting order flow",
    "what is a point of control": "Volume profile and liquidity",
    "how do I use a volume profile": "Volume profile and liquidity",
    "what is the health score made of": "Market health and anomalies",
    "how old is this number": "How fresh is this number?",
    "show me recipes for charts": "Chart recipes",
}


@pytest.mark.slow
async def test_a_question_in_plain_words_finds_its_playbook_first(client: Client) -> None:
    first = dict[str, str]()
    for question in QUESTIONS:
        result = await client.call_tool("search_guides", {"query": question})
        assert result.structured_content is not None
        first[question] = result.structured_content["hits"][0]["title"]

    assert len(QUESTIONS) == 30
    assert first == QUESTIONS


async def test_words_that_say_nothing_alone_are_searched_for_all_the_same(client: Client) -> None:
    result = await client.call_tool("search_guides", {"query": "how do I"})

    assert result.structured_content is not None
    assert result.structured_content["count"] > 0


@pytest.mark.parametrize(
    "uri",
    [
        "guide://help",
        "guide://collection/start",
        "guide://category/risk",
        "guide://category/risk/position*",
        "guide://document/errors/rate-limits.md",
        "guide://document/market/order-flow.md",
    ],
)
async def test_get_content_opens_an_address_as_it_stands(client: Client, uri: str) -> None:
    result = await client.call_tool("get_content", {"context": uri})
    (page,) = (await client.read_resource(uri)).contents

    assert isinstance(page, types.TextResourceContents)
    assert not result.is_error
    assert text_of(result).startswith(page.text)


async def test_get_content_opens_what_an_error_names(client: Client) -> None:
    refused = await client.call_tool("get_ticker", {"symbol": "BTC-USD"})
    assert refused.structured_content is not None

    opened = await client.call_tool("get_content", {"context": refused.structured_content["guide"]})

    assert not opened.is_error
    assert "symbol" in text_of(opened)


async def test_one_unreadable_playbook_does_not_cost_the_others(
    tmp_path: Path, clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    folder = GuideFolder(tmp_path).configure("version: 1\nroots: [guides]\ncategories: {desk: }\n")
    folder.write("desk/good.md", "# Good\n\nReadable.\n")
    folder.write("desk/other.md", "# Other\n\nReadable too.\n")
    (folder.root / "desk" / "broken.md").write_bytes(b"# Broken\n\xff\xfe\n")

    async with Place(clock, exchange, era).served(folder.environment) as client:
        (page,) = (await client.read_resource("guide://category/desk")).contents
        alone = await client.call_tool("get_content", {"context": "desk", "pattern": "broken.md"})

    assert isinstance(page, types.TextResourceContents)
    assert "Readable." in page.text
    assert "Readable too." in page.text
    assert "Unavailable: desk/broken.md: " in page.text
    assert alone.is_error
