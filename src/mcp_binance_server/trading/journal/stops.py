"""Stop of all orders of one account, or of all accounts.

A stop is a row of the journal, or a file created by hand. These functions run in the store's thread.
"""

from collections.abc import Mapping
from typing import Any

from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.trading.journal.chain import ACCEPTED, append
from mcp_binance_server.trading.journal.last_written import accept, missing_from
from mcp_binance_server.trading.journal.records import ALL_ACCOUNTS, Stopped
from mcp_binance_server.trading.journal.schema import Rows
from mcp_binance_server.trading.journal.store import FILE, Store
from mcp_binance_server.trading.judgement.exposure import Purpose
from mcp_binance_server.trading.judgement.policy import Way
from mcp_binance_server.trading.judgement.stop import passes

STOP_FILE = "STOP"


class TradingIsStopped(Exception):
    """Rejection of a claim or a request because trading is stopped for the account; nothing was changed."""

    def __init__(self, stopped: Stopped) -> None:
        super().__init__(stopped.why)
        self.stopped = stopped


def stopped_in(rows: Rows, store: Store, account: str) -> Stopped | None:
    """Return the stop that applies to an account.

    A stop for integrity comes first, then the global stop, then the account's own.
    """
    found = [each for of in (ALL_ACCOUNTS, account) if (each := own_stop(rows, store, of)) is not None]
    return min(found, key=lambda each: each.allows_exits, default=None)


def own_stop(rows: Rows, store: Store, account: str) -> Stopped | None:
    """Return the stop of this account. The global stop can also be a file or a damaged journal."""
    if account == ALL_ACCOUNTS and (mistrust := _mistrust(rows, store)) is not None:
        return mistrust
    query = "SELECT why, since_ms, account, allows_exits FROM account_stop WHERE account=?"
    row = rows.execute(query, (account,)).fetchone()
    if row is not None:
        return _stopped(row)
    return _stop_file(store) if account == ALL_ACCOUNTS else None


def stops_in(rows: Rows, store: Store) -> list[Stopped]:
    """Return all stops: the global one first, then those of accounts, the oldest first."""
    query = "SELECT why, since_ms, account, allows_exits FROM account_stop WHERE account<>? ORDER BY since_ms, account"
    everybody = own_stop(rows, store, ALL_ACCOUNTS)
    own = [_stopped(row) for row in rows.execute(query, (ALL_ACCOUNTS,))]
    return own if everybody is None else [everybody, *own]


def require_started(rows: Rows, store: Store, account: str, purpose: Purpose = "entry", way: Way = "policy") -> None:
    """Check that no stop refuses an order. Most stops let an exit pass that a person has confirmed.

    Raises:
        TradingIsStopped: a stop refuses it.
    """
    stopped = stopped_in(rows, store, account)
    if stopped is not None and not passes_stop(stopped, purpose, way):
        raise TradingIsStopped(stopped)


def passes_stop(stopped: Stopped, purpose: Purpose, way: Way) -> bool:
    """Return True for an exit that a person has confirmed, unless the stop is for integrity."""
    return stopped.allows_exits and passes(purpose, way)


def stop(  # noqa: PLR0917 - all parts of a stop
    rows: Rows, store: Store, why: str, by: str, now_ms: int, account: str, *, allows_exits: bool = True
) -> Stopped:
    """Stop an account. The first reason stays, but a stop for integrity replaces a stop that allows exits."""
    stopped = own_stop(rows, store, account)
    if stopped is not None and (allows_exits or not stopped.allows_exits):
        return stopped
    rows.execute("INSERT OR REPLACE INTO account_stop VALUES (?,?,?,?)", (account, why, now_ms, allows_exits))
    append(rows, now_ms, "", "STOPPED", {"why": why, "by": by, "account": account})
    return Stopped(why, now_ms, account, allows_exits)


def resume(rows: Rows, store: Store, by: str, now_ms: int, account: str | None) -> None:
    """Lift all stops, or only the stop of one account.

    For the global stop, this removes only the row; `lift` removes its other causes.
    """
    lifted = [each for each in stops_in(rows, store) if account in (None, each.account)]
    rows.executemany("DELETE FROM account_stop WHERE account=?", [(each.account,) for each in lifted])
    _note_resumed(rows, by, now_ms, account or ALL_ACCOUNTS, lifted)
    if not account and (mistrust := _mistrust(rows, store)) is not None:
        append(rows, now_ms, "", ACCEPTED, {"by": by, "why": mistrust.why})


def lift_row(rows: Rows, store: Store, by: str, now_ms: int, account: str) -> None:
    """Lift one stop that is a row. A stop file or a damaged journal still stops trading."""
    stands = own_stop(rows, store, account)
    if stands is not None and rows.execute("DELETE FROM account_stop WHERE account=?", (account,)).rowcount:
        _note_resumed(rows, by, now_ms, account, [stands])


def lift(rows: Rows, store: Store) -> None:
    """Remove the stop file and accept the journal. Call it only after the resume is recorded."""
    (store.folder / STOP_FILE).unlink(missing_ok=True)
    accept(rows, store.folder)


def is_covered_by_resume(told: Mapping[str, Any], account: str) -> bool:
    """Return True if a resume covers an account. A resume recorded by an older version covers all accounts."""
    return told.get("account", ALL_ACCOUNTS) in (ALL_ACCOUNTS, account)


def _note_resumed(rows: Rows, by: str, now_ms: int, account: str, lifted: list[Stopped]) -> None:
    # Record the start time of each lifted stop, so that a later stop on another machine is not lifted.
    since = {each.account: each.since_ms for each in lifted}
    append(rows, now_ms, "", "RESUMED", {"by": by, "account": account, "lifted": since})


def _stop_file(store: Store) -> Stopped | None:
    try:
        since_ms = (store.folder / STOP_FILE).stat().st_mtime_ns // 1_000_000
    except OSError:
        return None
    return Stopped(f"the file {STOP_FILE} is in the trading folder", since_ms)


def _mistrust(rows: Rows, store: Store) -> Stopped | None:
    if (missing := missing_from(rows, store.folder)) is not None:
        return Stopped(
            f"{FILE} is an older copy or another journal: event {missing.seq} of {_moment(missing.at_ms)} is missing. "
            "Compare your orders with the exchange's, then resume",
            missing.at_ms,
            allows_exits=False,
        )
    if store.broken_at is None:
        return None
    query = "SELECT at_ms FROM event WHERE seq=? AND NOT EXISTS (SELECT 1 FROM event WHERE state=? AND seq>?)"
    row = rows.execute(query, (store.broken_at, ACCEPTED, store.broken_at)).fetchone()
    if row is None:
        return None
    return Stopped(
        f"event {store.broken_at} of {_moment(row[0])} does not match the previous event: {FILE} was changed by "
        "another program. Compare your orders with the exchange's, then resume",
        row[0],
        allows_exits=False,
    )


def _stopped(row: tuple[str, int, str, int]) -> Stopped:
    why, since_ms, account, allows_exits = row
    return Stopped(why, since_ms, account, bool(allows_exits))


def _moment(at_ms: int) -> str:
    return f"{moment_of(at_ms):%Y-%m-%d %H:%M} UTC"
