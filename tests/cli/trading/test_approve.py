"""`approve`: a person reads the whole order, types what nobody sees, and has agreed to that order alone."""

import stat
import subprocess
import sys
import tomllib
from dataclasses import replace
from decimal import Decimal

import pytest

from cli.trading.served_page import served_page
from cli.trading.trading_folder import PASSPHRASE, TradingFolder
from cli.trading.typist import Typist
from mcp_binance_server.cli.main import main
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.trading.approvals import (
    APPROVER_FILE,
    PUBLIC_PART,
    fingerprint,
    is_approved,
    is_public_key,
    new_approver,
)
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.policy_file import policy_at
from support.process import COMMAND

QUESTION = "Passphrase (Enter: no): "
Output = pytest.CaptureFixture[str]


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no terminal, whoever runs the tests."""
    monkeypatch.setattr("mcp_binance_server.cli.trading.passphrase.TERMINAL", "/nonexistent")


def test_a_right_passphrase_signs_exactly_the_order_that_was_shown(folder: TradingFolder) -> None:
    approver, new = folder.approver(), folder.waits()
    typist = Typist("approve")

    code = typist.answers(QUESTION, PASSPHRASE).leaves()

    signature, now_ms = folder.signature(new), SystemClock().now_ms()
    assert code == 0
    assert signature is not None
    assert is_approved(approver.public, new.terms, new.preview_id, signature, now_ms)
    other = replace(new.terms, quantity=new.terms.quantity * 10)
    assert not is_approved(approver.public, other, new.preview_id, signature, now_ms)
    assert "APPROVED" in folder.states()
    assert "CaNaRy" not in typist.seen
    for fact in ("PAPER", "BUY 0.001 BTCUSDT", "60,000 (limit)", "60 (maximum cost", new.preview_id):
        assert fact in typist.seen
    assert "within " in typist.seen


def test_the_fifth_wrong_passphrase_stops_trading_and_a_resume_begins_to_count_anew(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()
    for _ in range(2):
        Typist("approve").answers(QUESTION, "wrong").answers(QUESTION, "").leaves()
    typist = Typist("approve", new.preview_id)
    for _ in range(3):
        typist.answers(QUESTION, "wrong again")

    code = typist.leaves()

    stopped = folder.stopped()
    assert (code, folder.signature(new)) == (1, None)
    assert stopped is not None
    assert (stopped.why, stopped.account) == ("5 wrong passphrases", "")
    assert "trading is stopped" in typist.seen
    assert Typist("resume").answers("stay stopped): ", PASSPHRASE).leaves() == 0
    again = Typist("approve").answers(QUESTION, "wrong").answers(QUESTION, "")
    assert again.leaves() == 1
    assert "(1 of 5;" in again.seen
    assert folder.stopped() is None


@pytest.mark.usefixtures("nowhere")
def test_only_a_stop_that_would_hold_the_order_is_told(folder: TradingFolder, capsys: Output) -> None:
    folder.waits(account="paper-ann")
    folder.stop("odd answers", "k-bob")
    main(["approve"])
    free = capsys.readouterr().out
    folder.stop("too dear", "paper-ann")
    folder.stop("a flood")
    main(["approve"])
    held = capsys.readouterr().out

    assert "stopped" not in free
    assert held.startswith("Trading is stopped for all accounts since ")
    assert "Trading is stopped for account paper-ann since " in held
    assert "odd answers" not in held


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("mode", "network", "rest_url", "shown"),
    [
        ("live", "mainnet", None, "LIVE (api.binance.com), REAL MONEY: "),
        ("live", "mainnet", "https://api-gcp.binance.com", "LIVE (api-gcp.binance.com), REAL MONEY: "),
        ("practice", "testnet", None, "PRACTICE (testnet), no real money: "),
    ],
)
def test_an_order_is_shown_with_its_host_and_so_is_the_list_of_them(  # noqa: PLR0917 - fixtures
    mode: str,
    network: str,
    rest_url: str | None,
    shown: str,
    folder: TradingFolder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Output,
) -> None:
    if rest_url is not None:
        monkeypatch.setenv("BINANCE_REST_URL", rest_url)
    folder.waits(mode=mode, network=network)
    main(["approve"])
    one = capsys.readouterr().out
    folder.waits(2, mode=mode, network=network)
    main(["approve"])
    both = capsys.readouterr().out

    assert one.startswith(f"{shown}this order waits for your approval.")
    assert both.count(f"  {shown}BUY 0.001 BTCUSDT") == 2


def test_no_answer_is_a_no(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()

    assert Typist("approve").answers(QUESTION, "").leaves() == 1

    assert folder.signature(new) is None
    assert "WRONG_PASSPHRASE" not in folder.states()


def test_the_passphrase_is_not_taken_from_a_pipe(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()

    done = subprocess.run(
        [*COMMAND, "approve"], input=f"{PASSPHRASE}\n", capture_output=True, text=True, timeout=60, check=False,
        start_new_session=True,
    )  # fmt: skip

    assert (done.returncode, folder.signature(new)) == (1, None)
    assert "entered at a terminal" in done.stderr


@pytest.mark.usefixtures("nowhere")
def test_what_waits_is_listed_and_one_is_shown_in_full(folder: TradingFolder, capsys: Output) -> None:
    folder.approver()
    first = folder.waits(1)
    market = folder.waits(2, kind="MARKET", time_in_force="IOC", side="SELL", quantity=Decimal("1234.5"))
    stop = folder.waits(3, kind="STOP_LOSS_LIMIT", stop_price=Decimal("59000.50"), side="SELL")

    assert main(["approve"]) == 0
    listed = capsys.readouterr().out
    shown: dict[object, str] = {}
    for each in (market, stop):
        assert main(["approve", each.client_order_id]) == 1
        shown[each] = capsys.readouterr().out

    assert all(each.preview_id in listed for each in (first, market, stop))
    assert "SELL 1,234.5 BTCUSDT MARKET, at least 60,000" in listed
    assert "worst accepted price" in shown[market]
    assert "fills at once; the rest expires" in shown[market]
    assert "59,000.5 (trigger price)" in shown[stop]
    assert "NOT the current trading.toml" in shown[stop]
    assert max(map(len, (listed + shown[market] + shown[stop]).splitlines())) <= 80


@pytest.mark.usefixtures("nowhere")
def test_exits_and_what_is_replaced_are_shown_before_anybody_signs(folder: TradingFolder, capsys: Output) -> None:
    folder.approver()
    profit, stop, limit = Price(Decimal(66_000)), Price(Decimal(58_000)), Price(Decimal("57_700.5"))
    old = "mbp-abcdefghijabcdefghij"
    bracket = folder.waits(1, exits=Exits("OTOCO", Quantity(Decimal("0.00099")), profit, stop, limit))
    received = folder.waits(2, exits=Exits("OPO", Quantity(Decimal("0.001")), stop=stop, stop_limit=limit))
    pair = folder.waits(
        3, kind="OCO", side="SELL", price=profit, exits=Exits("OCO", Quantity(Decimal("0.001")), profit, stop, limit)
    )
    instead = folder.waits(4, replaces=old)
    smaller = folder.waits(5, replaces=old, amends=True)

    assert main(["approve"]) == 0
    listed = capsys.readouterr().out
    shown: list[str] = []
    for each in (bracket, received, pair, instead, smaller):
        assert main(["approve", each.preview_id]) == 1
        said = capsys.readouterr().out
        shown.append(" ".join(said.split()))
        listed += said
    with served_page(folder, bracket) as page:
        told = page.hand.get().text

    below = "at 58,000, limit 57,700.5"
    when = ", when the entry is filled"
    assert f"profit SELL 0.00099 at 66,000{when} stop SELL 0.00099 {below}{when}" in shown[0]
    assert "unprotected until it is filled completely" in shown[0]
    assert f"stop SELL the received amount, at most 0.001, {below}, when the entry is filled" in shown[1]
    assert (
        f"type OCO, two orders, one cancels the other profit SELL 0.001 at 66,000 stop SELL 0.001 {below}" in shown[2]
    )
    assert "57.7005 (minimum proceeds" in shown[2]
    assert f"replaces {old}, cancelled first; if the new order is then rejected, no order is open" in shown[3]
    assert f"replaces {old}: it is only reduced, and keeps its place in the queue" in shown[4]
    assert "<dt>profit</dt><dd>SELL 0.00099 at 66,000, when the entry is filled</dd>" in told
    assert [listed.count(each) for each in ("with exits", "replacing another", "reduce an")] == [2, 1, 1]
    assert max(map(len, listed.splitlines())) <= 80


def test_nothing_waits_or_not_that(folder: TradingFolder, capsys: Output) -> None:
    assert main(["approve"]) == 0
    assert capsys.readouterr().out == "No orders are waiting for approval.\n"
    folder.waits(1, expires_ms=SystemClock().now_ms() - 1)
    assert main(["approve"]) == 0
    folder.waits(2)
    assert main(["approve", "another"]) == 1
    assert "No waiting order has that ID" in capsys.readouterr().err


def test_what_is_approved_is_not_asked_for_again(folder: TradingFolder, capsys: Output) -> None:
    folder.approver()
    folder.waits()
    Typist("approve").answers(QUESTION, PASSPHRASE).leaves()

    assert main(["approve"]) == 0
    assert "Already approved" in capsys.readouterr().out


def test_without_an_approver_it_is_said_how_to_make_one(folder: TradingFolder, capsys: Output) -> None:
    folder.waits()

    assert main(["approve"]) == 1
    assert "approve --new" in capsys.readouterr().err


@pytest.mark.usefixtures("nowhere")
def test_a_key_that_the_policy_does_not_name_is_refused_before_anybody_is_asked(
    folder: TradingFolder, capsys: Output
) -> None:
    right, other = folder.approver(), new_approver(PASSPHRASE)
    new = folder.waits()
    (folder.path / APPROVER_FILE).write_bytes(other.sealed)

    assert main(["approve"]) == 1

    told = " ".join(capsys.readouterr().err.split())
    assert "is not the key that trading.toml names as the approver of account paper" in told
    assert f"its fingerprint is {fingerprint(other.public)}, not {fingerprint(right.public)}." in told
    assert "Nothing was signed" in told
    assert folder.signature(new) is None


@pytest.mark.parametrize("beside", ["nothing, as it was made before", "the public half of another"])
def test_whatever_its_file_says_a_key_that_the_policy_does_not_name_approves_nothing(
    beside: str, folder: TradingFolder
) -> None:
    approver, new = folder.approver(), folder.waits()
    private, of_other = new_approver(PASSPHRASE).sealed.split(PUBLIC_PART)
    of_right = approver.sealed.split(PUBLIC_PART)[1]
    assert of_right != of_other
    lies = private + PUBLIC_PART + of_right
    (folder.path / APPROVER_FILE).write_bytes(lies if "another" in beside else private)

    typist = Typist("approve").answers(QUESTION, PASSPHRASE)

    assert typist.leaves() == 1
    assert "not the key that trading.toml names" in " ".join(typist.seen.split())
    assert folder.signature(new) is None


def test_a_new_approver_is_sealed_for_its_owner_and_never_replaced(folder: TradingFolder, capsys: Output) -> None:
    typist = Typist("approve", "--new").answers("New passphrase: ", PASSPHRASE).answers("Repeat it: ", PASSPHRASE)

    code = typist.leaves()

    file = folder.path / APPROVER_FILE
    (line,) = [each for each in typist.seen.splitlines() if each.startswith("approver = ")]
    sealed = file.read_bytes()
    assert code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"ENCRYPTED PRIVATE KEY" in sealed
    assert is_public_key(tomllib.loads(line)["approver"])
    folder.policy.write_text(f"[confirm]\n{line}\n", encoding="utf-8")
    assert policy_at(folder.policy).confirm.approver == tomllib.loads(line)["approver"]
    new = folder.waits()
    assert Typist("approve").answers(QUESTION, PASSPHRASE).leaves() == 0
    assert folder.signature(new)
    assert "CaNaRy" not in typist.seen
    assert main(["approve", "--new"]) == 1
    assert "An approver exists already" in capsys.readouterr().err
    assert file.read_bytes() == sealed


@pytest.mark.parametrize(
    ("first", "second", "why"), [("short", None, "at least 12"), (PASSPHRASE, "x", "passphrases differ")]
)
def test_a_passphrase_that_is_short_or_mistyped_makes_nothing(
    first: str, second: str | None, why: str, folder: TradingFolder
) -> None:
    typist = Typist("approve", "--new").answers("New passphrase: ", first)
    if second is not None:
        typist.answers("Repeat it: ", second)

    assert typist.leaves() == 1

    assert why in typist.seen
    assert not (folder.path / APPROVER_FILE).exists()


def test_asking_for_help_of_it_loads_no_cryptography() -> None:
    code = "import sys; from mcp_binance_server.cli.main import parser; parser(); print('cryptography' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "False\n"
