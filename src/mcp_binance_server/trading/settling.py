"""What nobody knows the end of: asked for until it is known, or can no longer come; never sent again."""

from collections.abc import Callable, Iterator
from itertools import chain, repeat

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import is_dead
from mcp_binance_server.trading.journal.records import Intent

FIRST_PAUSES_MS = (0, 250, 250, 500, 1_000, 2_000, 4_000, 9_250)
PAUSE_MS = 30_000


def pauses() -> Iterator[int]:
    return chain(FIRST_PAUSES_MS, repeat(PAUSE_MS))


async def resolve(
    ledger: HostLedger, broker: Broker, intent: Intent, clock: Clock, now_ms: Callable[[], int]
) -> Intent:
    """Ask until it is known; that it could not be asked proves nothing."""
    for pause_ms in pauses():
        await clock.sleep_ms(pause_ms)
        try:
            order = await broker.ask(intent.terms.symbol, intent.client_order_id)
        except AppError:
            continue
        if order is not None:
            await ledger.move(intent.preview_id, "ACKED", {"asked": order.status}, now_ms())
            return await ledger.follow(intent.preview_id, order, now_ms())
        if now_ms() - intent.updated_ms >= broker.horizon_ms:
            return await ledger.move(intent.preview_id, "NOT_PLACED", {"asked": "no such order"}, now_ms())
    raise AssertionError("asking has no end")


async def settle_dead(ledger: HostLedger) -> list[Intent]:
    """Close what dead processes left before anything was sent, and return what they may have sent: ask for that.

    Before the mark SENT no byte can have left, so PREPARED of the dead is definite; the living keep theirs.
    """
    asked: list[Intent] = []
    for intent in await ledger.unresolved():
        if intent.owner == ledger.owner or not is_dead(ledger.store.folder, intent.owner):
            continue
        if intent.state == "PREPARED":
            await ledger.move(intent.preview_id, "NOT_SENT", {"found": "at start"}, intent.updated_ms)
        else:
            asked.append(intent)
    return asked
