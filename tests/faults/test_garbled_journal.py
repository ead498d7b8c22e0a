"""Senseless values in the rows of the journal: every question is still answered, by a refusal or by true numbers."""

import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from mcp import MCPError

from mcp_binance_server.errors import AppError
from support.attacked import INTERNAL, Assistant, FormUser, assistant, error_of
from support.paper_market import FILE, NOW_MS

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

CASES = 16
SENSELESS: tuple[object, ...] = (
    "", "abc", "NaN", "-1", "1e999999", "Infinity", b"\x00\xff", 2**62, "9" * 400, "{}", "[1]", -5, 1.5, "null",
)  # fmt: skip
# Names are shown as they stand.
NAMES = ("asset", "symbol", "client_order_id", "account", "id", "visitor", "reason", "why", "commission_asset", "owner")
# Nothing of these is a number that a user may be shown.
SHOWN = re.compile(r"NaN|Infinity|[0-9]E\+|9{60}|(?<![\w-])-[0-9]")
# A profit alone can be negative.
PROFIT = re.compile(r"realised.profit\W{1,6}-[0-9.]{1,12} USDT", re.IGNORECASE)
BUY = {"symbol": "BTCUSDT", "side": "BUY", "quantity": "0.0003", "price": "90000"}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_account_info", {}),
    ("get_open_orders", {}),
    ("get_all_orders", {"symbol": "BTCUSDT"}),
    ("get_account_trades", {"symbol": "BTCUSDT"}),
    ("get_trading_status", {}),
    ("cancel_all_orders", {"symbol": "BTCUSDT"}),
)
PAGES = ("binance://orders/journal", "binance://orders/open", "binance://account/balances")


def cells(file: Path) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Return every column that has a value, with the key of its table."""
    with closing(sqlite3.connect(file)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name").fetchall():
            columns = db.execute(f"PRAGMA table_info({table})").fetchall()
            keys = tuple(each[1] for each in columns if each[5])
            if db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:  # noqa: S608 - names of our own tables
                yield from ((table, each[1], keys) for each in columns)


def garbled(file: Path, at: tuple[str, str, tuple[str, ...]], value: object, random: Random) -> bool:
    """Change one value; False where the file itself does not take it."""
    table, column, keys = at
    which = " AND ".join(f"{key}=?" for key in keys)
    with closing(sqlite3.connect(file)) as db:
        found = random.choice(db.execute(f"SELECT {', '.join(keys)} FROM {table}").fetchall())  # noqa: S608 - likewise
        try:
            db.execute(f"UPDATE {table} SET {column}=? WHERE {which}", (value, *found))  # noqa: S608 - likewise
            db.commit()
        except sqlite3.Error:
            return False
    return True


async def asked(of: Assistant) -> Counter[str]:
    """Ask for everything that the file is read for; return what came, by kind."""
    heard: Counter[str] = Counter()

    def note(what: str, told: dict[str, Any] | str) -> None:
        kind = told.get("error_type", "answer") if isinstance(told, dict) else "answer"
        heard[f"{what}: {kind}" if kind == INTERNAL else str(kind)] += 1
        if kind == "answer" and (found := SHOWN.search(PROFIT.sub("", str(told)))):
            heard[f"{what} shows {found[0]}"] += 1

    for tool, arguments in CALLS:
        note(tool, await of.call(tool, arguments))
    preview = await of.call("preview_order", BUY)
    note("preview_order", preview)
    if "preview_id" in preview:
        note("place_order", await of.call("place_order", {"preview_id": preview["preview_id"]}))
    for uri in PAGES:
        try:
            note(uri, str(await of.market.answered(lambda uri=uri: of.client.read_resource(uri))))
        except MCPError as error:
            note(uri, error_of(error))
    return heard


@pytest.mark.timeout(600)
async def test_no_senseless_row_ends_the_server_or_is_shown_as_a_number(tmp_path: Path, scale: int) -> None:
    ready, random, heard = tmp_path / "ready", Random("journal"), Counter[str]()
    ready.mkdir()
    async with assistant(ready, "", FormUser("nobody"), now_ms=NOW_MS - 600_000) as of:
        for order in ({"type": "MARKET", "quantity": "0.0004"}, {"quantity": "0.0004", "price": "90000"}):
            await of.placed({"side": "BUY", **order})
    places = [*cells(ready / FILE)]
    refused = 0  # at the start, or by an answer
    for number in range(scale * CASES):
        at, folder = random.choice(places), tmp_path / f"{number}"
        shutil.copytree(ready, folder)
        if not garbled(folder / FILE, at, value := random.choice(SENSELESS), random):
            continue
        try:
            async with assistant(folder, "", FormUser("nobody")) as of:
                came = await asked(of)
        except AppError:
            refused += 1
            continue
        refused += came["journal_unavailable"] > 0
        bad = [each for each in came if ": " in each or (" shows " in each and at[1] not in NAMES)]
        heard.update(f"{each}, {at[0]}.{at[1]}={str(value)[:20]!r}" for each in bad)
    assert heard == {}
    assert refused > 0
