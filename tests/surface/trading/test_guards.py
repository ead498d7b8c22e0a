"""Each guard alone, at its edge and one unit beyond, through the tools: it names itself, and only reads leave."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_binance_server.services.trading import service
from mcp_binance_server.trading.desk import Desk
from support.paper import AT_ONCE, LOW, RESTING, SMALL, SYMBOL, PaperTrader, paper_trader
from support.terms import NOW_MS, intent

WORTH = Decimal(LOW) * Decimal(SMALL)  # 58.25
CENT = Decimal("0.01")


def refused(told: dict[str, Any]) -> list[str]:
    """Return the guards that refuse a preview."""
    return [each.partition(": ")[0] for each in told["refused_by"]]


async def tried(trader: PaperTrader, **arguments: Any) -> list[str]:  # noqa: ANN401 - arguments of a preview
    told = await trader.call("preview_order", **arguments)
    assert told.text.startswith("PAPER: preview, nothing sent.")
    assert (told.data["preview_id"] is None) == bool(told.data["refused_by"])
    return refused(told.data)


def desk_of(trader: PaperTrader) -> Desk:
    trading = trader.market.app.context.trading
    assert trading is not None
    return trading.desk


def limits(*lines: str) -> str:
    return "\n".join(["[limits]", *lines])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guard", "passes", "denies"),
    [
        ("symbol", 'symbols = ["BTCUSDT"]', 'symbols = ["ETHUSDT"]'),
        ("type", 'types = ["LIMIT"]', 'types = ["MARKET"]'),
        ("per_order", f'per_order = "{WORTH}"', f'per_order = "{WORTH - CENT}"'),
        ("per_day", f'per_day = "{WORTH}"', f'per_day = "{WORTH - CENT}"'),
        ("per_symbol_day:BTCUSDT", f'per_symbol_day = "{WORTH}"', f'per_symbol_day = "{WORTH - CENT}"'),
        ("position:BTC", f'position = {{ BTC = "{WORTH}" }}', f'position = {{ BTC = "{WORTH - CENT}" }}'),
        ("daily_loss", 'daily_loss = "0.01"', 'daily_loss = "0"'),
        ("orders_per_minute", "orders_per_minute = 1", "orders_per_minute = 0"),
        ("orders_per_day", "orders_per_day = 1", "orders_per_day = 0"),
        ("open_orders", "open_orders = 1", "open_orders = 0"),
    ],
)
async def test_a_limit_lets_pass_what_reaches_it_and_denies_one_unit_more(
    tmp_path: Path, guard: str, passes: str, denies: str
) -> None:
    for name, line, expected in (("passes", passes, []), ("denies", denies, [guard])):
        folder = tmp_path / name
        folder.mkdir()
        async with paper_trader(folder, limits(line)) as trader:
            assert await tried(trader, **RESTING) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "guard"),
    [
        ("orders_per_minute = 1", "orders_per_minute"),
        ("orders_per_day = 1", "orders_per_day"),
        ("open_orders = 1", "open_orders"),
        (f'per_day = "{WORTH}"', "per_day"),
        (f'per_symbol_day = "{WORTH}"', "per_symbol_day:BTCUSDT"),
        (f'position = {{ BTC = "{WORTH}" }}', "position:BTC"),
    ],
)
async def test_of_two_previews_that_each_pass_only_one_is_placed(tmp_path: Path, line: str, guard: str) -> None:
    async with paper_trader(tmp_path, limits(line)) as trader:
        first = await trader.previewed(**RESTING)
        second = await trader.previewed(**{**RESTING, "price": "116400"})
        placed = await trader.call("place_order", preview_id=first)
        denied = await trader.call("place_order", preview_id=second)
        history = await trader.call("get_all_orders", symbol=SYMBOL)

    assert placed.data["outcome"] == "placed"
    assert (denied.is_error, denied.data["error_type"], denied.data["guard"]) == (True, "order_denied", guard)
    counted = {
        "orders_per_minute": "limit reached, 1 order a minute (orders_per_minute); it has room again in 60 s.",
        "orders_per_day": "limit reached, 1 order a day (orders_per_day); it has room again in 23 h 57 min.",
        "open_orders": "limit reached, 1 open order (open_orders).",
    }
    assert denied.text.startswith(f"PAPER: Not placed: {counted.get(guard, f'{guard} allows ')}")
    assert history.data["count"] == 1


@pytest.mark.slow
async def test_the_collar_is_one_sided_and_exact_to_the_tick(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, limits('collar_percent = "2"')) as trader:
        seen = (await trader.call("preview_order", **RESTING)).data
        middle = (Decimal(seen["best_bid"]) + Decimal(seen["best_ask"])) / 2
        highest = (middle * Decimal("1.02")).quantize(CENT, "ROUND_FLOOR")
        lowest = (middle * Decimal("0.98")).quantize(CENT, "ROUND_CEILING")
        await trader.placed(**AT_ONCE)
        sale = {**RESTING, "side": "SELL"}

        assert await tried(trader, **{**RESTING, "price": str(highest)}) == []
        assert await tried(trader, **{**RESTING, "price": str(highest + CENT)}) == ["collar"]
        assert await tried(trader, **{**sale, "price": str(lowest)}) == []
        assert await tried(trader, **{**sale, "price": str(lowest - CENT)}) == ["collar"]
        assert await tried(trader, **{**RESTING, "price": "60000"}) == []  # who buys low may wait


@pytest.mark.slow
async def test_a_market_order_that_would_slip_too_far_is_denied(tmp_path: Path) -> None:
    async with paper_trader(
        tmp_path, limits('slippage_bps = "0"') + '\n[paper.balances]\nUSDT = "90000000"\n'
    ) as trader:
        assert await tried(trader, **AT_ONCE) == []
        assert await tried(trader, **{**AT_ONCE, "quote_quantity": "3000000"}) == ["slippage"]


@pytest.mark.slow
async def test_the_same_order_within_ten_seconds_is_a_duplicate_and_not_after(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        placed = await trader.placed(**RESTING)
        told = await trader.call("preview_order", **RESTING)
        other = await tried(trader, **{**RESTING, "quantity": "0.00051"})
        await trader.market.run(10)
        later = await tried(trader, **RESTING)

    assert refused(told.data) == ["duplicate"]
    assert placed.data["client_order_id"] in told.data["next_step"]
    assert (other, later) == ([], [])


@pytest.mark.slow
async def test_when_trading_is_stopped_previews_and_placing_say_so_and_cancels_go_on(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        stands = (await trader.placed(**RESTING)).data["client_order_id"]
        preview_id = await trader.previewed(**{**RESTING, "price": "116400"})
        told = await trader.call("stop_trading", reason="the user *wants*\n# a pause\u202e")
        stopped = await tried(trader, **{**RESTING, "price": "116300"})
        denied = await trader.call("place_order", preview_id=preview_id)
        again = await trader.call("stop_trading", reason="once more")
        cancelled = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=stands)
        journal = await trader.page("binance://orders/journal")

    assert told.text.startswith("PAPER: TRADING IS STOPPED for this account since ")
    assert told.data["stopped_because"] == again.data["stopped_because"] == "the user *wants* # a pause"
    assert '**Stopped because**: "the user \\*wants\\* \\# a pause"' in told.text
    assert stopped == ["stop"]
    assert (denied.is_error, denied.data["error_type"]) == (True, "trading_stopped")
    assert denied.text.startswith("PAPER: Trading is stopped (")
    assert denied.data["how_to_resume"] == "mcp-binance-server resume"
    assert cancelled.data["outcome"] == "cancelled"
    assert "**Trading is stopped** for this account: " in journal


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["", "x" * 201])
async def test_a_stop_has_a_short_reason(tmp_path: Path, reason: str) -> None:
    async with paper_trader(tmp_path) as trader:
        told = await trader.call("stop_trading", reason=reason)
        status = await trader.call("get_trading_status")

    assert told.data["error_type"] == "invalid_arguments"
    assert status.data["is_stopped"] is False


@pytest.mark.slow
async def test_a_preview_is_placed_until_it_is_over_and_not_when_the_market_has_left_it(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, "[confirm]\nexpires_secs = 10\n") as trader:
        in_time, too_late = [await trader.previewed(**{**RESTING, "price": each}) for each in ("116500", "116400")]
        await trader.market.run(9)
        placed = await trader.call("place_order", preview_id=in_time)
        await trader.market.run(1)
        over = await trader.call("place_order", preview_id=too_late)

    assert placed.data["outcome"] == "placed"
    assert (over.is_error, over.data["error_type"]) == (True, "preview_not_found")


@pytest.mark.slow
async def test_before_the_desk_is_ready_nothing_is_placed_and_the_preview_says_what_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The wait is in real seconds: in two of them a quick machine passes more than the minute a preview stands.
    monkeypatch.setattr(service, "START_SECS", 0)
    async with paper_trader(tmp_path) as trader:
        desk = desk_of(trader)
        preview_id = await trader.previewed(**RESTING)
        desk._settled = anyio.Event()  # pyright: ignore[reportPrivateUsage]

        assert await tried(trader, **RESTING) == ["ready"]
        told = await trader.call("place_order", preview_id=preview_id)

    assert (told.is_error, told.data["error_type"]) == (True, "trading_not_ready")
    assert told.data["step"] == "the outcome of the last run's orders is known"
    assert told.data["step"] in told.text


@pytest.mark.slow
async def test_while_an_order_may_stand_none_follows_on_its_side_and_the_other_side_is_free(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        ledger = desk_of(trader).ledger
        lost = intent(7, symbol=SYMBOL, account="paper")
        await ledger.claim(lost, (), NOW_MS)
        await ledger.mark_sent(lost.preview_id, NOW_MS)
        await ledger.move(lost.preview_id, "UNKNOWN", {}, NOW_MS)

        assert await tried(trader, **RESTING) == ["unresolved"]
        told = await trader.call("preview_order", **RESTING)

    assert lost.client_order_id in told.text
