"""`journal`: what a person sees of the orders, gets into a spreadsheet, and learns of the file they are in."""

import csv
import io
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import anyio
import pytest

from mcp_binance_server.cli.main import main
from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.cli.trading.order_list import FIELDS, OrderLine, as_csv, as_lines
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.journal.last_written import LAST_FILE
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.journal.schema import NEWEST, VERSIONS
from mcp_binance_server.trading.journal.store import FILE, opened_store
from support.terms import NOW_MS, intent, reported

Output = pytest.CaptureFixture[str]
REFUSED = "=HYPERLINK(evil) \x1b[31mAccount has insufficient balance"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MCP_BINANCE_TRADING_DIR", str(tmp_path / "trading"))
    return tmp_path / "trading"


async def place(ledger: HostLedger) -> None:
    """Write a filled order, one refused, a sale half filled and one that nobody knows the end of."""
    filled, refused, unknown = (intent(number) for number in range(3))
    sale = replace(
        intent(3, symbol="ETHUSDT", side="SELL", kind="STOP_LOSS_LIMIT", stop_price=Decimal(61000)), way="apart"
    )
    for minute, new in enumerate((filled, refused, sale, unknown)):
        await ledger.claim(new, (), NOW_MS + 60_000 * minute)
        await ledger.mark_sent(new.preview_id, NOW_MS + 60_000 * minute)
    for new, status, executed in ((filled, "FILLED", "0.001"), (sale, "PARTIALLY_FILLED", "0.0003")):
        await ledger.move(new.preview_id, "ACKED", {}, NOW_MS)
        await ledger.follow(new.preview_id, reported(status, executed), NOW_MS)
    await ledger.move(refused.preview_id, "REJECTED", {"reason": REFUSED, "code": -2010}, NOW_MS)


def traded(folder: Path) -> list[OrderLine]:
    async def work() -> list[Intent]:
        async with opened_store(folder) as store:
            await place(HostLedger(store, "me"))
            return await JournalReader(store).newest(10)

    return [OrderLine(each, "PAPER", REFUSED if each.state == "REJECTED" else "") for each in anyio.run(work)]


def test_the_newest_order_is_the_first(folder: Path, capsys: Output) -> None:
    traded(folder)

    code = main(["journal"])

    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert code == 0
    assert lines[0].split("  ")[0] == "WHEN (UTC)"
    assert [line.split("  ")[0][-8:] for line in lines[1:] if line.startswith("2026")] == [
        "00:05:03", "00:04:03", "00:03:03", "00:02:03",
    ]  # fmt: skip
    assert " ".join(lines[-1].split()) == (
        "2026-07-21 00:02:03 PAPER BUY 0.001 BTCUSDT LIMIT 60000 FILLED 0.001 60000 by policy "
        f"{intent(0).client_order_id}"
    )
    assert "  reason: =HYPERLINK(evil) [31mAccount has insufficient balance" in lines
    assert "1 order with unknown outcome" in shown.err


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(folder: Path, width: int) -> None:
    orders = traded(folder)

    shown = as_lines(orders, Terminal(), width)

    assert max(map(len, shown.splitlines())) <= width
    assert ("WHEN (UTC)" in shown) == (width == 200)
    for each in orders:
        for part in (each.intent.client_order_id, each.state, each.intent.terms.symbol):
            assert part in shown


def test_in_a_narrow_terminal_an_order_has_a_few_lines(folder: Path) -> None:
    sale = traded(folder)[1]

    assert as_lines([sale], Terminal(), 80) == (
        "2026-07-21 00:04:03  PAPER  SELL 0.001 ETHUSDT STOP_LOSS_LIMIT 60000 stop 61000\n"
        "  PARTIALLY_FILLED 0.0003 at 60000 on average, confirmed by approver,\n"
        f"  {sale.intent.client_order_id}\n"
    )


@pytest.mark.parametrize("width", [60, 80, 300])
def test_orders_of_several_accounts_are_shown_with_them(folder: Path, width: int) -> None:
    orders = traded(folder)
    mine = orders[0].intent
    another = OrderLine(replace(mine, terms=replace(mine.terms, account="k-another")), "PAPER")

    of_one, of_both = as_lines(orders, Terminal(), width), as_lines([*orders, another], Terminal(), width)

    told = " ".join(of_both.split())
    assert [of_one.count(each) for each in ("paper", "ACCOUNT")] == [0, 0]
    assert [told.count(each) for each in ("paper", "k-another")] == [4, 1]
    assert (told.count("ACCOUNT"), told.count(", account ")) == ((1, 0) if width == 300 else (0, 5))
    assert max(map(len, of_both.splitlines())) <= width


def test_colour_is_for_the_state_alone(folder: Path) -> None:
    sent, _, _, filled = (each.intent for each in traded(folder))
    sent = replace(sent, terms=replace(sent.terms, symbol=Symbol("SENTUSDT")))

    painted = as_lines([OrderLine(sent, "PAPER"), OrderLine(filled, "PAPER")], Terminal(has_colour=True), None)

    assert "\x1b[32mFILLED\x1b[0m" in painted
    assert "\x1b[31mSENT\x1b[0m" in painted
    assert " SENTUSDT " in painted


def test_more_than_the_limit_is_said(folder: Path, capsys: Output) -> None:
    traded(folder)

    assert main(["journal", "--limit", "3"]) == 0

    shown = capsys.readouterr()
    assert shown.out.count("PAPER") == 3
    assert "Older orders" in shown.err


def test_a_table_has_every_field_of_every_order(folder: Path, capsys: Output) -> None:
    traded(folder)

    code = main(["journal", "--csv"])

    rows = [*csv.DictReader(io.StringIO(capsys.readouterr().out))]
    assert code == 0
    assert len(rows) == 4
    filled = rows[-1]
    assert [*filled] == [*FIELDS]
    assert filled == {
        "prepared": "2026-07-21T00:02:03.456Z",
        "account": "paper",
        "mode": "paper",
        "network": "mainnet",
        "symbol": "BTCUSDT",
        "side": "BUY",
        "type": "LIMIT",
        "time_in_force": "GTC",
        "quantity": "0.001",
        "price": "60000",
        "stop_price": "",
        "trailing_bps": "",
        "state": "ACKED",
        "status": "FILLED",
        "executed": "0.001",
        "spent": "60",
        "average_price": "60000",
        "confirmed": "policy",
        "reason": "",
        "counted": "60.00",
        "client_order_id": intent(0).client_order_id,
        "exchange_order_id": "7",
        "preview_id": intent(0).preview_id,
        "visitor": "me",
        "policy": "0" * 64,
        "updated": "2026-07-21T00:02:03.456Z",
        "final": "2026-07-21T00:02:03.456Z",
    }


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1+1", "'+1+1"),
        ("-1+1", "'-1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1+1", "' =1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("-2010", "-2010"),
        ("a = b", "a = b"),
        ('say "no", then', 'say "no", then'),
    ],
)
def test_no_cell_is_a_formula_and_numbers_stay_numbers(folder: Path, text: str, cell: str) -> None:
    order = replace(traded(folder)[0], reason=text)

    (row,) = csv.DictReader(io.StringIO(as_csv([order])))

    assert row["reason"] == cell


def spoil(folder: Path, statement: str) -> None:
    db = sqlite3.connect(folder / FILE)
    db.execute(statement)
    db.commit()
    db.close()


def test_verify_says_whether_it_is_whole_and_what_is_not(folder: Path, capsys: Output) -> None:
    traded(folder)

    whole = main(["journal", "--verify"])
    spoil(folder, "UPDATE event SET facts='{}' WHERE seq=1")
    broken = main(["journal", "--verify"])

    first, second, third = capsys.readouterr().out.splitlines()[:3]
    assert (whole, broken) == (0, 1)
    assert first == f"{folder / FILE} is intact: 13 events, 4 orders; each event matches the previous one."
    assert second == f"{folder / FILE} is NOT intact: 13 events, 4 orders."
    assert third.startswith("  event 1 of 2026-07-21 00:02:03 UTC does not match the previous event")


def test_a_backup_is_checked_and_replaces_nothing(folder: Path, tmp_path: Path, capsys: Output) -> None:
    traded(folder)
    copy = tmp_path / "copy.db"

    made = main(["journal", "--backup", str(copy)])
    kept = copy.read_bytes()
    again = main(["journal", "--backup", str(copy)])
    nowhere = main(["journal", "--backup", str(tmp_path / "no" / "copy.db")])

    shown = capsys.readouterr()
    assert (made, again, nowhere) == (0, 1, 1)
    assert shown.out == f"{copy} is intact: 13 events, 4 orders; each event matches the previous one.\n"
    assert shown.err.splitlines() == [
        f"{copy}: it exists already and is not overwritten: name a new file.",
        f"{tmp_path / 'no' / 'copy.db'}: folder {tmp_path / 'no'} not found.",
    ]
    assert copy.read_bytes() == kept


def test_a_backup_that_was_put_back_is_said_above_the_orders(folder: Path, tmp_path: Path, capsys: Output) -> None:
    traded(folder)
    assert main(["journal", "--backup", str(tmp_path / "copy.db")]) == 0

    async def stop() -> None:
        async with opened_store(folder) as store:
            await HostLedger(store, "me").note("DECLINED", {}, NOW_MS)

    anyio.run(stop)
    (tmp_path / "copy.db").replace(folder / FILE)
    capsys.readouterr()

    assert main(["journal"]) == 0

    told = " ".join(capsys.readouterr().out.split("\n\n")[0].split())
    assert told == (
        "Trading is stopped for all accounts since 2026-07-21 00:02 UTC: trading.db is an older copy or another "
        "journal: event 14 of 2026-07-21 00:02 UTC is missing. Compare your orders with the exchange's, then resume."
    )


def test_every_stop_is_told_with_whose_it_is(folder: Path, capsys: Output) -> None:
    async def stop() -> None:
        async with opened_store(folder) as store:
            ledger = HostLedger(store, "me")
            await ledger.stop("too dear", "me", NOW_MS, "paper-ann")
            await ledger.stop("a flood", "me", NOW_MS)

    anyio.run(stop)

    assert main(["journal"]) == 0

    told = capsys.readouterr().out.split("\n\n")
    assert told[:2] == [
        "Trading is stopped for all accounts since 2026-07-21 00:02 UTC: a flood.",
        "Trading is stopped for account paper-ann since 2026-07-21 00:02 UTC: too dear.",
    ]


def test_without_a_journal_nothing_is_made(folder: Path, capsys: Output) -> None:
    codes = [main(["journal", *way]) for way in ([], ["--csv"], ["--verify"], ["--backup", "x.db"])]

    shown = capsys.readouterr()
    assert codes == [0, 0, 1, 1]
    assert shown.err.splitlines() == [f"No journal in {folder}: no order was placed yet."] * 4
    assert shown.out.splitlines() == [",".join(FIELDS)]
    assert not folder.exists()


def test_reading_changes_nothing(folder: Path, capsys: Output) -> None:
    folder.mkdir(mode=0o700)
    db = sqlite3.connect(folder / FILE)
    for statement in VERSIONS[0]:
        db.execute(statement)
    db.execute("PRAGMA user_version=1")
    db.commit()
    db.close()
    before = (folder / FILE).read_bytes()

    codes = [main(["journal", *way]) for way in ([], ["--csv"], ["--verify"])]

    assert codes == [0, 0, 0]
    assert capsys.readouterr().out.startswith("No orders yet.\n")
    assert (folder / FILE).read_bytes() == before
    assert [each.name for each in folder.iterdir()] == [FILE]


def newer(folder: Path) -> None:
    spoil(folder, f"PRAGMA user_version={NEWEST + 1}")


def noise(folder: Path) -> None:
    (folder / FILE).write_bytes(b"noise" * 1000)


def unreadable_terms(folder: Path) -> None:
    spoil(folder, "UPDATE intent SET terms='{}'")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (newer, f"it was written by a newer version (tables {NEWEST + 1}). Update mcp-binance-server."),
        (noise, f"it is not a journal. Move {FILE} away, or restore a backup."),
        (
            unreadable_terms,
            f"it has an invalid row. Restore a backup of {FILE}, then run mcp-binance-server journal --verify.",
        ),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(
    folder: Path, capsys: Output, change: Callable[[Path], None], sentence: str
) -> None:
    traded(folder)
    change(folder)

    code = main(["journal"])

    shown = capsys.readouterr()
    assert (code, shown.out) == (1, "")
    assert shown.err == f"{folder / FILE}: {sentence}\n"


def test_it_is_read_while_a_server_writes(folder: Path, capsys: Output) -> None:
    traded(folder)
    server = sqlite3.connect(folder / FILE, isolation_level=None)
    server.execute("BEGIN IMMEDIATE")
    server.execute("DELETE FROM intent")

    codes = [main(["journal"]), main(["journal", "--verify"])]
    server.execute("ROLLBACK")
    server.close()

    assert codes == [0, 0]
    assert capsys.readouterr().out.count("PAPER") == 4


@pytest.mark.parametrize("way", [["--verify"], ["--backup", "x.db"]])
def test_a_limit_is_for_lists(way: list[str], capsys: Output) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["journal", *way, "--limit", "5"])

    assert caught.value.code == 2
    assert "journal --limit works with the list and --csv" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "-1", "many", "1000001"])
def test_a_limit_is_a_number(text: str, capsys: Output) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["journal", "--limit", text])

    assert caught.value.code == 2
    assert "--limit" in capsys.readouterr().err


def test_the_file_beside_it_is_left_as_it_is(folder: Path) -> None:
    traded(folder)
    before = (folder / LAST_FILE).read_bytes(), (folder / LAST_FILE).stat().st_mtime_ns

    main(["journal", "--verify"])

    assert ((folder / LAST_FILE).read_bytes(), (folder / LAST_FILE).stat().st_mtime_ns) == before
