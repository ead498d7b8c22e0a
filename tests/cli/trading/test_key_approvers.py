"""Approvers of single keys: each says yes to the orders of its own key, and to nobody else's."""

import stat
from pathlib import Path

import pytest

from cli.trading.served_page import Hand, served_page
from cli.trading.trading_folder import PASSPHRASE, TradingFolder
from cli.trading.typist import Typist
from mcp_binance_server.cli.main import main
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.trading.approvals import APPROVER_FILE, fingerprint, is_approved, new_approver, opened_public
from mcp_binance_server.trading.journal.records import NewIntent
from support.process import Process

QUESTION = "Passphrase (Enter: no): "
ALICE, BOB = "k_alice", "k_bob"
Output = pytest.CaptureFixture[str]


def waits(folder: TradingFolder, account: str, number: int = 1) -> NewIntent:
    return folder.waits(number, account=account, mode="practice", network="testnet")


def agreed(folder: TradingFolder, public: str, new: NewIntent) -> bool:
    signature = folder.signature(new)
    return signature is not None and is_approved(public, new.terms, new.preview_id, signature, SystemClock().now_ms())


def test_an_order_is_signed_by_the_approver_of_its_key_and_those_of_others_are_not(
    folder: TradingFolder, capsys: Output
) -> None:
    alice, other = folder.approver(), new_approver("another passphrase")
    folder.approvers(other.public, k_alice=alice.public)
    of_alice, of_bob = waits(folder, ALICE), waits(folder, BOB, 2)

    done = Typist("approve", of_alice.preview_id).answers(QUESTION, PASSPHRASE).leaves()
    refused = main(["approve", of_bob.preview_id])
    no_page = main(["approve", "--page", "--print-address", of_bob.preview_id])

    assert (done, agreed(folder, alice.public, of_alice)) == (0, True)
    assert (refused, no_page, folder.signature(of_bob)) == (1, 1, None)
    told = " ".join(capsys.readouterr().err.split())
    assert told.count("is not the key that trading.toml names as the approver of account k_bob") == 2
    assert told.count(f"its fingerprint is {fingerprint(alice.public)}, not {fingerprint(other.public)}") == 2


def test_a_key_in_another_file_signs_the_orders_of_its_account(folder: TradingFolder, tmp_path: Path) -> None:
    common, alice = folder.approver(), new_approver("another passphrase")
    folder.approvers(common.public, k_alice=alice.public)
    file = tmp_path / "alice.pem"
    file.write_bytes(alice.sealed)
    of_alice, of_bob = waits(folder, ALICE), waits(folder, BOB, 2)

    done = Typist("approve", "--approver", str(file), of_alice.preview_id)
    of_other = main(["approve", "--approver", str(file), of_bob.preview_id])
    nowhere = main(["approve", "--approver", str(tmp_path / "nobody.pem"), of_bob.preview_id])

    assert done.answers(QUESTION, "another passphrase").leaves() == 0
    assert agreed(folder, alice.public, of_alice)
    assert (of_other, nowhere, folder.signature(of_bob)) == (1, 1, None)


def test_the_page_takes_a_key_in_another_file(folder: TradingFolder, tmp_path: Path) -> None:
    common, alice = folder.approver(), new_approver("another passphrase")
    folder.approvers(common.public, k_alice=alice.public)
    file = tmp_path / "alice.pem"
    file.write_bytes(alice.sealed)
    of_alice = waits(folder, ALICE)
    command = ("approve", "--page", "--approver", str(file))

    with Process(*command, environment=folder.environment(), warm=True) as process:
        hand = Hand.of(process.line().decode())
        hand.get()
        told = hand.post("approve", "another passphrase")
        process.close_input()
        process.wait()

    assert (told.status, agreed(folder, alice.public, of_alice)) == (200, True)


def test_a_key_is_made_in_another_file_for_its_owner_alone(
    folder: TradingFolder, tmp_path: Path, capsys: Output
) -> None:
    file = tmp_path / "keys" / "alice.pem"
    typist = Typist("approve", "--new", "--approver", str(file))

    code = typist.answers("New passphrase: ", PASSPHRASE).answers("Repeat it: ", PASSPHRASE).leaves()

    public = opened_public(file.read_bytes(), PASSPHRASE)
    assert (code, stat.S_IMODE(file.stat().st_mode)) == (0, 0o600)
    assert public is not None
    assert f'approver = "{public}"' in typist.seen
    assert fingerprint(public) in typist.seen
    assert not (folder.path / APPROVER_FILE).exists()
    assert main(["approve", "--new", "--approver", str(file)]) == 1
    assert "An approver exists already" in capsys.readouterr().err


def test_orders_of_several_accounts_are_listed_with_them(folder: TradingFolder, capsys: Output) -> None:
    waits(folder, ALICE, 1)
    waits(folder, ALICE, 2)
    main(["approve"])
    of_one = capsys.readouterr().out
    waits(folder, BOB, 3)
    main(["approve"])
    of_both = capsys.readouterr().out

    assert "account" not in of_one
    assert [of_both.count(f"    account {each}\n") for each in (ALICE, BOB)] == [2, 1]


def test_the_page_takes_the_approver_of_its_orders_key_alone(folder: TradingFolder) -> None:
    alice, other = folder.approver(), new_approver("another passphrase")
    folder.approvers(other.public, k_alice=alice.public)
    of_alice, of_bob = waits(folder, ALICE), waits(folder, BOB, 2)

    told: list[int] = []
    for each in (of_alice, of_bob):
        with served_page(folder, each) as page:
            page.hand.get()
            told.append(page.hand.post("approve", PASSPHRASE).status)

    assert told == [200, 503]
    assert (agreed(folder, alice.public, of_alice), folder.signature(of_bob)) == (True, None)


def test_an_order_whose_key_has_no_approver_is_not_approved(folder: TradingFolder, capsys: Output) -> None:
    folder.approvers(None, k_alice=folder.approver().public)
    of_bob = waits(folder, BOB)

    assert main(["approve"]) == 1
    assert main(["approve", "--page", "--print-address"]) == 1

    assert capsys.readouterr().err.count("names no approver") == 2
    assert folder.signature(of_bob) is None


def test_where_single_keys_have_approvers_resume_asks_for_a_passphrase(folder: TradingFolder) -> None:
    folder.approvers(None, k_alice=folder.approver().public)
    main(["stop", "for a reason"])

    refused = Typist("resume").answers("stay stopped): ", "").leaves()
    still = folder.stopped()
    done = Typist("resume").answers("stay stopped): ", PASSPHRASE).leaves()

    assert (refused, still is None, done, folder.stopped()) == (1, False, 0, None)
