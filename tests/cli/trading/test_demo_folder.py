"""The trading commands and `ask` with `--demo`: the paper account that all demos of a user share."""

import json
from pathlib import Path

import pytest

from cli.trading.trading_folder import TradingFolder
from mcp_binance_server.cli.main import main
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.journal.schema import NEWEST
from support.terms import intent

Output = pytest.CaptureFixture[str]


@pytest.fixture
def demo(folder: TradingFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TradingFolder:
    monkeypatch.setenv("MCP_BINANCE_STATE_DIR", str(tmp_path / "state"))
    return TradingFolder(tmp_path / "state" / f"demo-{NEWEST}", folder.policy)


def test_stop_and_resume_act_on_the_demo_and_name_the_whole_command(
    demo: TradingFolder, folder: TradingFolder, capsys: Output
) -> None:
    assert main(["stop", "--demo", "enough"]) == 0
    stopped = capsys.readouterr().out
    assert [demo.stopped() is not None, folder.path.exists()] == [True, False]

    assert main(["ask", "--demo", "get_trading_status"]) == 0
    asked = capsys.readouterr().out
    assert main(["resume", "--demo"]) == 0

    assert "To resume: mcp-binance-server resume --demo" in stopped
    assert "Only the user can resume: mcp-binance-server resume --demo" in asked
    assert demo.stopped() is None


def test_an_order_of_ask_is_in_the_account_and_the_journal_of_the_demo(demo: TradingFolder, capsys: Output) -> None:
    order = ["symbol=BTCUSDT", "side=BUY", "type=MARKET", "quote_quantity=100"]
    assert main(["ask", "--demo", "--json", "preview_order", *order]) == 0
    preview_id = json.loads(capsys.readouterr().out)["preview_id"]
    assert main(["ask", "--demo", "--json", "place_order", preview_id]) == 0
    placed = json.loads(capsys.readouterr().out)

    main(["paper", "--demo"])
    paper = capsys.readouterr().out
    main(["journal", "--demo"])
    journal = capsys.readouterr().out
    main(["cancel", "--demo", "mbp-another"])
    failure = capsys.readouterr().err
    main(["paper", "--demo", "reset", "--yes"])
    capsys.readouterr()
    main(["paper", "--demo"])

    assert (placed["status"], demo.path.is_dir()) == ("FILLED", True)
    for words in (
        "opening balance    10,000 USDT, 0.25 BTC, 2 ETH",
        "value now          ",
        "realised profit    0.00 USDT",
        "unrealised profit  ",
        "fees               0.10 USDT",
        "Reset the account:  mcp-binance-server paper reset --demo",
    ):
        assert words in paper
    assert max(map(len, paper.splitlines())) <= 80
    assert placed["client_order_id"] in journal
    assert "mcp-binance-server journal --demo lists them" in failure
    assert "Opening balance: 10,000 USDT, 0.25 BTC, 2 ETH. No trades yet." in capsys.readouterr().out


def test_waiting_orders_of_the_demo_are_listed(demo: TradingFolder, capsys: Output) -> None:
    assert main(["approve", "--demo"]) == 0
    assert capsys.readouterr().out == "No orders are waiting for approval.\n"
    now_ms = SystemClock().now_ms()
    for number in (1, 2):
        new = intent(number, network="offline", expires_ms=now_ms + 600_000)
        demo.do(lambda store, new=new: Agreements(store).wait(new.preview_id, "local", new.terms, now_ms))

    assert main(["approve", "--demo"]) == 0

    assert "mcp-binance-server approve ID --demo shows one in full" in capsys.readouterr().out


def test_without_a_folder_of_demos_the_setting_is_named(
    demo: TradingFolder, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_BINANCE_STATE_DIR", "off")

    assert main(["paper", "--demo"]) == 2

    assert "MCP_BINANCE_STATE_DIR: demos keep no folder here" in capsys.readouterr().err
    assert not demo.path.exists()
