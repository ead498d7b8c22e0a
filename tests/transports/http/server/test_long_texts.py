"""Answers of megabytes over HTTP: whole and true on every way, though one of them writes long texts by itself."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.settings import read_settings
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.surface.answers import LONG, place_for_long_texts, put_aside, restored, without_long_texts
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.guides import GuideFolder
from support.webapp import HttpClient, served_http

# Quotes, backslashes, line ends and characters of every width: all that JSON writes in a way of its own.
LINE = 'He said "long text 00" \\ and\tleft. Grüße, 中文, 🙂\n'
URI = "guide://category/desk"


@pytest.fixture
async def app(tmp_path: Path, clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[App]:
    folder = GuideFolder(tmp_path).configure()
    folder.write("desk/a.md", "# Long\n" + LINE * 8_000)
    folder.write("desk/b.md", "# Short\n" + LINE)
    settings = read_settings({"MCP_BINANCE_GUIDE_CONFIG": str(folder.config)})
    async with running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as running:
        yield running


@pytest.fixture
async def http(app: App) -> AsyncIterator[HttpClient]:
    async with served_http(app) as url, HttpClient(base_url=url, headers=ACCEPT, timeout=60) as client:
        yield client


ACCEPT = {"accept": "application/json, text/event-stream"}


async def test_a_long_page_is_the_same_on_every_way(app: App, http: HttpClient) -> None:
    asked = {"uri": URI}

    page = (await app.dispatcher.read_resource(None, URI)).contents[0]
    modern = (await http.modern("resources/read", asked)).json()["result"]["contents"][0]
    session = (await http.ask("resources/read", await http.initialize(), asked)).json()["result"]["contents"][0]

    assert LINE * 8_000 in page.text  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert modern == session == page.model_dump(mode="json", by_alias=True, exclude_none=True)


async def test_a_tool_has_a_long_text_in_both_channels(app: App, http: HttpClient) -> None:
    asked: dict[str, Any] = {"name": "get_category_content", "arguments": {"category": "desk"}}

    answer = await app.dispatcher.call_tool(None, "get_category_content", asked["arguments"])
    modern = (await http.modern("tools/call", asked)).json()["result"]

    assert modern["structuredContent"] == answer.structured_content
    assert modern["content"] == [each.model_dump(mode="json", exclude_none=True) for each in answer.content]
    assert LINE * 8_000 in modern["structuredContent"]["value"]


async def test_an_answer_that_others_share_keeps_its_texts(app: App) -> None:
    answer = await app.dispatcher.call_tool(None, "get_category_content", {"category": "desk"})
    before = answer.model_copy(deep=True)

    with place_for_long_texts() as aside:
        sent = without_long_texts(answer)

    assert len(aside.texts) == 2
    assert len(str(sent)) < LONG
    assert answer == before


async def test_half_a_character_is_written_as_ever(clock: FakeClock) -> None:
    text = "\ud800" * LONG

    with place_for_long_texts() as aside:
        word = put_aside(text)
    written = await restored(f'["{word}"]'.encode(), aside, LoopPace(clock.monotonic_ms))

    assert written == b'["' + b"\\ud800" * LONG + b'"]'


async def test_an_error_that_is_sent_instead_stays_as_it_is(clock: FakeClock) -> None:
    with place_for_long_texts() as aside:
        put_aside("x" * LONG)
        put_aside("y" * LONG)

    assert await restored(b'{"error":1}', aside, LoopPace(clock.monotonic_ms)) == b'{"error":1}'


def test_short_texts_and_those_of_other_transports_stay() -> None:
    assert put_aside("x" * LONG) == "x" * LONG
    with place_for_long_texts() as aside:
        assert put_aside("x" * (LONG - 1)) == "x" * (LONG - 1)
    assert aside.texts == {}
