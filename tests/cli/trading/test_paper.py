"""`paper` and `cancel`: what a person sees and takes back of an account that servers trade on."""

import io
from decimal import Decimal

import pytest

from cli.trading.trading_folder import TradingFolder
from mcp_binance_server.cli.main import main
from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.paper.account import account_of

Output = pytest.CaptureFixture[str]


def test_the_account_shows_balances_and_open_orders(folder: TradingFolder, capsys: Output) -> None:
    order = folder.placed(1)

    assert main(["paper"]) == 0

    said = capsys.readouterr().out
    assert "USDT   9,940         60" in said
    assert "BUY 0.001 BTCUSDT LIMIT at 60,000" in said
    assert order.client_order_id in said
    assert max(map(len, said.splitlines())) <= 80


def test_an_account_begins_with_what_the_policy_says(folder: TradingFolder, capsys: Output) -> None:
    folder.policy.write_text('[paper]\nbalances = { EUR = "2500.50" }\n', encoding="utf-8")

    assert main(["paper"]) == 0

    assert "EUR    2,500.5          0" in capsys.readouterr().out


def test_each_holder_of_a_token_has_an_account(folder: TradingFolder, capsys: Output) -> None:
    folder.placed(1, account=account_of(Visitor("ann")))

    assert main(["paper", "--token", "ann"]) == 0
    anns = capsys.readouterr().out
    assert main(["paper"]) == 0

    assert "9,940" in anns
    assert "No open orders." in capsys.readouterr().out


def test_the_account_shows_its_own_stop_and_none_of_another(folder: TradingFolder, capsys: Output) -> None:
    anns = account_of(Visitor("ann"))
    folder.stop("too dear", anns)

    main(["paper", "--token", "ann"])
    own = capsys.readouterr().out
    main(["paper"])

    assert f"Trading is stopped for account {anns} since " in own
    assert "stopped" not in capsys.readouterr().out


def test_a_cancelled_order_is_cancelled_for_every_process(folder: TradingFolder, capsys: Output) -> None:
    order = folder.placed(1, kind="STOP_LOSS_LIMIT", stop_price=Decimal(59_000))

    assert main(["cancel", order.client_order_id]) == 0

    found = folder.intent(order.preview_id)
    assert found is not None
    assert (found.status, found.final_ms is not None) == ("CANCELED", True)
    assert [each for each in folder.states() if each.startswith("CANCEL")] == ["CANCEL_ASKED", "CANCELLED"]
    assert "CANCELED" in capsys.readouterr().out
    main(["paper"])
    assert "USDT   10,000          0" in capsys.readouterr().out


def test_cancelling_goes_on_while_trading_is_stopped(folder: TradingFolder) -> None:
    order = folder.placed(1)
    main(["stop"])

    assert main(["cancel", order.client_order_id]) == 0


def test_what_is_over_or_was_never_placed_is_not_cancelled(folder: TradingFolder, capsys: Output) -> None:
    order = folder.placed(1)
    main(["cancel", order.client_order_id])
    before = folder.states()

    assert main(["cancel", order.client_order_id]) == 0
    assert main(["cancel", "mbp-another"]) == 1

    assert "No order mbp-another in the journal" in capsys.readouterr().err
    assert folder.states() == before


def test_an_order_that_is_not_on_paper_is_cancelled_elsewhere(folder: TradingFolder, capsys: Output) -> None:
    order = folder.placed(1, mode="practice", network="testnet")

    assert main(["cancel", order.client_order_id]) == 1
    assert "cancel it at Binance" in capsys.readouterr().err


def test_a_reset_asks_and_begins_anew(folder: TradingFolder, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    order = folder.placed(1)
    for answer, code in (("n", 1), ("", 1), ("y", 0)):
        monkeypatch.setattr("sys.stdin", Typed(f"{answer}\n"))
        assert main(["paper", "reset"]) == code

    said = capsys.readouterr()
    main(["paper"])
    assert "1 open order was cancelled" in said.out
    assert said.err.count("Nothing was changed.") == 2
    assert "USDT   10,000          0" in capsys.readouterr().out
    assert folder.states()[-1] == "PAPER_RESET"
    assert folder.do(lambda store: HostLedger(store, "test").find(order.preview_id)) is not None


def test_a_script_must_say_that_it_means_it(folder: TradingFolder, capsys: Output) -> None:
    folder.placed(1)

    assert main(["paper", "reset"]) == 1
    assert "--yes" in capsys.readouterr().err
    assert main(["paper", "reset", "--yes"]) == 0


class Typed(io.StringIO):
    """What a person types at a terminal."""

    def isatty(self) -> bool:
        return True
