"""What a host watches of orders: how they stand, which have no known end, and whether trading is stopped."""

import re
from pathlib import Path

import anyio.to_thread
import pytest

from mcp_binance_server.trading.journal.store import FILE
from support.asking import EVERYWHERE, willing
from support.paper import ASKS_ALWAYS, AT_ONCE, RESTING, PaperTrader, paper_trader
from support.webapp import HttpClient, assembled, http_client

SERIES = re.compile(r"^mcp_binance_((?:orders|trading|confirmations)\S*) (\S+)$", re.MULTILINE)
# One asset, so that a limit of it is named with it.
STRICT = f'{ASKS_ALWAYS}[limits]\nposition = {{ BTC = "100" }}\nopen_orders = 1\n'


async def series(http: HttpClient) -> dict[str, str]:
    return dict(SERIES.findall((await http.get("/metrics")).text))


@pytest.mark.slow
async def test_orders_are_counted_by_how_they_stand(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader, assembled(trader.market.app) as app, http_client(app) as http:
        nothing = await series(http)
        await trader.placed(**AT_ONCE)
        await trader.placed(**RESTING)
        placed = await series(http)
        await trader.call("stop_trading", reason="enough")
        stopped = await series(http)
        await lose_journal(trader)
        lost = await series(http)

    assert nothing == {"orders_unresolved": "0.0", "trading_stopped": "0.0"}
    assert placed == {**nothing, 'orders{state="ACKED"}': "2.0", 'orders_total{outcome="placed"}': "2.0"}
    assert stopped == {**placed, "trading_stopped": "1.0"}
    assert (lost["orders_unresolved"], lost["trading_stopped"]) == ("NaN", "NaN")


@pytest.mark.slow
async def test_what_guards_refused_and_users_answered_is_counted_by_few_names(tmp_path: Path) -> None:
    user, connect = willing(), EVERYWHERE["memory, 2026-07-28"]
    async with (
        paper_trader(tmp_path, STRICT, connect=connect, user=user) as trader,
        assembled(trader.market.app) as app,
        http_client(app) as http,
    ):
        first, second = await trader.previewed(**RESTING), await trader.previewed(**{**RESTING, "price": "116400"})
        third = await trader.previewed(**{**RESTING, "price": "116300"})
        await trader.call("preview_order", **AT_ONCE)  # 500 USDT of BTC where 100 are allowed
        for preview_id in (first, first, second):  # one is asked for twice, and one is too many
            await trader.call("place_order", preview_id=preview_id)
        user.content = {"decision": "do not place it"}
        await trader.call("place_order", preview_id=third)
        unasked = PaperTrader(trader.market, trader.market.client)
        await unasked.call("place_order", preview_id=second)
        counted = await series(http)

    assert {name: value for name, value in counted.items() if "total" in name} == {
        'orders_total{outcome="placed"}': "1.0",
        'orders_denied_total{guard="position"}': "1.0",
        'orders_denied_total{guard="open_orders"}': "1.0",
        'confirmations_total{answer="yes"}': "2.0",
        'confirmations_total{answer="no"}': "1.0",
        'confirmations_total{answer="impossible"}': "1.0",
    }


async def lose_journal(trader: PaperTrader) -> None:
    """Have the file be no journal any more, as one on a broken disk."""
    trading = trader.market.app.context.trading
    assert trading is not None
    store = trading.desk.ledger.store
    await anyio.to_thread.run_sync(lambda: (store.folder / FILE).write_bytes(b"x" * 8192), limiter=store.lock)


async def test_without_trading_there_is_nothing_to_count(http: HttpClient) -> None:
    assert await series(http) == {"orders_unresolved": "0.0", "trading_stopped": "0.0"}
