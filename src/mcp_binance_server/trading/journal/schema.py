"""Tables of a journal, with one migration per version. An older file is migrated; a newer file is refused."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from mcp_binance_server.trading.errors import JournalUnavailable

Rows = sqlite3.Connection
"""Database connection that jobs of the store's thread receive."""

# Each migration runs once, in one transaction with its version number. A released migration never changes.
VERSIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE event (
          seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, about TEXT NOT NULL, state TEXT NOT NULL,
          facts TEXT NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL)""",
        "CREATE INDEX event_about ON event (about, seq)",
        "CREATE INDEX event_state ON event (state, at_ms)",
        """CREATE TABLE intent (
          id TEXT PRIMARY KEY, client_order_id TEXT NOT NULL UNIQUE, account TEXT NOT NULL, visitor TEXT NOT NULL,
          owner TEXT NOT NULL, symbol TEXT NOT NULL, asset TEXT NOT NULL, side TEXT NOT NULL, state TEXT NOT NULL,
          status TEXT NOT NULL, order_id INTEGER, quantity TEXT NOT NULL, executed TEXT NOT NULL, spent TEXT NOT NULL,
          counted INTEGER NOT NULL, way TEXT NOT NULL, terms TEXT NOT NULL, prepared_ms INTEGER NOT NULL,
          updated_ms INTEGER NOT NULL, final_ms INTEGER) WITHOUT ROWID""",
        "CREATE INDEX intent_prepared ON intent (account, prepared_ms)",
        "CREATE INDEX intent_open ON intent (account, final_ms)",
        """CREATE TABLE used (
          account TEXT NOT NULL, name TEXT NOT NULL, day INTEGER NOT NULL, amount INTEGER NOT NULL,
          PRIMARY KEY (account, name, day)) WITHOUT ROWID""",
        "CREATE TABLE stop (one INTEGER PRIMARY KEY CHECK (one = 1), why TEXT NOT NULL, since_ms INTEGER NOT NULL)",
        """CREATE TABLE waiting (
          id TEXT PRIMARY KEY, visitor TEXT NOT NULL, terms TEXT NOT NULL, since_ms INTEGER NOT NULL,
          signature TEXT) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE paper_account (
          account TEXT NOT NULL, asset TEXT NOT NULL, free TEXT NOT NULL, locked TEXT NOT NULL,
          PRIMARY KEY (account, asset)) WITHOUT ROWID""",
        """CREATE TABLE paper_order (
          order_id INTEGER PRIMARY KEY, account TEXT NOT NULL, client_order_id TEXT NOT NULL, symbol TEXT NOT NULL,
          side TEXT NOT NULL, kind TEXT NOT NULL, time_in_force TEXT NOT NULL, price TEXT NOT NULL, stop_price TEXT,
          quantity TEXT NOT NULL, executed TEXT NOT NULL, spent TEXT NOT NULL, status TEXT NOT NULL,
          reason TEXT NOT NULL, ahead TEXT, triggered INTEGER NOT NULL, arrives_ms INTEGER NOT NULL,
          created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, UNIQUE (account, client_order_id))""",
        "CREATE INDEX paper_order_open ON paper_order (symbol, status)",
        """CREATE TABLE paper_fill (
          trade_id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, account TEXT NOT NULL, symbol TEXT NOT NULL,
          price TEXT NOT NULL, quantity TEXT NOT NULL, commission TEXT NOT NULL, commission_asset TEXT NOT NULL,
          is_buyer INTEGER NOT NULL, is_maker INTEGER NOT NULL, print INTEGER, at_ms INTEGER NOT NULL)""",
        "CREATE INDEX paper_fill_order ON paper_fill (order_id)",
        """CREATE TABLE paper_matcher (
          one INTEGER PRIMARY KEY CHECK (one = 1), owner TEXT NOT NULL, token INTEGER NOT NULL,
          until_ms INTEGER NOT NULL)""",
        """CREATE TABLE paper_tape (
          symbol TEXT PRIMARY KEY, print INTEGER NOT NULL, at_ms INTEGER NOT NULL) WITHOUT ROWID""",
    ),
    # Each new order queries the open intents. Final intents accumulate, so this index omits them.
    ("CREATE INDEX intent_not_over ON intent (prepared_ms) WHERE final_ms IS NULL",),
    # States of the orders of a list. A single order has none.
    (
        "ALTER TABLE intent ADD COLUMN legs TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE paper_order ADD COLUMN list_id TEXT",
        "ALTER TABLE paper_order ADD COLUMN shape TEXT",
        "ALTER TABLE paper_order ADD COLUMN is_entry INTEGER",
        "CREATE INDEX paper_order_list ON paper_order (account, list_id) WHERE list_id IS NOT NULL",
    ),
    # A stop belongs to one account. The old stop was global, so its account is "".
    (
        """CREATE TABLE account_stop (
          account TEXT PRIMARY KEY, why TEXT NOT NULL, since_ms INTEGER NOT NULL) WITHOUT ROWID""",
        "INSERT INTO account_stop SELECT '', why, since_ms FROM stop",
        "DROP TABLE stop",
    ),
    # Exits have limits of their own. `at_risk` is the quantity of a failed exit. Stops of older versions refuse exits.
    (
        "ALTER TABLE intent ADD COLUMN purpose TEXT NOT NULL DEFAULT 'entry'",
        "ALTER TABLE intent ADD COLUMN at_risk TEXT NOT NULL DEFAULT '0'",
        "CREATE INDEX intent_at_risk ON intent (account) WHERE at_risk<>'0'",
        "ALTER TABLE account_stop ADD COLUMN allows_exits INTEGER NOT NULL DEFAULT 0",
    ),
    # A trailing stop on paper, and the best price that it has seen.
    (
        "ALTER TABLE paper_order ADD COLUMN trailing_bps INTEGER",
        "ALTER TABLE paper_order ADD COLUMN best TEXT",
    ),
    # ID of the intent for which an order was cancelled. Its coins are at risk until another exit sells them.
    # Each live sale adds up the executed orders of its asset.
    (
        "ALTER TABLE intent ADD COLUMN released_for TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX intent_executed ON intent (account, asset) WHERE executed<>'0'",
    ),
)
NEWEST = len(VERSIONS)


@contextmanager
def one_moment(rows: Rows) -> Generator[None]:
    """Run several reads on one snapshot under one lock. Keep the reads short, because writers wait."""
    rows.execute("BEGIN")
    try:
        yield
    finally:
        rows.execute("COMMIT")


def require_known(db: Rows) -> int:
    """Return the version of a journal file.

    Raises:
        JournalUnavailable: it was written by a later version of this program.
    """
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > NEWEST:
        raise JournalUnavailable(
            reason=f"it was written by a newer version (tables {found})", fix="Update mcp-binance-server"
        )
    return found


def bring_up_to_date(db: Rows) -> int:
    """Apply the missing migrations; return the version before them.

    Raises:
        JournalUnavailable: it was written by a later version of this program.
    """
    found = require_known(db)
    for version in range(found, NEWEST):
        db.execute("BEGIN IMMEDIATE")
        # Another process may have migrated the file in between.
        (now,) = db.execute("PRAGMA user_version").fetchone()
        if now == version:
            for statement in VERSIONS[version]:
                db.execute(statement)
            db.execute(f"PRAGMA user_version={version + 1}")
        db.execute("COMMIT")
    return found
