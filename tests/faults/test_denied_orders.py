"""An order that is denied sends nothing: not a byte of a write on any connection, whichever guard said no."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from binance_simulator.faults import Fault, StreamFault
from mcp_binance_server.trading.judgement.guards import GUARDS
from support.exchange_socket import ServedExchange, served_exchange
from support.orders.sockets import CLOCK, LOOK_MS, LOOKS, SocketTrader, socket_trader

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

SMALL_BUY = {"side": "BUY", "quantity": "0.0002"}
# The start refuses what these two would: another mode, and a key that the policy does not name.
AT_THE_START = {"mode", "key"}
# One of several of its kind, and one that is tried for itself.
# `limits` has a name for each limit; slots for exits are in surface/trading/test_exit_attacks.py, and sales of reserved
# coins in test_reserved_coins.py there.
ELSEWHERE = {"limits", "book", "open_exits", "released"}
NARROW = """
[limits]
symbols = ["BTCUSDT"]
types = ["LIMIT", "MARKET"]
per_order = "35"
"""
SMALL = """
[limits]
position = { BTC = "1" }
daily_loss = "0"
slippage_bps = "0"
[confirm]
ask = "always"
client_per_order = "0"
"""
ONCE = "[limits]\norders_per_minute = 1\n"


@pytest.fixture(scope="module")
def served() -> Iterator[ServedExchange]:
    with served_exchange() as found:
        yield found


@pytest.fixture(autouse=True)
def healed(served: ServedExchange) -> Iterator[None]:
    yield
    served.heal()


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def guards(told: dict[str, Any]) -> set[str]:
    """Return who refuses: all of a preview's, or the one of an order."""
    named = [each.partition(": ")[0] for each in told.get("refused_by") or ()] or [str(told.get("guard") or "")]
    return {each.partition(":")[0] for each in named} - {""}


async def tried(trader: SocketTrader, symbol: str = "BTCUSDT", **order: str) -> set[str]:
    """Preview an order, and place it if it can be; return who refused it."""
    preview = await trader.call("preview_order", symbol=symbol, **order)
    if not preview.get("preview_id"):
        return guards(preview)
    placed = await trader.call("place_order", preview_id=preview["preview_id"])
    assert placed.get("outcome") != "placed", placed
    return guards(placed)


async def test_whichever_guard_denies_not_a_byte_of_a_write_leaves(served: ServedExchange, tmp_path: Path) -> None:
    met = {**await narrow(served, made(tmp_path / "narrow")), **await small(served, made(tmp_path / "small"))}
    met |= await once(served, made(tmp_path / "once")) | await away(served, made(tmp_path / "away"))

    wanted = {"type" if guard.__name__ == "kind" else guard.__name__ for guard in GUARDS} - AT_THE_START
    assert {guard for guard, writes in met.items() if writes} == set()
    assert (wanted - ELSEWHERE) | {"orders_per_minute"} <= {*met}


async def narrow(served: ServedExchange, folder: Path) -> dict[str, int]:
    async with socket_trader(served, folder, NARROW) as trader:
        low = {**SMALL_BUY, "price": await trader.price("90")}
        await trader.previewed(**low)
        met = await tried(trader, "ETHUSDT", side="BUY", quantity="0.01", price="3000")
        met |= await tried(trader, type="LIMIT_MAKER", **low)
        met |= await tried(trader, **{**low, "quantity": "0.001"})
        met |= await tried(trader, **{**low, "price": await trader.price("103")})
        nonsense = [{"preview_id": "a" * 20}, {"preview_id": "a" * 20, "confirmed": True}, {}, {"preview_id": None}]
        for arguments in nonsense:
            assert "error_type" in await trader.call("place_order", **arguments)
        return dict.fromkeys(met, await written(trader))


async def small(served: ServedExchange, folder: Path) -> dict[str, int]:
    async with socket_trader(served, folder, SMALL) as trader:
        met = {"ready"}
        while met & {"ready", "book"}:
            met = await tried(trader, side="BUY", type="MARKET", quote_quantity="50")
        for _ in range(LOOKS):  # now and then the best level alone holds as much, and nothing slips
            met |= await tried(trader, "ADAUSDT", side="BUY", type="MARKET", quote_quantity="10000")
            if "slippage" in met:
                break
            await CLOCK.sleep_ms(LOOK_MS)
        return dict.fromkeys(met, await written(trader))


async def once(served: ServedExchange, folder: Path) -> dict[str, int]:
    """Place one order, which is seen to be one write; nothing after it is."""
    async with socket_trader(served, folder, ONCE) as trader:
        first, second = [{**SMALL_BUY, "price": await trader.price(each)} for each in ("90", "89")]
        other = await trader.previewed(**second)
        assert (await trader.placed(**first))["outcome"] == "placed"
        assert await written(trader) == 1
        met = guards(await trader.call("place_order", preview_id=other)) | await tried(trader, **first)
        await trader.call("stop_trading", reason="enough")
        assert (await trader.call("place_order", preview_id=other))["error_type"] == "trading_stopped"
        met |= await tried(trader, **{**SMALL_BUY, "price": await trader.price("88")})
        return dict.fromkeys(met, await written(trader) - 1)


async def away(served: ServedExchange, folder: Path) -> dict[str, int]:
    """Nothing is placed before the start is done, on a book that is gone, or while an order may stand."""
    faults = served.exchange.faults
    faults.add(Fault(kind="html", path="*/openOrders", times=None))
    async with socket_trader(served, folder) as trader:
        lost, other, third = [{**SMALL_BUY, "price": await trader.price(each)} for each in ("90", "89", "88")]
        met = await tried(trader, **lost)
        assert await written(trader) == 0
        faults.clear()
        ids = [await trader.previewed(**each) for each in (lost, other)]
        for method in ("POST", "GET"):
            faults.add(Fault(kind="status", status=503, path="*/order", method=method, executed=False, times=None))
        assert (await trader.call("place_order", preview_id=ids[0]))["outcome"] == "unknown"
        assert await written(trader) == 1
        met |= guards(await trader.call("place_order", preview_id=ids[1])) | await tried(trader, **third)
        return dict.fromkeys(met, await written(trader) - 1)


async def test_an_order_is_not_placed_on_a_book_that_nobody_can_see(served: ServedExchange, tmp_path: Path) -> None:
    async with socket_trader(served, tmp_path) as trader:
        preview_id = await trader.previewed(**SMALL_BUY, price=await trader.price("90"))
        served.exchange.hub.faults.add(StreamFault(kind="cut", times=None))
        served.exchange.faults.add(Fault(kind="status", status=503, path="*/depth", times=None))
        told: dict[str, Any] = {}
        for _ in range(LOOKS):
            told = await trader.call("preview_order", symbol="BTCUSDT", **SMALL_BUY, price=await trader.price("87"))
            if not told.get("preview_id"):
                break
            await CLOCK.sleep_ms(LOOK_MS)
        denied = await trader.call("place_order", preview_id=preview_id)

        assert not told.get("preview_id")
        assert denied.get("outcome") is None, denied
        assert await written(trader) == 0


async def written(trader: SocketTrader) -> int:
    """Count the writes that left, by the bytes on the line; a connection that was opened in vain would be seen too."""
    for _ in range(LOOKS):
        if not trader.line.silent():  # the stream that follows the order may just be opening
            break
        await CLOCK.sleep_ms(LOOK_MS)
    found = trader.line.writes()
    assert trader.line.silent() == 0
    assert [each for each in found if not each.startswith("POST /api/v3/order?")] == []
    return len(found)
