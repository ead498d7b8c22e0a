"""Exchanges and symbols are asked once an hour and kept; exchanges are known without anybody."""

from random import Random

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.charts.errors import ChartRefused, ChartUnavailable
from support.charts import chart_desk, paths
from support.clock import FakeClock
from support.requirement import requirement

HOUR_MS = 3_600_000
LIST = "/v3/tradingview/exchange/list"


@requirement("charts/get_exchanges/cache", "charts/get_exchanges/source")
async def test_exchanges_are_kept_for_an_hour(exchange: SimulatedExchange, clock: FakeClock) -> None:
    async with chart_desk(exchange, clock) as desk:
        first = await desk.listings.exchanges()
        clock.advance(HOUR_MS - 1)
        second = await desk.listings.exchanges()
        clock.advance(1)
        third = await desk.listings.exchanges()

    assert [each.source for each in (first, second, third)] == ["live", "cache", "live"]
    assert paths(exchange) == [LIST, LIST]


async def test_an_exchange_nobody_described_has_its_id(exchange: SimulatedExchange, clock: FakeClock) -> None:
    body = '{"payload": ["MOON", "BINANCE", "bad id", "BINANCE"]}'
    exchange.faults.add(Fault(kind="status", path=LIST, status=200, body=body))

    async with chart_desk(exchange, clock) as desk:
        found = (await desk.listings.exchanges()).value

    assert [(each.id, each.name, each.type, each.description) for each in found] == [
        ("BINANCE", "Binance", "crypto", "Global cryptocurrency exchange"),
        ("MOON", "MOON", "unknown", ""),
    ]


@pytest.mark.parametrize("key", [None, "wrong"])
async def test_without_a_good_key_the_bundled_exchanges_are_answered(
    exchange: SimulatedExchange, clock: FakeClock, key: str | None
) -> None:
    async with chart_desk(exchange, clock, key=key) as desk:
        held = await desk.listings.exchanges()

    assert (held.source, len(held.value)) == ("bundled", 67)
    assert held.warning is not None
    assert "CHART_IMG_API_KEY" in held.warning
    assert paths(exchange) == ([] if key is None else [LIST])


async def test_exchanges_of_an_hour_ago_are_better_than_bundled_ones(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with chart_desk(exchange, clock) as desk:
        await desk.listings.exchanges()
        clock.advance(2 * HOUR_MS)
        exchange.faults.add(Fault(kind="status", path=LIST, status=500, times=4))
        held = await desk.listings.exchanges()

    assert held.source == "stale"


@requirement("charts/get_symbols/cache", "charts/get_symbols/source")
async def test_symbols_are_kept_for_an_hour_by_exchange_and_search(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with chart_desk(exchange, clock) as desk:
        for place, search in [("BINANCE", "BTC"), ("BINANCE", "BTC"), ("BINANCE", "ETH"), ("NASDAQ", "")] * 2:
            await desk.listings.symbols(place, search)
        asked = paths(exchange)
        clock.advance(HOUR_MS)
        again = await desk.listings.symbols("NASDAQ")

    assert asked == ["/v3/tradingview/exchange/BINANCE"] * 2 + ["/v3/tradingview/exchange/NASDAQ"]
    assert again.source == "live"


async def test_symbols_have_no_bundled_copy_so_the_reason_is_told(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.faults.add(Fault(kind="status", path="*/NASDAQ", status=502, times=4))

    async with chart_desk(exchange, clock) as desk:
        for _ in range(2):
            with pytest.raises(ChartUnavailable, match="HTTP 502"):
                await desk.listings.symbols("NASDAQ")
        asked = len(exchange.requests)
        with pytest.raises(ChartRefused, match="Not Found"):
            await desk.listings.symbols("NOWHERE")

    assert asked == 4


@pytest.mark.slow
async def test_a_list_too_long_to_keep_is_refused_with_advice(exchange: SimulatedExchange, clock: FakeClock) -> None:
    # Letters that do not pack: a megabyte, whatever one does.
    random = Random(7)
    rows = ",".join(f'{{"symbol":"{random.randbytes(16).hex()}"}}' for _ in range(60_000))
    exchange.faults.add(Fault(kind="status", path="*/NASDAQ", status=200, body=f'{{"payload": [{rows}]}}'))

    async with chart_desk(exchange, clock) as desk:
        with pytest.raises(ChartUnavailable, match="request less"):
            await desk.listings.symbols("NASDAQ")
        searched = await desk.listings.symbols("NASDAQ", "AAPL")

    assert [each.symbol for each in searched.value] == ["AAPL"]
