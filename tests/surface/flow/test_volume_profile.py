"""The volume profile: its levels computed again from raw trades and candles."""

from decimal import Decimal
from typing import Any

import pytest
from jsonschema import validate
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.surface.tools.liquidity import GET_VOLUME_PROFILE
from support.clock import FakeClock
from support.desk import raw
from support.independent import thin_bins, trades_of


async def profile(client: Client, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    result = await client.call_tool("get_volume_profile", {"symbol": "BTCUSDT", **arguments})
    assert not result.is_error, result.structured_content
    validate(result.structured_content, GET_VOLUME_PROFILE.wire.output_schema or {})
    return result.structured_content


async def test_a_quiet_hour_is_read_trade_by_trade(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    answer = await profile(client, duration_hours=1)
    end = clock.now_ms() // 60_000 * 60_000
    trades = await trades_of(exchange, "BTCUSDT", end - 3_600_000, end)
    edges, volumes = thin_bins(trades, Decimal("0.01"))
    width, total = edges[1] - edges[0], sum(volumes)

    metrics = answer["metrics"]
    assert answer["context"]["source"] == ["aggTrades"]
    assert answer["context"]["n"] == {"trades": len(trades)}
    assert Decimal(metrics["bin_size"]["value"]) == width
    busiest = volumes.index(max(volumes))
    assert edges[busiest] <= Decimal(metrics["poc"]["value"]) < edges[busiest] + width
    low = high = busiest
    held = volumes[busiest]
    while held < total * Decimal("0.7"):
        up = volumes[high + 1] if high + 1 < len(volumes) else None
        down = volumes[low - 1] if low else None
        if down is None or (up is not None and up >= down):
            high, held = high + 1, held + (up or 0)
        else:
            low, held = low - 1, held + down
    assert Decimal(metrics["val"]["value"]) == edges[low]
    assert Decimal(metrics["vah"]["value"]) == edges[high] + width
    assert metrics["value_area_share"]["value"] == pytest.approx(float(held / total), abs=0.0001)
    price = Decimal((await raw(exchange, "ticker/price?symbol=BTCUSDT"))["price"])
    poc = Decimal(metrics["poc"]["value"])
    assert metrics["current_vs_poc_pct"]["value"] == pytest.approx(float((price - poc) / poc * 100), abs=0.001)


@pytest.mark.parametrize(("hours", "calls"), [(24, 2), (168, 3)])
async def test_longer_spans_are_candles_and_hold_all_their_volume(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, hours: int, calls: int
) -> None:
    answer = await profile(client, duration_hours=hours)
    asked = [each.path[8:] for each in exchange.requests].count("klines")
    step = 60_000 if hours == 24 else 300_000
    end = clock.now_ms() // step * step
    hourly = await raw(exchange, f"klines?symbol=BTCUSDT&interval=1h&limit=200&startTime={end - hours * 3_600_000}")

    metrics = answer["metrics"]
    assert asked == calls
    assert answer["context"]["source"] == ["klines"]
    assert answer["context"]["coverage"] == 1
    assert metrics["poc"]["method"] == "klines_spread"
    total = sum(Decimal(each["volume"]) for each in metrics["bins"]["value"])
    assert float(total) == pytest.approx(sum(float(row[5]) for row in hourly), rel=0.1)
    assert Decimal(metrics["val"]["value"]) < Decimal(metrics["poc"]["value"]) < Decimal(metrics["vah"]["value"])
    assert metrics["value_area_share"]["value"] >= 0.7


async def test_within_a_minute_the_same_profile_costs_only_the_price(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    first = await profile(client)
    clock.advance(2_000)
    exchange.requests.clear()

    second = await profile(client)

    assert sorted(each.path[8:] for each in exchange.requests) == ["avgPrice", "ticker/24hr"]
    assert first["metrics"]["bins"] == second["metrics"]["bins"]


@pytest.mark.slow
async def test_a_bin_may_be_as_wide_as_asked_but_not_narrower_than_makes_sense(client: Client) -> None:
    wide = await profile(client, tick_size="100")
    narrow = await profile(client, tick_size="0.01", rows=2)

    assert Decimal(wide["metrics"]["bin_size"]["value"]) == 100
    assert len(narrow["metrics"]["bins"]["value"]) <= 201
    assert narrow["metrics"]["vah"]["method"] == "value_area_two_row"


@pytest.mark.parametrize(
    "arguments",
    [{"duration_hours": 0}, {"duration_hours": 169}, {"rows": 3}, {"tick_size": "0"}, {"tick_size": "-1"}, {"x": 1}],
)
async def test_wrong_arguments_are_refused(client: Client, arguments: dict[str, Any]) -> None:
    result = await client.call_tool("get_volume_profile", {"symbol": "BTCUSDT", **arguments})

    assert result.is_error
    assert result.structured_content["code"] == -32602


async def test_a_market_that_stands_still_has_no_profile_and_says_so(client: Client) -> None:
    metrics = (await profile(client, symbol="LUNAUSDT"))["metrics"]

    assert metrics["poc"] == {"value": None, "unit": "quote", "why_null": "no_trades", "method": "trades"}
    assert metrics["bins"]["value"] is None
    assert metrics["current_vs_poc_pct"]["value"] is None
