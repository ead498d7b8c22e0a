"""Each thing that can be wrong with trading is put wrong: its own rung names it, and nothing else turns red."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from cli.trading.trading_folder import TradingFolder
from mcp_binance_server.cli.doctor.examination import LADDER, TRADING
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.trading.approvals import APPROVER_FILE
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.store import Store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import Policy
from support.exchange_socket import ServedExchange
from support.patient import Patient, rung, statuses
from support.terms import intent

PAPER = {"MCP_BINANCE_TRADING": "paper"}
FILE_SYSTEM = "mcp_binance_server.cli.doctor.journal.file_system"


@dataclass(frozen=True)
class Machine:
    """The exchange, the trading folder, the limits and the environment of the one who is examined."""

    served: ServedExchange
    folder: TradingFolder
    patch: pytest.MonkeyPatch

    def limit(self, text: str) -> None:
        self.folder.policy.write_text(text, encoding="utf-8")
        self.folder.policy.chmod(0o600)


@pytest.fixture
def machine(served: ServedExchange, patient: Patient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    config = tmp_path / ".config" / "mcp-binance-server"
    config.mkdir(parents=True)
    patient.environment["MCP_BINANCE_TRADING_DIR"] = str(tmp_path / "trading")
    made = Machine(served, TradingFolder(tmp_path / "trading", config / "trading.toml"), monkeypatch)
    lies_on("ext4", made)
    return made


def lies_on(kind: str, machine: Machine) -> None:
    def told(_path: Path) -> str:
        return kind

    machine.patch.setattr(FILE_SYSTEM, told)


def in_the_way(machine: Machine) -> None:
    machine.folder.path.write_text("a file where the folder should be")


def written_by_others(machine: Machine) -> None:
    machine.limit("")
    machine.folder.policy.chmod(0o666)


def changed(machine: Machine) -> None:
    machine.folder.placed()
    machine.folder.do(lambda store: store.write(lambda rows: rows.execute("UPDATE event SET facts='{}' WHERE seq=1")))


def left_unknown(machine: Machine) -> None:
    async def work(store: Store) -> None:
        ledger, new, now_ms = HostLedger(store, "a dead server"), intent(), SystemClock().now_ms()
        await ledger.claim(new, charges(new.terms, Policy(), new.way), now_ms)
        await ledger.mark_sent(new.preview_id, now_ms)
        await ledger.move(new.preview_id, "UNKNOWN", {}, now_ms)

    machine.folder.do(work)


def stopped(machine: Machine) -> None:
    now_ms = SystemClock().now_ms()
    machine.folder.do(lambda store: HostLedger(store, "me").stop("the market is mad", "me", now_ms))


def lost_approver(machine: Machine) -> None:
    machine.folder.approver()
    (machine.folder.path / APPROVER_FILE).unlink()


def open_approver(machine: Machine) -> None:
    machine.folder.approver()
    (machine.folder.path / APPROVER_FILE).write_text("no key at all")


def nobody_approves(machine: Machine) -> None:
    machine.limit('[confirm]\nask = "always"\nclient_per_order = "50"\n')


def nothing(_machine: Machine) -> None:
    """Leave the machine as it is."""


@dataclass(frozen=True)
class Planted:
    """What is put wrong, on which rung it must be found, and words of what is seen, of the fix and of the command."""

    rung: str
    seen: str
    fix: str
    command: str
    status: str = "problem"
    cause: Callable[[Machine], None] = nothing
    environment: dict[str, str] = field(default_factory=dict[str, str])


ON_PAPER = {
    "no live market": Planted(
        "trading", "needs a live market", "agree", "export MCP_BINANCE_TRADING=off",
        environment={"MCP_BINANCE_ORDERBOOK_ANALYTICS": "false"},
    ),
    "limits that others can write": Planted(
        "policy", "others can change your limits", "Correct what is named", "chmod go-w '~/.config",
        cause=written_by_others,
    ),
    "a limit that is none": Planted(
        "policy", "limits.per_ordr: no such line; did you mean per_order?", "Correct what is named", "",
        cause=lambda machine: machine.limit('[limits]\nper_ordr = "5"\n'),
    ),
    "a folder that cannot be written": Planted(
        "journal", "~/trading cannot be written", "MCP_BINANCE_TRADING_DIR", "ls -ld", cause=in_the_way
    ),
    "a journal in memory": Planted(
        "journal", "lies in memory (tmpfs)", "a volume", "export MCP_BINANCE_TRADING_DIR=/var", "warning",
        partial(lies_on, "tmpfs"),
    ),
    "a journal in a container": Planted(
        "journal", "lies in the layer of a container", "a volume", "export MCP_BINANCE_TRADING_DIR=/var", "warning",
        partial(lies_on, "overlay"),
    ),
    "a changed past": Planted(
        "journal", "event 1 of", "Compare your orders", "journal --verify", cause=changed
    ),
    "an order without an end": Planted(
        "journal", "has no known end (UNKNOWN)", "Do not place it again", "journal", "warning", left_unknown
    ),
    "a stop": Planted("stop", "the market is mad", "then", "resume", "warning", stopped),
    "nobody who approves": Planted(
        "approver", "above 50.00 USDT, is refused", "Make a key that approves", "approve --new", "warning",
        nobody_approves,
    ),
    "an approver that is gone": Planted(
        "approver", "No such file", "Put the file back", "approve --new", cause=lost_approver
    ),
    "an approver that is none": Planted(
        "approver", "is no key that a passphrase opens", "Put the file back", "approve --new", cause=open_approver
    ),
}  # fmt: skip
PLANTED = {name: replace(each, environment={**PAPER, **each.environment}) for name, each in ON_PAPER.items()}


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_wrong_with_trading_is_named_on_its_rung(name: str, machine: Machine, patient: Patient) -> None:
    planted = PLANTED[name]
    planted.cause(machine)

    report = patient.report(**planted.environment)

    found = rung(report, planted.rung)
    assert found["status"] == planted.status, report
    assert planted.seen in found["seen"]
    assert planted.fix in found["fix"]
    assert planted.command in found["try"]
    assert found["why"]
    assert not any("\n" in text for text in found.values() if text)
    assert [each["id"] for each in report["rungs"] if each["status"] in ("problem", "warning")] == [planted.rung]


def test_trading_that_is_off_is_not_spoken_of(patient: Patient) -> None:
    report = patient.report()

    assert [each["id"] for each in report["rungs"]] == [each.id for each in LADDER]


def test_paper_in_good_health(machine: Machine, patient: Patient) -> None:
    before = [*machine.folder.path.parent.iterdir()]

    report = patient.report(**PAPER)

    found = statuses(report)
    assert {name: found[name] for name in (each.id for each in TRADING)} == {
        "trading": "ok", "policy": "ok", "journal": "ok", "approver": "off", "trade_rights": "off",
        "open_orders": "off", "stop": "ok", "separation": "off", "asking": "off",
    }  # fmt: skip
    assert report["healthy"] is True
    assert [*machine.folder.path.parent.iterdir()] == before  # it looks, and makes nothing


def test_a_journal_is_looked_at_and_left_as_it_is(machine: Machine, patient: Patient) -> None:
    machine.folder.placed()
    before = {path.name: path.read_bytes() for path in machine.folder.path.iterdir()}

    found = rung(patient.report(**PAPER), "journal")

    assert found["status"] == "ok"
    assert found["seen"].startswith("1 order in ~/trading/trading.db; a commit takes ")
    assert {path.name: path.read_bytes() for path in machine.folder.path.iterdir()} == before


def test_a_past_that_was_accepted_is_no_problem_any_more(machine: Machine, patient: Patient) -> None:
    changed(machine)
    machine.folder.do(lambda store: HostLedger(store, "me").resume("me", SystemClock().now_ms()))

    found = rung(patient.report(**PAPER), "journal")

    assert (found["status"], found["why"]) == ("warning", "A person has accepted it as it is")


def test_people_read_of_trading_within_eighty_columns(machine: Machine, patient: Patient) -> None:
    left_unknown(machine)
    nobody_approves(machine)

    code, said = patient.lines(**PAPER)

    assert code == 0
    assert max(map(len, said.splitlines())) <= 80
    assert "Journal" in said
    assert "do not place it again" in " ".join(said.lower().split())
