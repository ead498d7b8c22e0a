"""`setup --trading` at a terminal: shown before it is written, nothing replaced unasked, and a passphrase unseen."""

import io
import json
import re
import stat
import sys
from pathlib import Path

import pytest

from cli.trading.trading_folder import PASSPHRASE, TradingFolder
from cli.trading.typist import Typist
from mcp_binance_server.cli.main import main
from mcp_binance_server.trading.approvals import APPROVER_FILE, opened_public
from mcp_binance_server.trading.judgement.policy import read_policy
from mcp_binance_server.trading.policy_file import policy_at

WRITE = "Write this? [y/N] "
OWN = '# mine\n[limits]\nper_order = "7"\n\n[confirm]  # whom to ask\nask = "always"\n'


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a terminal, at which nobody is asked for a passphrase."""
    monkeypatch.setattr("mcp_binance_server.cli.trading.passphrase.TERMINAL", "/dev/null")


def files(folder: TradingFolder) -> dict[str, bytes]:
    found = [*folder.policy.parent.iterdir(), *(folder.path.iterdir() if folder.path.exists() else ())]
    return {each.name: each.read_bytes() for each in found}


@pytest.mark.slow
def test_limits_for_paper_and_an_approver_are_shown_agreed_to_and_written(folder: TradingFolder) -> None:
    typist = Typist("setup", "--trading").answers(WRITE, "y")
    typist.answers("New passphrase: ", PASSPHRASE).answers("Repeat it: ", PASSPHRASE)

    code = typist.leaves()

    key, policy = folder.path / APPROVER_FILE, policy_at(folder.policy)
    assert code == 0
    assert {stat.S_IMODE(each.stat().st_mode) for each in (key, folder.policy)} == {0o600}
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert policy.confirm.approver == opened_public(key.read_bytes(), PASSPHRASE)
    assert (policy.way("paper", 100_000), policy.way("live", 100_000)) == ("policy", "apart")
    assert policy.lacks_for_live() == ("symbols", "per_order", "per_day", "daily_loss")
    shown, _, after = typist.seen.partition(WRITE)
    assert f'+approver = "{policy.confirm.approver}"' in shown
    assert "+# [keys." in shown
    assert "MCP_BINANCE_TRADING=paper" in after
    assert "CaNaRy" not in typist.seen
    text = re.sub(r"(?m)^# (?=[a-z_]+ = |\[)", "", folder.policy.read_text(encoding="utf-8"))
    live = read_policy(text.encode())  # what a person has who takes the # away
    assert (live.lacks_for_live(), [each.mode for each in live.keys.values()]) == ((), ["live"])


@pytest.mark.slow
def test_limits_of_ones_own_are_kept_but_for_the_approver_and_a_client_trades_on_paper(
    folder: TradingFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder.policy.write_text(OWN, encoding="utf-8")
    typist = Typist("setup", "--trading", "--client", "cursor", "--no-keys").answers(WRITE, "y")
    typist.answers("New passphrase: ", PASSPHRASE).answers("Repeat it: ", PASSPHRASE).answers(WRITE, "y")

    code = typist.leaves()

    policy = policy_at(folder.policy)
    written = folder.policy.read_text(encoding="utf-8")
    (kept,) = folder.policy.parent.glob("trading.toml.*.bak")
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["binance"]
    assert code == 0
    assert written.replace(f'\napprover = "{policy.confirm.approver}"', "") == OWN
    assert policy.confirm.approver == opened_public((folder.path / APPROVER_FILE).read_bytes(), PASSPHRASE)
    assert kept.read_text(encoding="utf-8") == OWN
    assert entry["env"]["MCP_BINANCE_TRADING"] == "paper"


@pytest.mark.slow
def test_a_key_that_is_there_is_named_only_by_who_can_open_it(folder: TradingFolder) -> None:
    made = folder.approver()
    folder.policy.unlink()
    before = files(folder)

    wrong = Typist("setup", "--trading").answers("approver's passphrase: ", "wrong")
    refused = wrong.leaves()
    between = files(folder)
    right = Typist("setup", "--trading").answers("approver's passphrase: ", PASSPHRASE).answers(WRITE, "yes").leaves()

    assert (refused, between == before, "Wrong passphrase" in wrong.seen) == (1, True, True)
    assert (right, policy_at(folder.policy).confirm.approver) == (0, made.public)
    assert (folder.path / APPROVER_FILE).read_bytes() == made.sealed


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("text", "answer", "code", "told"),
    [
        (None, "n\n", 1, "Nothing was written."),
        (None, "", 1, "Nothing was written."),
        (OWN, "\n", 1, "Nothing was written."),
        ("nonsense", "y\n", 1, "not TOML"),
        ("[limits]\nper_ordre = 1\n", "y\n", 1, "did you mean per_order?"),
        ('confirm = { ask = "always" }\n', "y\n", 1, "yourself: approver = "),
        ('[confirm]\napprover = "MCow"\n', "y\n", 1, "its key is not in"),
    ],
)
def test_without_a_yes_to_a_file_that_can_be_used_nothing_is_written(  # noqa: PLR0917 - fixtures
    text: str | None,
    answer: str,
    code: int,
    told: str,
    folder: TradingFolder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if text is not None:
        folder.policy.write_text(text, encoding="utf-8")
    before = files(folder)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))

    ended = main(["setup", "--trading"])

    said = capsys.readouterr()
    assert (ended, files(folder) == before) == (code, True)
    assert told in said.out + said.err


@pytest.mark.usefixtures("terminal")
def test_run_again_it_changes_nothing_and_asks_nothing(
    folder: TradingFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.approver()
    before = files(folder)

    assert main(["setup", "--trading"]) == 0

    assert files(folder) == before
    assert "is already up to date" in capsys.readouterr().out


def test_without_a_terminal_it_shows_and_writes_nothing(
    folder: TradingFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mcp_binance_server.cli.trading.passphrase.TERMINAL", "/nonexistent")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSPHRASE}\n" * 2))

    refused, shown = main(["setup", "--trading", "--yes"]), main(["setup", "--trading", "--dry-run"])

    said = capsys.readouterr()
    assert (refused, "entered at a terminal" in said.err) == (1, True)
    assert (shown, '+approver = "' in said.out) == (0, True)
    assert files(folder) == {}
