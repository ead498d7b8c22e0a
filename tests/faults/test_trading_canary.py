"""A server that trades, with secrets in every place that one has: no piece of them in anything it says or keeps."""

import json
import logging
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from traceback import format_exception
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import anyio
import pytest

from cli.trading.typist import Typist
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import key_id
from mcp_binance_server.trading.approvals import APPROVER_FILE, new_approver
from mcp_binance_server.trading.journal.records import Stopped
from mcp_binance_server.trading.journal.stops import TradingIsStopped
from mcp_binance_server.transports.http.auth.token_file import TokenEntry, digest_of, new_token
from support.byte_line import byte_line
from support.canaries import hits, pieces
from support.clock import FakeClock
from support.orders.answers import OrderBreaker
from support.orders.storm import PAUSE_MS, any_order, broken_orders
from support.process import Process, run_warm
from support.product import announced
from support.raw import request

pytestmark = pytest.mark.flood

PASSPHRASE = "cAnArY-of-the-approver-7Qz"  # noqa: S105 - of this test alone
HOLDER = "holder-of-a-canary-token"
POLICY = """
[limits]
symbols = ["BTCUSDT"]
per_order = "500"
per_day = "2000"
daily_loss = "500"
orders_per_day = 6
[confirm]
ask = "always"
client_per_order = "0"
approver = "{approver}"
[keys."{key}"]
mode = "{mode}"
"""
NETWORKS = {"paper": "mainnet", "practice": "testnet", "live": "mainnet"}
MODES = ("paper", "live")
BUY = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quantity": "0.001"}
FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "status", "status": 500, "code": -1000},
    {"kind": "html"},
    {"kind": "cut_within"},
    {"kind": "status", "status": 400, "code": -2010, "msg": "Account has insufficient balance"},
)


def fetched(address: str, body: dict[str, Any] | None = None, **headers: str) -> str:
    sent = None if body is None else json.dumps(body).encode()
    head = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    with urlopen(Request(address, sent, head | headers), timeout=60) as answer:  # noqa: S310 - loopback
        return answer.read().decode()


def delete(address: str) -> None:
    with urlopen(Request(address, method="DELETE"), timeout=60):  # noqa: S310 - loopback
        pass


class Conversation:
    """One token's holder, and everything that was heard."""

    def __init__(self, address: str, token: str) -> None:
        self.address, self.said = address, list[str]()
        self._bearer = f"Bearer {token}"

    def ask(self, method: str, about: str, params: dict[str, Any]) -> dict[str, Any]:
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": about}
        body = request(len(self.said), method, params, modern=True)
        self.said.append(fetched(self.address, body, Authorization=self._bearer, **headers))
        return json.loads(self.said[-1]).get("result", {})

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        return self.ask("tools/call", tool, {"name": tool, "arguments": arguments}).get("structuredContent", {})

    def read(self, uri: str) -> None:
        self.ask("resources/read", uri, {"uri": uri})


@contextmanager
def ended(process: Process) -> Generator[None]:
    """End a process with its block, also where that fails."""
    try:
        yield
    finally:
        process.terminate()


async def until(found: Callable[[], dict[str, Any]], wanted: str) -> dict[str, Any]:
    """Ask again until an answer has a member; a market has to come into step first."""
    clock, answer = SystemClock(), found()
    for _ in range(100):
        if answer.get(wanted):
            return answer
        await clock.sleep_ms(100)
        answer = found()
    raise AssertionError(answer)


def told(folder: Path, mode: str, exchange: dict[str, str], host: str) -> tuple[dict[str, str], str]:
    """Write what a server needs that trades, with secrets in all of it; return its settings, and a token."""
    made, token = new_approver(PASSPHRASE), new_token()
    trading, policy, tokens = folder / "trading", folder / "trading.toml", folder / "tokens"
    trading.mkdir(mode=0o700)
    (trading / APPROVER_FILE).write_bytes(made.sealed)
    named = key_id(exchange["api_key"])
    policy.write_text(
        POLICY.format(approver=made.public, key=named, mode="live" if mode == "paper" else mode), encoding="utf-8"
    )
    scopes = frozenset({"market:read", "account:read", "trade"})
    tokens.write_text(f"{TokenEntry(HOLDER, digest_of(token), scopes).line}\n", encoding="utf-8")  # type: ignore[arg-type]
    for file in (policy, tokens):
        file.chmod(0o600)
    settings = {
        "BINANCE_NETWORK": NETWORKS[mode],
        "BINANCE_REST_URL": f"http://{host}",
        "BINANCE_STREAM_URL": f"ws://{host}",
        "BINANCE_WS_API_URL": f"ws://{host}/ws-api/v3",
        "BINANCE_API_KEY": exchange["api_key"],
        "BINANCE_SECRET_KEY": exchange["secret_key"],
        "MCP_BINANCE_TOKEN_FILE": str(tokens),
        "MCP_BINANCE_TRADING": mode,
        "MCP_BINANCE_TRADING_DIR": str(trading),
        "MCP_BINANCE_TRADING_POLICY": str(policy),
    }
    return settings, token


class Day:
    """What a user does, and a person who approves it; the terminal of each approval is kept."""

    def __init__(self, user: Conversation, control: str) -> None:
        self.user, self.control, self.terminals = user, control, list[str]()

    def approved(self, **order: str) -> dict[str, Any]:
        """Have an order approved by somebody who mistypes first, and return what was said before it was placed."""
        preview = anyio.run(until, lambda: self.user.call("preview_order", **order), "preview_id")
        waits = self.user.call("place_order", preview_id=preview["preview_id"])
        typist = Typist("approve", preview["preview_id"])
        left = typist.answers("Passphrase", "not " + PASSPHRASE[::-1]).answers("Passphrase", PASSPHRASE).leaves()
        self.terminals.append(typist.seen)
        assert (waits["outcome"], left) == ("waiting_for_approval", 0)
        return preview

    def place(self, preview: dict[str, Any]) -> dict[str, Any]:
        return self.user.call("place_order", preview_id=preview["preview_id"])

    def under_faults(self, client_order_id: str) -> None:
        for fault in FAULTS:
            fetched(f"{self.control}/faults", {**fault, "times": 4})
            for arguments in ({**BUY, "quantity": "9"}, {**BUY, "symbol": "NONE"}, BUY):
                self.user.call("preview_order", **arguments)
            self.user.call("place_order", preview_id="a" * 20)
            self.user.call("cancel_order", symbol="BTCUSDT", client_order_id=client_order_id)
            delete(f"{self.control}/faults")

    def in_doubt(self) -> dict[str, Any]:
        """Place an order whose answers are lost, so that it is asked for."""
        second = self.approved(**{**BUY, "quantity": "0.0011"})
        for method in ("POST", "GET"):
            lost = {"kind": "cut_within", "path": "*/order", "method": method, "executed": True, "times": 3}
            fetched(f"{self.control}/faults", lost)
        found = self.place(second)
        delete(f"{self.control}/faults")
        return found

    def looks(self) -> None:
        self.user.call("stop_trading", reason="enough")
        self.user.call("get_trading_status")
        for uri in ("binance://orders/journal", "binance://orders/open", "binance://account/balances"):
            self.user.read(uri)


@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals on Windows")
@pytest.mark.parametrize("mode", MODES)
def test_no_piece_of_a_secret_is_said_logged_journaled_or_sent(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: int
) -> None:
    search(mode, tmp_path, monkeypatch)
    if mode == "live" and scale > 1:  # as live, but for the name of the network
        (tmp_path / "practice").mkdir()
        search("practice", tmp_path / "practice", monkeypatch)


def search(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server trade for a day, and look for its secrets in everything that is left of that."""
    with Process("simulator", warm=True) as simulator:
        exchange: dict[str, str] = json.loads(simulator.line())
        with ended(simulator), byte_line(urlsplit(exchange["rest"]).port or 0) as line:
            fetched(f"{exchange['control']}/key", {"trading": True})
            settings, token = told(tmp_path, mode, exchange, line.host)
            for name, value in settings.items():
                monkeypatch.setenv(name, value)
            with Process("--http", "--port", "0", environment=settings, warm=True) as server, ended(server):
                day = Day(Conversation(anyio.run(announced, server), token), exchange["control"])
                preview = day.approved(**BUY)
                placed = day.place(preview)
                day.under_faults(str(placed.get("client_order_id")))
                doubted = day.in_doubt() if mode != "paper" else {"outcome": "placed"}
                day.looks()
                control = fetched(f"{exchange['control']}/requests")
                control += "" if mode == "paper" else fetched(f"{exchange['control']}/orders")
                csv = run_warm("journal", "--csv", environment=settings)

    folder, sent = tmp_path / "trading", b"\n".join(map(bytes, line.sent)).decode("latin-1")
    signatures = set(re.findall(r"[?&]signature=([0-9a-f]{64})", sent))
    queries = set(re.findall(r"\?(\S*timestamp=\S*)&signature=", sent))
    secrets = pieces(exchange["api_key"], exchange["secret_key"], token, PASSPHRASE, HOLDER, *signatures)
    kept = b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file() and each.name != APPROVER_FILE)
    assert (placed["outcome"], doubted["outcome"]) in (("placed", "placed"), ("placed", "unknown"))
    assert preview["preview_id"].encode() in csv.stdout
    assert preview["preview_id"].encode() in kept, "the journal was not searched"
    assert mode == "paper" or "POST /api/v3/order?" in sent, "nothing was sent"
    assert signatures
    assert queries
    texts = {
        "answers": json.dumps(day.user.said),
        "errors": server.errors.read_text(errors="replace"),
        "terminal": "".join(day.terminals),
        "csv": (csv.stdout + csv.stderr).decode(errors="replace"),
        "files": kept.decode("latin-1"),
    }
    for name, text in {**texts, "control": control}.items():
        assert hits(text, secrets) == set(), name
    assert [(name, each) for name, text in texts.items() for each in queries if each in text] == []
    assert "DEBUG" in server.errors.read_text(errors="replace")


async def test_nothing_that_holds_an_orders_request_shows_a_piece_of_a_key(caplog: pytest.LogCaptureFixture) -> None:
    clock, breaker, random = FakeClock(), OrderBreaker("canary"), Random("canary")
    shown: list[str] = []

    async def refuse() -> None:
        raise TradingIsStopped(Stopped("a test", 0))

    with caplog.at_level(logging.DEBUG):
        async with broken_orders(clock) as (client, loop):
            wanted = pieces(loop.exchange.account.api_key, loop.exchange.account.secret_key)
            for number in range(60):
                clock.advance(PAUSE_MS)
                order = any_order(random, number)
                loop.reply = breaker.reply(order)
                shown.append(f"{await client.place(order, allow)!r} {order!r}")
                clock.advance(PAUSE_MS)
                with pytest.raises(TradingIsStopped) as caught:
                    await client.place(order, refuse)
                shown.append("".join(format_exception(caught.value)))
            shown.append(f"{client!r} {client.principal!r} {client.counts!r} {client.caller!r}")

    assert hits("\n".join(shown), wanted) == set()
    assert hits(caplog.text, wanted) == set()


async def allow() -> None:
    """Let an order leave."""
