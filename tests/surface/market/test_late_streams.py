"""A stream that lags: ages are told by the exchange's own times, and what is too old is asked for instead."""

from dataclasses import dataclass
from typing import Any

import pytest

from binance_simulator.faults import StreamFault
from support.served import text_of
from support.stepped import LiveMarket, live_market

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Told:
    """A tool's answer in both channels."""

    text: str
    structure: dict[str, Any]


async def asked(market: LiveMarket, tool: str, **arguments: object) -> Told:
    result = await market.client.call_tool(tool, arguments)
    assert not result.is_error
    return Told(text_of(result), result.structured_content or {})


async def test_events_stamped_a_minute_ago_are_not_shown_as_live_and_every_book_tool_says_so() -> None:
    async with live_market() as market:
        await market.watch("BTCUSDT", 3)
        market.exchange.hub.faults.add(StreamFault(kind="late", times=None, behind_ms=60_000))
        await market.run(1)

        metrics = await asked(market, "get_orderbook_metrics", symbol="BTCUSDT")
        health = await asked(market, "get_orderbook_health")
        book = await asked(market, "get_order_book", symbol="BTCUSDT", limit=5)
        anomalies = await asked(market, "detect_market_anomalies", symbol="BTCUSDT")

        assert "the live stream lags by 1 min" in metrics.text
        assert "the live stream lags by 1 min" in metrics.structure["summary"]
        assert (metrics.structure["context"]["source"], metrics.structure["context"]["age_ms"]) == (["depth"], 0)
        (row,) = health.structure["symbols"]
        assert (row["status"], row["lag_ms"] >= 60_000) == ("degraded", True)
        assert book.structure["source"] == "Binance API v3"
        assert "the live stream lags" in anomalies.text
        assert "stream_late" in str(anomalies.structure)

        market.exchange.hub.faults.clear()
        await market.run(3)
        metrics = await asked(market, "get_orderbook_metrics", symbol="BTCUSDT")
        assert "live, " in metrics.text


async def test_a_stream_three_seconds_behind_is_shown_with_its_true_age_and_as_stale() -> None:
    async with live_market() as market:
        await market.watch("BTCUSDT", 3)
        market.exchange.hub.faults.add(StreamFault(kind="late", times=None, behind_ms=3_000))
        await market.run(1)

        metrics = await asked(market, "get_orderbook_metrics", symbol="BTCUSDT")
        book = await asked(market, "get_order_book", symbol="BTCUSDT", limit=5)

        context = metrics.structure["context"]
        assert (context["source"], context["stale"]) == (["book"], True)
        assert 3_000 <= context["age_ms"] <= 3_300
        assert book.structure["source"] == "Binance API v3"


async def test_before_an_age_is_told_the_exchanges_clock_is_read() -> None:
    async with live_market() as market:
        await market.watch("BTCUSDT", 3)
        market.asked()
        market.exchange.hub.faults.add(StreamFault(kind="late", times=20, behind_ms=2_000))
        await market.run(4)

        assert market.asked().count("time") == 1


async def test_an_exchange_whose_clock_is_set_forward_does_not_make_old_events_look_young() -> None:
    async with live_market() as market:
        await market.watch("BTCUSDT", 3)
        market.exchange.hub.faults.add(StreamFault(kind="late", times=20, behind_ms=2_000))
        await market.run(4)  # by now its clock was read
        market.exchange.skew_ms += 3_000
        await market.run(8)

        market.exchange.hub.faults.add(StreamFault(kind="late", times=None, behind_ms=3_000))
        await market.run(1)
        metrics = await asked(market, "get_orderbook_metrics", symbol="BTCUSDT")

        assert 3_000 <= metrics.structure["context"]["age_ms"] <= 3_300


@pytest.mark.night
async def test_a_clock_that_was_set_forward_is_noticed_behind_a_stream_that_lags_almost_as_much() -> None:
    async with live_market() as market:
        await market.watch("BTCUSDT", 3)
        market.exchange.hub.faults.add(StreamFault(kind="late", times=20, behind_ms=2_000))
        await market.run(4)  # by now its clock was read
        market.exchange.hub.faults.add(StreamFault(kind="late", times=None, behind_ms=2_400))
        market.exchange.skew_ms += 3_000
        await market.run(8)

        metrics = await asked(market, "get_orderbook_metrics", symbol="BTCUSDT")

        assert 2_400 <= metrics.structure["context"]["age_ms"] <= 2_700
