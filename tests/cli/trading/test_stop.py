"""`stop` and `resume` act on what other processes do with the same journal."""

from decimal import Decimal

import pytest

from cli.trading.trading_folder import PASSPHRASE, TradingFolder
from cli.trading.typist import Typist
from mcp_binance_server.cli.main import main
from mcp_binance_server.trading.journal.ledger import STOP_FILE, HostLedger, TradingIsStopped
from support.terms import NOW_MS, intent

Output = pytest.CaptureFixture[str]


def claims(folder: TradingFolder, number: int, account: str = "paper") -> bool:
    new = intent(number, account=account)
    try:
        folder.do(lambda store: HostLedger(store, "a server").claim(new, (), NOW_MS))
    except TradingIsStopped:
        return False
    return True


def test_a_stop_holds_every_claim_back_until_it_is_lifted(folder: TradingFolder, capsys: Output) -> None:
    assert claims(folder, 1)
    assert main(["stop", "the", "dog", "is", "loose"]) == 0
    assert not claims(folder, 2)
    assert main(["resume"]) == 0
    assert claims(folder, 2)

    said = capsys.readouterr().out
    assert said.count("the dog is loose") == 2
    assert "Resumed: new orders are allowed again." in said
    assert [each for each in folder.states() if each in ("STOPPED", "RESUMED")] == ["STOPPED", "RESUMED"]
    assert folder.events()[-1].state == "PREPARED"


def test_the_first_reason_stays_and_a_second_stop_is_no_failure(folder: TradingFolder, capsys: Output) -> None:
    assert [main(["stop", "first"]), main(["stop", "second"])] == [0, 0]

    stopped = folder.stopped()
    assert stopped is not None
    assert stopped.why == "first"
    assert "second" not in capsys.readouterr().out


def test_what_is_open_stays_and_is_named(folder: TradingFolder, capsys: Output) -> None:
    order = folder.placed()

    assert main(["stop"]) == 0

    stands = folder.intent(order.preview_id)
    assert stands is not None
    assert stands.final_ms is None
    assert order.client_order_id in capsys.readouterr().out


def test_cancel_all_takes_every_open_order_back_stops_too(folder: TradingFolder, capsys: Output) -> None:
    made = [folder.placed(1), folder.placed(2, kind="STOP_LOSS_LIMIT", stop_price=Decimal(59_000), account="paper-ann")]

    assert main(["stop", "--cancel-all", "enough"]) == 0

    found = [folder.intent(each.preview_id) for each in made]
    assert [each and each.status for each in found] == ["CANCELED", "CANCELED"]
    assert folder.states().count("CANCELLED") == 2
    assert "No open orders." in capsys.readouterr().out


def test_a_journal_that_cannot_be_written_is_stopped_by_the_file(folder: TradingFolder, capsys: Output) -> None:
    folder.path.mkdir(mode=0o700)
    (folder.path / "trading.db").write_bytes(b"this is no journal, and long enough to be looked at " * 40)

    assert main(["stop"]) == 1

    assert (folder.path / STOP_FILE).exists()
    assert str(folder.path / STOP_FILE) in capsys.readouterr().err


def test_limits_that_cannot_be_read_do_not_keep_anybody_from_stopping(folder: TradingFolder, capsys: Output) -> None:
    folder.policy.write_text("limits = nonsense", encoding="utf-8")

    assert main(["stop"]) == 0

    assert folder.stopped() is not None
    assert main(["resume"]) == 2
    assert "not TOML" in capsys.readouterr().err
    assert folder.stopped() is not None


@pytest.mark.slow
def test_resume_needs_the_approvers_passphrase_where_there_is_one(folder: TradingFolder) -> None:
    folder.approver()
    main(["stop", "for a reason"])
    refused = Typist("resume").answers("stay stopped): ", "wrong").answers("stay stopped): ", "")

    assert refused.leaves() == 1
    assert "for a reason" in refused.seen
    assert folder.stopped() is not None
    assert Typist("resume").answers("stay stopped): ", PASSPHRASE).leaves() == 0
    assert folder.stopped() is None


def test_resume_without_a_stop_says_so(folder: TradingFolder, capsys: Output) -> None:
    assert main(["resume"]) == 0
    assert capsys.readouterr().out == "Trading is not stopped.\n"
    assert folder.states() == []


def test_a_stop_at_the_terminal_is_for_everybody(folder: TradingFolder, capsys: Output) -> None:
    folder.stop("too dear", "paper-ann")

    assert main(["stop", "a", "flood"]) == 0

    said = capsys.readouterr().out
    assert said.startswith("Trading is stopped for all accounts since ")
    assert "too dear" not in said
    assert folder.held() == ["", "paper-ann"]
    assert [claims(folder, number, each) for number, each in enumerate(("paper-ann", "k-bob"))] == [False, False]


@pytest.mark.slow
def test_resume_shows_every_stop_and_lifts_them_all(folder: TradingFolder, capsys: Output) -> None:
    folder.stop("too dear", "paper-ann")
    folder.stop("odd answers", "k-bob")
    main(["stop", "a", "flood"])
    capsys.readouterr()

    assert main(["resume"]) == 0

    everybody, ann, bob, done = capsys.readouterr().out.splitlines()
    assert everybody.startswith("Stopped for all accounts since ")
    assert everybody.endswith(" UTC: a flood.")
    assert ann.startswith("Stopped for account paper-ann since ")
    assert ann.endswith(" UTC: too dear.")
    assert bob.endswith(" UTC: odd answers.")
    assert done == "Resumed: new orders are allowed again."
    assert folder.held() == []


def test_one_account_is_resumed_alone_and_everybodys_stop_still_holds_it(folder: TradingFolder, capsys: Output) -> None:
    folder.stop("too dear", "paper-ann")
    folder.stop("odd answers", "k-bob")

    assert main(["resume", "--account", "paper-ann"]) == 0
    assert folder.held() == ["k-bob"]
    assert capsys.readouterr().out.endswith("Resumed: account paper-ann can place new orders again.\n")
    assert claims(folder, 1, "paper-ann")
    main(["stop", "a", "flood"])
    assert main(["resume", "--account", "k-bob"]) == 0
    assert folder.held() == [""]
    assert capsys.readouterr().out.endswith("lifted; the stop of all accounts still applies.\n")


def test_an_account_without_a_stop_of_its_own_is_not_resumed(folder: TradingFolder, capsys: Output) -> None:
    main(["stop", "a", "flood"])

    assert main(["resume", "--account", "paper-ann"]) == 0

    assert folder.held() == [""]
    assert capsys.readouterr().out.endswith("Account paper-ann has no stop of its own.\n")
    assert "RESUMED" not in folder.states()
    with pytest.raises(SystemExit):
        main(["resume", "--account", " "])


@pytest.mark.slow
def test_one_account_too_is_resumed_by_the_passphrase_alone(folder: TradingFolder) -> None:
    folder.approver()
    folder.stop("too dear", "paper-ann")

    refused = Typist("resume", "--account", "paper-ann").answers("stay stopped): ", "")

    assert refused.leaves() == 1
    assert folder.held() == ["paper-ann"]


def test_a_file_stops_and_resume_takes_it_away(folder: TradingFolder, capsys: Output) -> None:
    folder.do(lambda store: HostLedger(store, "a server").stopped())
    (folder.path / STOP_FILE).touch()
    assert not claims(folder, 1)

    assert main(["resume"]) == 0

    assert claims(folder, 1)
    assert f"the file {STOP_FILE}" in capsys.readouterr().out


def test_without_a_folder_the_setting_is_named(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MCP_BINANCE_TRADING_DIR", "HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)

    assert main(["stop"]) == 2
    assert "MCP_BINANCE_TRADING_DIR" in capsys.readouterr().err
