"""The switch that holds every order back: a row, or a file that anybody can make. Work for the store's thread."""

from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.trading.journal.chain import ACCEPTED, append
from mcp_binance_server.trading.journal.last_written import accept, missing_from
from mcp_binance_server.trading.journal.records import Stopped
from mcp_binance_server.trading.journal.schema import Rows
from mcp_binance_server.trading.journal.store import FILE, Store

STOP_FILE = "STOP"


class TradingIsStopped(Exception):
    """A claim or a sending while trading is stopped; nothing was changed."""

    def __init__(self, stopped: Stopped) -> None:
        super().__init__(stopped.why)
        self.stopped = stopped


def stopped_in(rows: Rows, store: Store) -> Stopped | None:
    """Return why nothing is taken, if so."""
    row = rows.execute("SELECT why, since_ms FROM stop").fetchone()
    if row is not None:
        return Stopped(*row)
    try:
        since_ms = (store.folder / STOP_FILE).stat().st_mtime_ns // 1_000_000
    except OSError:
        return _mistrust(rows, store)
    return Stopped(f"the file {STOP_FILE} is in the trading folder", since_ms)


def require_started(rows: Rows, store: Store) -> None:
    """See to it that trading is not stopped.

    Raises:
        TradingIsStopped: it is.
    """
    if (stopped := stopped_in(rows, store)) is not None:
        raise TradingIsStopped(stopped)


def stop(rows: Rows, store: Store, why: str, by: str, now_ms: int) -> Stopped:
    if (stopped := stopped_in(rows, store)) is not None:
        return stopped
    rows.execute("INSERT INTO stop VALUES (1,?,?)", (why, now_ms))
    append(rows, now_ms, "", "STOPPED", {"why": why, "by": by})
    return Stopped(why, now_ms)


def resume(rows: Rows, store: Store, by: str, now_ms: int) -> None:
    rows.execute("DELETE FROM stop")
    append(rows, now_ms, "", "RESUMED", {"by": by})
    if (mistrust := _mistrust(rows, store)) is not None:
        append(rows, now_ms, "", ACCEPTED, {"by": by, "why": mistrust.why})


def lift_row(rows: Rows, by: str, now_ms: int) -> None:
    """Take away the stop of the journal alone; a file or a journal that is not whole stops on."""
    if rows.execute("DELETE FROM stop").rowcount:
        append(rows, now_ms, "", "RESUMED", {"by": by})


def lift(rows: Rows, store: Store) -> None:
    """Take away what stops trading beside the journal's rows; only when a resume is written down."""
    (store.folder / STOP_FILE).unlink(missing_ok=True)
    accept(rows, store.folder)


def _mistrust(rows: Rows, store: Store) -> Stopped | None:
    if (missing := missing_from(rows, store.folder)) is not None:
        return Stopped(
            f"{FILE} is an older copy, or another: event {missing.seq} of {_moment(missing.at_ms)} is missing from it. "
            "Compare your orders with the exchange's, then resume",
            missing.at_ms,
        )
    if store.broken_at is None:
        return None
    query = "SELECT at_ms FROM event WHERE seq=? AND NOT EXISTS (SELECT 1 FROM event WHERE state=? AND seq>?)"
    row = rows.execute(query, (store.broken_at, ACCEPTED, store.broken_at)).fetchone()
    if row is None:
        return None
    return Stopped(
        f"event {store.broken_at} of {_moment(row[0])} does not follow on the one before it: {FILE} was changed by "
        "another program. Compare your orders with the exchange's, then resume",
        row[0],
    )


def _moment(at_ms: int) -> str:
    return f"{moment_of(at_ms):%Y-%m-%d %H:%M} UTC"
