"""A worker that places an order on shared tables and is killed when it is in the log, before it is in its own rows."""

import os
import signal
import sys

import anyio

from mcp_binance_server.state.logs import LogMark
from mcp_binance_server.state.redis import RedisEngine
from mcp_binance_server.trading.paper.replica import PaperReplica
from mcp_binance_server.trading.paper.shared import SharedTables
from trading.paper.generated import PAIR
from trading.paper.shared_floor import exchange_of, order


class Doomed(PaperReplica):
    """Rows that are not kept a second time."""

    def keep(self, end: LogMark) -> None:
        if end.position > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        super().keep(end)


async def die(url: str) -> None:
    """Place two orders; nobody hears of the second."""
    engine = RedisEngine.from_url(url)
    await engine.start()
    exchange = exchange_of(SharedTables(engine, Doomed()))
    for name in ("kept", "in the log"):
        await exchange.accept("ann", order(name), PAIR)


if __name__ == "__main__":
    anyio.run(die, sys.argv[1])
