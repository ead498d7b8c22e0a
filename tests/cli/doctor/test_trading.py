"""Each thing that can be wrong with trading is put wrong: its own rung names it, and nothing else turns red."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from binance_simulator.account import KeyRights
from binance_simulator.faults import Fault
from cli.trading.trading_folder import TradingFolder
from mcp_binance_server.cli.doctor.examination import LADDER, TRADING
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import key_id
from mcp_binance_server.trading.approvals import APPROVER_FILE, fingerprint, new_approver
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.store import Store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import Policy
from support.exchange_socket import ServedExchange, served_exchange
from support.patient import Patient, rung, statuses
from support.terms import intent

PAPER = {"MCP_BINANCE_TRADING": "paper"}
PRACTICE = {"MCP_BINANCE_TRADING": "practice", "BINANCE_NETWORK": "testnet"}
LIVE = {"MCP_BINANCE_TRADING": "live", "BINANCE_NETWORK": "mainnet"}
LIMITS = {"symbols": '["BTCUSDT"]', "per_order": '"50"', "per_day": '"100"', "daily_loss": '"20"'}
FILE_SYSTEM = "mcp_binance_server.cli.doctor.journal.file_system"


@dataclass(frozen=True)
class Machine:
    """The exchange, the trading folder, the limits and the environment of the one who is examined."""

    served: ServedExchange
    folder: TradingFolder
    patch: pytest.MonkeyPatch

    @property
    def key_id(self) -> str:
        return key_id(self.served.exchange.account.api_key)

    def goes_live(self, *, lacks: str = "", key: str = "") -> None:
        """Set up all that live needs: rights, limits, the key's id, and somebody who approves."""
        public = self.folder.approver().public
        (self.folder.path / APPROVER_FILE).chmod(0o600)
        lines = [f"{name} = {value}" for name, value in LIMITS.items() if name != lacks]
        named = f'[keys.{key or self.key_id}]\nmode = "live"\n'
        self.limit("\n".join(["[limits]", *lines, "[confirm]", f'approver = "{public}"', named]))

    def limit(self, text: str) -> None:
        self.folder.policy.write_text(text, encoding="utf-8")
        self.folder.policy.chmod(0o600)


@pytest.fixture
def machine(served: ServedExchange, patient: Patient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    config = tmp_path / ".config" / "mcp-binance-server"
    config.mkdir(parents=True)
    patient.environment["MCP_BINANCE_TRADING_DIR"] = str(tmp_path / "trading")
    patient.environment["CHART_IMG_API_KEY"] = ""
    patient.environment["BINANCE_WS_API_URL"] = f"ws://{served.host}/ws-api/v3"
    made = Machine(served, TradingFolder(tmp_path / "trading", config / "trading.toml"), monkeypatch)
    lies_on("ext4", made)
    served.exchange.rights = KeyRights(trading=True)
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


def another_approver(machine: Machine) -> None:
    machine.folder.approver()
    (machine.folder.path / APPROVER_FILE).write_bytes(new_approver("another passphrase").sealed)


def nobody_approves(machine: Machine) -> None:
    machine.limit('[confirm]\nask = "always"\nclient_per_order = "50"\n')


def nothing(_machine: Machine) -> None:
    """Leave the machine as it is."""


def live(machine: Machine) -> None:
    machine.goes_live()


def without_limits(machine: Machine) -> None:
    machine.goes_live()
    machine.folder.policy.unlink()


def without_a_limit(machine: Machine) -> None:
    machine.goes_live(lacks="daily_loss")


def with_an_incomplete_second_key(machine: Machine) -> None:
    machine.goes_live(lacks="daily_loss")
    own, second = '\nlimits.daily_loss = "20"\n', '[keys.k-second]\nmode = "live"\n'
    machine.limit(machine.folder.policy.read_text(encoding="utf-8") + own + second)


def with_another_key(machine: Machine) -> None:
    machine.goes_live(key="k-aaaaaaaaaaaaaaaa")


def without_an_approver(machine: Machine) -> None:
    machine.goes_live()
    lines = machine.folder.policy.read_text(encoding="utf-8").splitlines()
    machine.limit("\n".join('client_per_order = "10"' if "approver" in each else each for each in lines))


def boxes(**ticked: bool) -> Callable[[Machine], None]:
    def cause(machine: Machine) -> None:
        machine.goes_live()
        machine.served.exchange.rights = KeyRights(**ticked)

    return cause


def other_boxes(**ticked: bool) -> Callable[[Machine], None]:
    """Tick boxes that the simulator's keys do not have."""

    def cause(machine: Machine) -> None:
        machine.goes_live()
        told = {"ipRestrict": True, "enableReading": True, "enableWithdrawals": False, "enableInternalTransfer": False}
        told |= {"permitsUniversalTransfer": False, "enableSpotAndMarginTrading": True, **ticked}
        answers(machine, "/sapi/*", json.dumps(told))

    return cause


def answers(machine: Machine, path: str, body: str) -> None:
    machine.served.exchange.faults.add(Fault(kind="status", path=path, times=None, status=200, body=body))


def stands_there(client_order_id: str) -> Callable[[Machine], None]:
    """Have an order stand at the exchange that this machine knows nothing of."""

    def cause(machine: Machine) -> None:
        made = {
            "symbol": "BTCUSDT", "orderId": 7, "orderListId": -1, "clientOrderId": client_order_id,
            "price": "60000.00", "origQty": "0.001", "executedQty": "0", "cummulativeQuoteQty": "0", "status": "NEW",
            "timeInForce": "GTC", "type": "LIMIT", "side": "BUY", "stopPrice": "0", "icebergQty": "0", "time": 1,
            "updateTime": 1, "isWorking": True, "workingTime": 1, "origQuoteOrderQty": "0",
        }  # fmt: skip
        answers(machine, "/api/v3/openOrders", json.dumps([made]))

    return cause


def open_here_alone(machine: Machine) -> None:
    async def work(store: Store) -> None:
        ledger, now_ms = HostLedger(store, "a dead server"), SystemClock().now_ms()
        new = intent(mode="practice", network="testnet", account=machine.key_id)
        await ledger.claim(new, charges(new.terms, Policy(), new.way), now_ms)
        await ledger.mark_sent(new.preview_id, now_ms)
        await ledger.move(new.preview_id, "ACKED", {}, now_ms)

    machine.folder.do(work)


def no_sockets(machine: Machine) -> None:
    machine.served.exchange.faults.add(Fault(kind="status", path="/ws-api/*", times=None, status=403))


def closed_account(machine: Machine) -> None:
    told: dict[str, object] = {
        "canTrade": False,
        "canWithdraw": True,
        "canDeposit": True,
        "updateTime": 1,
        "balances": [],
    }
    answers(machine, "/api/v3/account", json.dumps(told))


def untold_rights(machine: Machine) -> None:
    machine.goes_live()
    machine.served.exchange.faults.add(Fault(kind="status", path="/sapi/*", times=None, status=404, body="Not Found"))


def may_only_read(machine: Machine) -> None:
    machine.served.exchange.rights = KeyRights()


def skewed(machine: Machine) -> None:
    machine.served.exchange.skew_ms = -7_000


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
        "trading", "needs a live market", "Correct the trading settings", "export MCP_BINANCE_TRADING=off",
        environment={"MCP_BINANCE_ORDERBOOK_ANALYTICS": "false"},
    ),
    "limits that others can write": Planted(
        "policy", "other users can change your limits", "Correct the named line", "chmod go-w ~/.config",
        cause=written_by_others,
    ),
    "a limit that is none": Planted(
        "policy", "limits.per_ordr: unknown line; did you mean per_order?", "Correct the named line", "",
        cause=lambda machine: machine.limit('[limits]\nper_ordr = "5"\n'),
    ),
    "a folder that cannot be written": Planted(
        "journal", "~/trading cannot be written", "MCP_BINANCE_TRADING_DIR", "ls -ld", cause=in_the_way
    ),
    "a journal in memory": Planted(
        "journal", "is in memory (tmpfs)", "a volume", "export MCP_BINANCE_TRADING_DIR=/var", "warning",
        partial(lies_on, "tmpfs"),
    ),
    "a journal in a container": Planted(
        "journal", "is in a container layer", "a volume", "export MCP_BINANCE_TRADING_DIR=/var", "warning",
        partial(lies_on, "overlay"),
    ),
    "a changed past": Planted(
        "journal", "event 1 of", "Compare your orders", "journal --verify", cause=changed
    ),
    "an order without an end": Planted(
        "journal", "has an unknown outcome (UNKNOWN)", "Do not place it again", "journal", "warning", left_unknown
    ),
    "a stop": Planted("stop", "the market is mad", "then", "resume", "warning", stopped),
    "nobody who approves": Planted(
        "approver", "orders above 50.00 USDT, too large for a form, are refused", "Create an approver's key",
        "approve --new", "warning", nobody_approves,
    ),
    "an approver that is gone": Planted(
        "approver", "No such file", "Restore the file", "approve --new", cause=lost_approver
    ),
    "an approver that is another": Planted(
        "approver", "trading.toml names", "Restore the file", "approve --new", cause=another_approver
    ),
    "an approver that is none": Planted(
        "approver", "is not a key with a passphrase", "Restore the file", "approve --new", cause=open_approver
    ),
}  # fmt: skip
AT_BINANCE = {
    "practice where money is real": Planted(
        "trading", "practice needs testnet or demo", "Correct the trading settings", "export MCP_BINANCE_TRADING=off",
        environment={**PRACTICE, "BINANCE_NETWORK": "mainnet"},
    ),
    "live at the testnet": Planted(
        "trading", "live needs mainnet", "Correct the trading settings", "export MCP_BINANCE_TRADING=off",
        cause=live, environment={**LIVE, "BINANCE_NETWORK": "testnet"},
    ),
    "a mode that is none": Planted(
        "trading", "MCP_BINANCE_TRADING", "Correct the trading settings", "export MCP_BINANCE_TRADING=off",
        environment={"MCP_BINANCE_TRADING": "reel"},
    ),
    "practice without a key": Planted(
        "trading", "needs a key of BINANCE_NETWORK=testnet", "Correct the trading settings",
        "export MCP_BINANCE_TRADING=off",
        environment={**PRACTICE, "BINANCE_API_KEY": "", "BINANCE_SECRET_KEY": ""},
    ),
    "live without limits": Planted(
        "policy", "needs MCP_BINANCE_TRADING_POLICY", "Correct the named line", "",
        cause=without_limits, environment=LIVE,
    ),
    "a limit that live needs": Planted(
        "policy", "needs daily_loss below [limits]", "Correct the named line", "",
        cause=without_a_limit, environment=LIVE,
    ),
    "a limit that a second key needs": Planted(
        "policy", 'needs daily_loss below [keys."k-second".limits]', "Correct the named line", "",
        cause=with_an_incomplete_second_key, environment=LIVE,
    ),
    "limits for another key": Planted(
        "policy", "needs this key in MCP_BINANCE_TRADING_POLICY", "Correct the named line", "",
        cause=with_another_key, environment=LIVE,
    ),
    "nobody who approves with money": Planted(
        "approver", "orders above 10.00 USDT, too large for a form, are refused", "Create an approver's key",
        "approve --new", "warning", without_an_approver, LIVE,
    ),
    "a key that may not trade": Planted(
        "trade_rights", "'Enable Spot & Margin Trading' is not ticked", "Edit the key", "api-management",
        cause=boxes(trading=False), environment=LIVE,
    ),
    "an account that may not trade": Planted(
        "trade_rights", "this account may not trade", "Check the account", "testnet.binance.vision",
        cause=closed_account, environment=PRACTICE,
    ),
    "rights that nobody tells": Planted(
        "trade_rights", "Binance does not report the key's permissions", "Try again", "api-management",
        cause=untold_rights, environment=LIVE,
    ),
    "a key that can transfer": Planted(
        "trade_rights", "'Enable Internal Transfer' is ticked", "Edit the key", "api-management",
        cause=other_boxes(enableInternalTransfer=True), environment=LIVE,
    ),
    "a key for futures": Planted(
        "trade_rights", "'Enable Futures' is ticked", "Edit the key", "api-management", "warning",
        other_boxes(enableFutures=True), LIVE,
    ),
    "a key that can withdraw": Planted(
        "withdrawals", "THIS KEY CAN WITHDRAW YOUR MONEY", "untick", "api-management",
        cause=boxes(trading=True, withdrawals=True), environment=LIVE,
    ),
    "a key that may not trade at the testnet": Planted(
        "trial", "Binance refuses a test order for BTCUSDT", "right to trade", "testnet.binance.vision",
        cause=may_only_read, environment=PRACTICE,
    ),
    "no events of orders": Planted(
        "user_stream", "accepts no subscription", "Allow WebSockets", "BINANCE_WS_API_URL", "warning", no_sockets,
        PRACTICE,
    ),
    "an order of ours that nobody here knows": Planted(
        "open_orders", "order mbt-5w2q is open at the exchange", "takes it over", "journal", "warning",
        stands_there("mbt-5w2q"), PRACTICE,
    ),
    "an order that is open here alone": Planted(
        "open_orders", "is open in the journal, but not at the exchange", "which queries the outcome", "journal",
        "warning", open_here_alone, PRACTICE,
    ),
    "a clock that is wrong": Planted(
        "clock", "ahead of the exchange's clock", "Turn on clock synchronisation", "", "warning", skewed, PRACTICE
    ),
}  # fmt: skip
PLANTED = {
    **{name: replace(each, environment={**PAPER, **each.environment}) for name, each in ON_PAPER.items()},
    **AT_BINANCE,
}


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


def test_a_key_that_the_events_of_orders_do_not_take_is_named(machine: Machine, patient: Patient) -> None:
    with served_exchange(seed=11) as stranger:
        report = patient.report(**PRACTICE, BINANCE_WS_API_URL=f"ws://{stranger.host}/ws-api/v3")

    found = rung(report, "user_stream")
    assert (found["status"], report["problems"]) == ("problem", 1)
    assert "refuses the key for order events" in found["seen"]
    assert machine.served.exchange.requests


def test_without_an_address_for_events_orders_are_asked_for(machine: Machine, patient: Patient) -> None:
    report = patient.report(**PRACTICE, BINANCE_WS_API_URL="")

    assert (statuses(report)["user_stream"], report["healthy"]) == ("off", True)
    assert "orders are polled" in rung(report, "user_stream")["seen"]
    assert machine.served.exchange.requests


def test_orders_of_others_are_none_of_ours(machine: Machine, patient: Patient) -> None:
    stands_there("by-hand")(machine)

    found = rung(patient.report(**PRACTICE), "open_orders")

    assert (found["status"], found["seen"]) == ("ok", "none placed by this server, in the journal or at the exchange")


@pytest.mark.parametrize("mode", ["practice", "live"])
def test_orders_at_binance_in_good_health(mode: str, machine: Machine, patient: Patient) -> None:
    machine.goes_live()
    if mode == "practice":
        machine.limit("")

    report = patient.report(**(PRACTICE if mode == "practice" else LIVE))

    found = statuses(report)
    play = "off" if mode == "practice" else "ok"
    assert {name: found[name] for name in (each.id for each in TRADING)} == {
        "trading": "ok", "policy": "ok", "journal": "ok", "approver": play, "trade_rights": "ok",
        "user_stream": "ok", "open_orders": "ok", "trial": "ok", "stop": "ok", "separation": play, "asking": play,
    }  # fmt: skip
    assert (report["problems"], report["warnings"]) == (0, 0)
    assert machine.key_id in rung(report, "trading")["seen"]
    assert {each.path for each in machine.served.exchange.requests if each.method not in ("GET", "WS")} == {
        "/api/v3/order/test"
    }


def test_each_key_is_told_with_its_mode_its_own_lines_and_its_approver(machine: Machine, patient: Patient) -> None:
    machine.goes_live()
    of_own, of_bob = machine.folder.approver(), new_approver("another passphrase")
    (machine.folder.path / APPROVER_FILE).chmod(0o600)
    limits = "\n".join(f"{name} = {value}" for name, value in LIMITS.items())
    machine.limit(f"""[limits]
{limits}
[keys.{machine.key_id}]
mode = "live"
limits.per_order = "25"
confirm.approver = "{of_own.public}"
[keys.k-bob]
mode = "live"
limits = {{ symbols = ["BTCUSDT", "ETHUSDT"], position = {{ BTC = "9" }} }}
confirm = {{ approver = "{of_bob.public}", expires_secs = 60 }}
[keys.k-carol]
mode = "practice"
""")

    report = patient.report(**LIVE)

    seen, approver = rung(report, "policy")["seen"], rung(report, "approver")["seen"]
    assert "25.00 USDT an order, 100.00 USDT a day; BTCUSDT; " in seen
    assert f"key {machine.key_id}, live: per_order 25, approver {fingerprint(of_own.public)}; " in seen
    bob = f"symbols BTCUSDT, ETHUSDT, position BTC 9, approver {fingerprint(of_bob.public)}, expires_secs 60"
    assert f"key k-bob, live: {bob}; " in seen
    assert seen.endswith("key k-carol, practice: the common lines")
    assert of_bob.public not in seen
    assert approver.endswith(f"with a passphrase; its fingerprint is {fingerprint(of_own.public)}")
    assert report["healthy"] is True


def test_a_client_that_starts_a_live_server_as_the_same_user_is_told(
    machine: Machine, patient: Patient, tmp_path: Path
) -> None:
    machine.goes_live()
    entry = {"command": "mcp-binance-server", "args": ["--help"]}
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"binance": entry}}))

    found = rung(patient.report(**LIVE), "separation")

    assert (found["status"], found["seen"]) == ("warning", "Cursor starts the server as this user")
    assert "another user" in found["fix"]


def test_trading_that_is_off_is_not_spoken_of(patient: Patient) -> None:
    report = patient.report()

    assert [each["id"] for each in report["rungs"]] == [each.id for each in LADDER]


def test_paper_in_good_health(machine: Machine, patient: Patient) -> None:
    before = [*machine.folder.path.parent.iterdir()]

    report = patient.report(**PAPER)

    found = statuses(report)
    assert {name: found[name] for name in (each.id for each in TRADING)} == {
        "trading": "ok", "policy": "ok", "journal": "ok", "approver": "off", "trade_rights": "off",
        "user_stream": "off", "open_orders": "off", "trial": "off", "stop": "ok", "separation": "off",
        "asking": "off",
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


def test_every_stop_is_counted_and_the_one_for_everybody_told(machine: Machine, patient: Patient) -> None:
    machine.folder.stop("too dear", "paper-ann")
    one = rung(patient.report(**PAPER), "stop")["seen"]
    machine.folder.stop("a flood")
    both = rung(patient.report(**PAPER), "stop")["seen"]

    assert one.startswith("trading has been stopped for account paper-ann since ")
    assert one.endswith(" UTC: too dear")
    assert both.startswith("trading has been stopped for all accounts since ")
    assert both.endswith(" UTC: a flood (1 more)")


def test_a_past_that_was_accepted_is_no_problem_any_more(machine: Machine, patient: Patient) -> None:
    changed(machine)
    machine.folder.do(lambda store: HostLedger(store, "me").resume("me", SystemClock().now_ms()))

    found = rung(patient.report(**PAPER), "journal")

    assert (found["status"], found["why"]) == ("warning", "You have accepted it with resume")


def test_people_read_of_trading_within_eighty_columns(machine: Machine, patient: Patient) -> None:
    left_unknown(machine)
    nobody_approves(machine)

    code, said = patient.lines(**PAPER)

    assert code == 0
    assert max(map(len, said.splitlines())) <= 80
    assert "Journal" in said
    assert "do not place it again" in " ".join(said.lower().split())
