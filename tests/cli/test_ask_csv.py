"""`ask --csv`: the rows of an answer, and of every page after it, in a file for a spreadsheet."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from binance_simulator.faults import Fault
from binance_simulator.market.portfolio import Fill
from mcp_binance_server.cli.main import main
from mcp_binance_server.cli.spreadsheet import AnswerTable
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.ask_command import Asker
from support.exchange_socket import ServedExchange, served_exchange

FIRST_MS = 1_784_500_000_000
TRADES = ("get_account_trades", "symbols=BTCUSDT,BNBUSDT", "start=2026-07-01")
HEADER = "trade_id,order_id,symbol,side,price,quantity,quote_quantity,commission,commission_asset,is_maker,time"


@pytest.fixture(scope="module")
def served() -> Iterator[ServedExchange]:
    with served_exchange() as exchange:
        yield exchange


@pytest.fixture(autouse=True)
def healed(served: ServedExchange) -> None:
    served.heal()


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Asker:
    return Asker(monkeypatch, capsysbinary)


def fill(number: int, symbol: str) -> Fill:
    return Fill(
        symbol=symbol,
        trade_id=900_000_000 + number,
        order_id=41_200_880_000 + number,
        price="50000.10000000",
        quantity="0.00200000",
        value="100.00020000",
        commission="-0.00001500",
        commission_asset="BNB",
        time_ms=FIRST_MS + number,
        buyer=number % 2 == 0,
        maker=number % 3 == 0,
    )


def trade(served: ServedExchange, count: int) -> None:
    exchange = served.exchange
    fills = tuple(fill(number, ("BTCUSDT", "BNBUSDT")[number % 7 == 0]) for number in range(count))
    exchange.stage = replace(exchange.stage, portfolio=replace(exchange.stage.portfolio, fills=fills))


def read(file: Path) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")))]


def test_all_pages_of_the_account_s_trades_are_saved(ask: Asker, served: ServedExchange, tmp_path: Path) -> None:
    trade(served, 1_200)
    file = tmp_path / "trades.csv"

    done = ask(*TRADES, "--csv", str(file), served=served)

    rows = read(file)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"Saved: {file}, 1200 rows\n"
    assert [int(row["trade_id"]) for row in rows] == [900_000_000 + number for number in range(1_200)]
    assert list(rows[0]) == HEADER.split(",")
    assert rows[0] == {
        "trade_id": "900000000",
        "order_id": "41200880000",
        "symbol": "BNBUSDT",
        "side": "BUY",
        "price": "50000.10000000",
        "quantity": "0.00200000",
        "quote_quantity": "100.00020000",
        "commission": "-0.00001500",
        "commission_asset": "BNB",
        "is_maker": "true",
        "time": "2026-07-19T22:26:40.000Z",
    }


def test_a_file_is_replaced_only_when_that_is_said_and_nothing_is_asked_before(
    ask: Asker, served: ServedExchange, tmp_path: Path
) -> None:
    trade(served, 3)
    file = tmp_path / "trades.csv"
    file.write_text("mine", encoding="utf-8")

    refused = ask(*TRADES, "--csv", str(file), served=served)
    asked, kept = [*served.exchange.requests], file.read_text(encoding="utf-8")
    replaced = ask(*TRADES, "--csv", str(file), "--replace", served=served)

    assert (refused.returncode, kept, asked) == (2, "mine", [])
    assert b"the file exists; --replace overwrites it" in refused.stderr
    assert (replaced.returncode, len(read(file))) == (0, 3)


def test_what_was_read_before_a_failure_is_saved_and_the_call_for_the_rest_is_told(
    ask: Asker, served: ServedExchange, tmp_path: Path
) -> None:
    trade(served, 1_010)
    file = tmp_path / "trades.csv"
    served.exchange.faults.add(Fault(kind="delay", path="*/myTrades", times=2))  # the first page is two calls
    served.exchange.faults.add(
        Fault(kind="status", path="*/myTrades", status=400, code=-1100, msg="Illegal characters.")
    )

    done = ask(*TRADES, "--csv", str(file), served=served)

    assert done.returncode == 1
    assert len(read(file)) == 1_000
    assert b'More rows: get_account_trades {"symbols"' in done.stderr
    assert b"Illegal characters" in done.stderr


def test_without_trades_there_is_a_header_and_no_rows(ask: Asker, served: ServedExchange, tmp_path: Path) -> None:
    trade(served, 0)
    file = tmp_path / "trades.csv"

    done = ask(*TRADES, "--csv", str(file), served=served)

    assert done.returncode == 0
    assert file.read_text(encoding="utf-8") == f"{HEADER}\n"


@pytest.mark.parametrize(
    ("words", "header", "rows"),
    [
        (("get_klines", "btc", "interval=1h", "limit=30"), "open_time,open,high,low,close,volume", 30),
        (("get_order_book", "btc", "limit=5"), "side,price,quantity", 10),
        (("get_orderbook_depth", "btc", "levels=20"), "side,price,quantity", 40),
        (("get_recent_trades", "btc", "limit=7"), "time,price,quantity,aggressor", 7),
        (
            ("get_indicators", "btc", "indicators=rsi", "last_n=3"),
            "open_time,is_final,close,rsi(14),warming,seed_weight",
            3,
        ),
        (("get_ticker", "symbols=btc,eth"), "symbol,status,last_price,change,", 2),
        (("scan_market",), "list,symbol,price,change_24h,quote_volume_24h", 20),
    ],
)
def test_every_answer_with_rows_is_a_table(
    ask: Asker, tmp_path: Path, words: tuple[str, ...], header: str, rows: int
) -> None:
    file = tmp_path / "rows.csv"

    done = ask("--demo", *words, "--csv", str(file))

    first, *lines = file.read_text(encoding="utf-8").splitlines()
    assert (done.returncode, first[: len(header)], len(lines)) == (0, header, rows)
    assert all(len(each) == len(next(csv.reader([first]))) for each in csv.reader(lines))


@pytest.mark.parametrize(("interval", "step"), [("1h", 3_600), ("1d", 86_400), ("1w", 604_800)])
def test_each_candle_has_its_opening_time(ask: Asker, tmp_path: Path, interval: str, step: int) -> None:
    file = tmp_path / "candles.csv"

    ask("--demo", "get_klines", "btcusdt", f"interval={interval}", "limit=40", "--csv", str(file))

    opens = [datetime.fromisoformat(row["open_time"]).timestamp() for row in read(file)]
    assert [later - one for one, later in pairwise(opens)] == [step] * 39


def test_monthly_candles_open_on_the_first(ask: Asker, tmp_path: Path) -> None:
    file = tmp_path / "months.csv"

    ask("--demo", "get_klines", "btcusdt", "interval=1M", "limit=15", "--csv", str(file))

    opens = [row["open_time"] for row in read(file)]
    assert len({each[:7] for each in opens}) == 15
    assert {each[7:] for each in opens} == {"-01T00:00:00Z"}


@pytest.mark.parametrize("live", ["=1+1", "+1x", "-x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1"])  # noqa: RUF001
def test_no_cell_and_no_column_is_a_formula(live: str) -> None:
    table = AnswerTable(("rows",), ())

    text = table.text([{"rows": [{"symbol": live, live: "-0.5", "nested": {"inner": live}}]}])

    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert f"'{live}" in cells
    assert not [each for each in cells if each.startswith(tuple("=+@\t\r\n＝")) or each == live]  # noqa: RUF001
    assert "-0.5" in cells


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("get_ticker", "btcusdt", "--csv", "x.csv"), b"this answer has no rows"),
        (("get_server_time", "--csv", "x.csv"), b"the answer of get_server_time has no rows"),
        (("get_account_trades", "btcusdt", "--csv", "/nonexistent/x.csv"), b"No such file or directory"),
    ],
)
def test_what_cannot_be_saved_is_said(
    ask: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], said: bytes
) -> None:
    monkeypatch.chdir(tmp_path)

    done = ask("--demo", *words)

    assert done.returncode == 2
    assert said in done.stderr
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("get_account_trades", "btcusdt", "--csv", "x.csv", "--json"), "choose one"),
        (("get_account_trades", "btcusdt", "--csv", "x.csv", "--output", "y"), "choose one"),
        (("get_account_trades", "btcusdt", "--replace"), "--replace works with --csv"),
        (("--csv", "x.csv"), "--csv needs a tool"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["ask", "--demo", *words])

    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_a_text_that_a_spreadsheet_would_calculate_is_made_text_and_a_number_stays_one() -> None:
    spec = CATALOGUE.tool("get_account_trades")
    assert spec is not None
    table = AnswerTable.of(spec.wire.output_schema)
    assert table is not None
    cells = {"symbol": "=1+1", "side": "@SUM(A1)", "commission": "-0.5", "commission_asset": "-x", "is_maker": None}

    (row,) = csv.DictReader(io.StringIO(table.text([{"trades": [cells]}])))

    assert (row["symbol"], row["side"], row["commission_asset"]) == ("'=1+1", "'@SUM(A1)", "'-x")
    assert (row["commission"], row["is_maker"], row["price"]) == ("-0.5", "", "")
