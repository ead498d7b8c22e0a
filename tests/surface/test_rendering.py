"""Pages as a reader sees them: rendered by a CommonMark parser with tables, nothing falls into or out of a table."""

import re

import pytest
from markdown_it import MarkdownIt
from mcp import Client, types

PARSER = MarkdownIt("commonmark").enable("table")


async def page(client: Client, kind: str, name: str) -> str:
    if kind == "resource":
        content = (await client.read_resource(name)).contents[0]
        assert isinstance(content, types.TextResourceContents)
        return content.text
    if kind == "prompt":
        arguments = {"symbol": "BTCUSDT"} if name == "trading_analysis" else {}
        message = (await client.get_prompt(name, arguments)).messages[0].content
        assert isinstance(message, types.TextContent)
        return message.text
    block = (await client.call_tool(name, {"symbols": ["BTCUSDT", "LUNAUSDT", "ETHBTC"]})).content[0]
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("resource", "binance://market/btcusdt"),
        ("resource", "binance://account/balances"),
        ("resource", "binance://account/positions"),
        ("resource", "binance://orders/open"),
        ("resource", "binance://orders/history"),
        ("prompt", "trading_analysis"),
        ("prompt", "portfolio_risk"),
        ("tool", "get_ticker"),
    ],
)
async def test_every_row_that_is_rendered_is_a_row_that_was_meant(client: Client, kind: str, name: str) -> None:
    text = await page(client, kind, name)

    html = PARSER.render(text)
    written = [line for line in text.split("\n") if line.startswith("|")]
    rules = [line for line in written if re.fullmatch(r"[|\-]+", line)]
    assert html.count("<tr>") == len(written) - len(rules)
    assert html.count("<table>") == len(rules)
    assert "|" not in re.sub(r"<[^>]+>", "", html)
    assert "**" not in html
