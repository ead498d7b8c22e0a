"""Liquidations in an answer: a sample that says for how long somebody listened, and nothing that was not heard."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from support.channels import Structure, Text
from support.futures import LIQUIDATED
from support.served import text_of
from support.stepped import STREAMED, LiveMarket, live_market

NETWORK = replace(LIQUIDATED, stream_url=STREAMED.stream_url)


@dataclass(frozen=True, slots=True)
class Listened:
    """A server whose exchange speaks on both hosts when a test lets time pass."""

    market: LiveMarket

    async def run(self, seconds: float, step_ms: float = 250) -> None:
        def wake() -> None:
            self.market.exchange.hub.wake()
            self.market.exchange.futures.hub.wake()

        await self.market.clock.run(seconds * 1000, wake, step_ms=step_ms)

    async def ask(self, symbol: str = "SOLUSDT") -> tuple[dict[str, Any], str]:
        """Return what is told of liquidations, and the whole text."""
        result = await self.market.client.call_tool("get_derivatives", {"symbol": symbol})
        text, told = text_of(result), result.structured_content
        assert (Text(text).missing(told), Structure(told).missing(text)) == ([], [])
        assert len(text.encode()) <= 2_200
        return told["liquidations"], text

    @property
    def sockets(self) -> int:
        return self.market.exchange.futures.hub.open_connections


@asynccontextmanager
async def listened(environment: Mapping[str, str] | None = None, *, preload: bool = False) -> AsyncGenerator[Listened]:
    async with live_market(network=NETWORK, environment=environment, preload=preload) as market:
        market.exchange.futures.hub.by_hand = True
        yield Listened(market)


async def test_ten_in_one_second_are_one_of_a_sample() -> None:
    async with listened() as floor:
        first, first_text = await floor.ask()
        await floor.run(20)
        clock = floor.market.clock
        floor.market.exchange.futures.liquidate("SOLUSDT", clock.now_ms() + 1_500, count=10)
        await floor.run(5)
        told, text = await floor.ask()

    assert (first["listening"], first["longs"], first["shorts"]) == ("just began to listen", None, None)
    assert "just began to listen" in first_text
    assert told["longs"]["events"] == 1
    assert told["shorts"] == {"events": 0, "value": "0"}
    assert 20 <= told["observed_secs"] <= 25
    assert "sample" in text
    assert "at most one per symbol and second is published" in text
    assert not re.search(r"\btotals?\b|per day|per hour", text, re.IGNORECASE)


@pytest.mark.night
async def test_half_an_hour_after_the_last_question_no_socket_is_open() -> None:
    async with listened() as floor:
        await floor.ask()
        await floor.run(5)
        asked = floor.sockets
        await floor.run(29 * 60, step_ms=5_000)
        lingering = floor.sockets
        await floor.run(120, step_ms=5_000)
        over = floor.sockets

    assert (asked, lingering, over) == (1, 1, 0)


async def test_before_the_first_question_no_socket_is_open() -> None:
    async with listened() as floor:
        await floor.market.client.call_tool("get_ticker", {"symbol": "BTCUSDT"})
        await floor.run(60, step_ms=1_000)

        assert floor.sockets == 0


async def test_who_always_listens_has_heard_something_at_the_first_question() -> None:
    async with listened({"MCP_BINANCE_LIQUIDATIONS": "always"}, preload=True) as floor:
        await floor.run(20)
        told, _ = await floor.ask()

    assert told["listening"] == "listening"
    assert told["observed_secs"] >= 15


async def test_where_nobody_listens_the_setting_is_named() -> None:
    setting = "MCP_BINANCE_LIQUIDATIONS"
    async with listened({setting: "off"}) as floor:
        told, text = await floor.ask()
        await floor.run(20)

        assert floor.sockets == 0
    assert (told["listening"], told["setting"]) == ("off", setting)
    assert setting in text


async def test_a_live_spot_book_spares_the_question_for_its_quote() -> None:
    async with listened() as floor:
        await floor.ask("BTCUSDT")
        await floor.market.client.call_tool("get_order_flow", {"symbol": "BTCUSDT"})
        await floor.run(10, step_ms=100)
        floor.market.asked()
        result = await floor.market.client.call_tool("get_derivatives", {"symbol": "BTCUSDT"})

        assert "ticker/bookTicker" not in floor.market.asked()
        basis = result.structured_content["basis"]
        assert basis["perp_vs_spot_bps"] is not None
        assert basis["apart_ms"] <= 1_000
