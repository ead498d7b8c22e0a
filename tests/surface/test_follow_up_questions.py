"""A conversation about Bitcoin, once by tools alone and once with the page at hand: how many calls the page saves."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from mcp import Client, types

from support.requirement import requirement

PAGE = "binance://market/btcusdt"


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asks, the tool that knows it, and the line of the page and the member of the tool's answer."""

    words: str
    tool: str = "get_ticker"
    line: str = ""
    member: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])


# The contract's three, then what else people ask; the last four are about what no page of a market holds.
CONTRACT = (
    Question("What's Bitcoin price?", line="Last Price", member="last_price"),
    Question("Has it changed much?", line="24h Change", member="change"),
    Question("Should I buy now? Is it near its low?", line="24h Low", member="low"),
)
TEN = (
    *CONTRACT,
    Question("How high did it go today?", line="24h High", member="high"),
    Question("Is anybody trading it?", line="24h Volume", member="volume"),
    Question("What did people pay on average?", line="Weighted Average Price", member="weighted_average"),
    Question("Is it overbought by the hour?", "get_indicators", arguments={"indicators": ["rsi"]}),
    Question("What were the last four hours like?", "get_klines", arguments={"interval": "1h", "limit": 4}),
    Question("Who traded last?", "get_recent_trades", arguments={"limit": 5}),
    Question(
        "Would an order of 0.001 be taken?", "preview_order",
        arguments={"side": "BUY", "quantity": "0.001", "price": "110000"},
    ),
)  # fmt: skip


@dataclass
class Conversation:
    """A client that counts what it calls and reads."""

    client: Client
    tool_calls: int = 0
    reads: int = 0

    async def ask_tool(self, question: Question) -> Mapping[str, Any]:
        self.tool_calls += 1
        result = await self.client.call_tool(question.tool, {"symbol": "BTCUSDT", **question.arguments})
        assert result.is_error is False, question.words
        assert result.structured_content is not None
        return result.structured_content

    async def read_page(self) -> str:
        self.reads += 1
        (content,) = (await self.client.read_resource(PAGE)).contents
        assert isinstance(content, types.TextResourceContents)
        return content.text


def on_page(page: str, question: Question) -> Decimal | None:
    """Return the number that the page has for a question, if it speaks of it at all."""
    found = re.search(rf"\*\*{question.line}\*\*: ([+-]?)\$?([\d,.]+)", page) if question.line else None
    return None if found is None else Decimal(found[1] + found[2].replace(",", ""))


@requirement("SC-003")
@pytest.mark.parametrize(("questions", "saved"), [(CONTRACT, 3), (TEN, 6)])
async def test_a_page_answers_follow_up_questions_as_the_tools_would(
    client: Client, questions: tuple[Question, ...], saved: int
) -> None:
    by_tools, with_page = Conversation(client), Conversation(client)
    page = await with_page.read_page()

    for question in questions:
        told = await by_tools.ask_tool(question)
        read = on_page(page, question)
        if read is None:
            await with_page.ask_tool(question)
        else:
            exact = Decimal(told[question.member])
            assert read == exact.quantize(read), question.words

    assert (by_tools.tool_calls, with_page.reads) == (len(questions), 1)
    assert by_tools.tool_calls - with_page.tool_calls == saved
    # The page is a request to the server as well: even so at least four of ten are saved.
    assert with_page.tool_calls + with_page.reads <= 0.6 * by_tools.tool_calls
