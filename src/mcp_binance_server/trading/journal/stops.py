"""The switch that holds every order back: a row, or a file that anybody can make. Work for the store's thread."""

from pathlib import Path

from mcp_binance_server.trading.journal.events import append
from mcp_binance_server.trading.journal.records import Stopped
from mcp_binance_server.trading.journal.store import Rows

STOP_FILE = "STOP"


class TradingIsStopped(Exception):
    """A claim or a sending while trading is stopped; nothing was changed."""

    def __init__(self, stopped: Stopped) -> None:
        super().__init__(stopped.why)
        self.stopped = stopped


def stopped_in(rows: Rows, folder: Path) -> Stopped | None:
    """Return why nothing is taken, if so."""
    row = rows.execute("SELECT why, since_ms FROM stop").fetchone()
    if row is not None:
        return Stopped(*row)
    try:
        since_ms = (folder / STOP_FILE).stat().st_mtime_ns // 1_000_000
    except OSError:
        return None
    return Stopped(f"the file {STOP_FILE} is in the trading folder", since_ms)


def require_started(rows: Rows, folder: Path) -> None:
    """See to it that trading is not stopped.

    Raises:
        TradingIsStopped: it is.
    """
    if (stopped := stopped_in(rows, folder)) is not None:
        raise TradingIsStopped(stopped)


def stop(rows: Rows, folder: Path, why: str, by: str, now_ms: int) -> Stopped:
    if (stopped := stopped_in(rows, folder)) is not None:
        return stopped
    rows.execute("INSERT INTO stop VALUES (1,?,?)", (why, now_ms))
    append(rows, now_ms, "", "STOPPED", {"why": why, "by": by})
    return Stopped(why, now_ms)


def resume(rows: Rows, folder: Path, by: str, now_ms: int) -> None:
    (folder / STOP_FILE).unlink(missing_ok=True)
    rows.execute("DELETE FROM stop")
    append(rows, now_ms, "", "RESUMED", {"by": by})
