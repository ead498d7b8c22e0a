"""A server that trades, with secrets in every place that one has: no piece of them in anything it says or keeps."""

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import anyio
import pytest

from cli.trading.typist import Typist
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.trading.approvals import APPROVER_FILE, new_approver
from mcp_binance_server.transports.http.auth.token_file import TokenEntry, digest_of, new_token
from support.canaries import hits, pieces
from support.process import Process, run_warm
from support.product import announced
from support.raw import request

pytestmark = pytest.mark.flood

PASSPHRASE = "cAnArY-of-the-approver-7Qz"  # noqa: S105 - of this test alone
HOLDER = "holder-of-a-canary-token"
POLICY = """
[limits]
per_order = "500"
orders_per_day = 6
[confirm]
ask = "always"
client_per_order = "0"
approver = "{approver}"
"""
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


@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals on Windows")
def test_no_piece_of_a_secret_is_said_logged_journaled_or_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, made, token = tmp_path / "trading", new_approver(PASSPHRASE), new_token()
    folder.mkdir(mode=0o700)
    policy, tokens = tmp_path / "trading.toml", tmp_path / "tokens"
    (folder / APPROVER_FILE).write_bytes(made.sealed)
    policy.write_text(POLICY.format(approver=made.public), encoding="utf-8")
    scopes = frozenset({"market:read", "account:read", "trade"})
    tokens.write_text(f"{TokenEntry(HOLDER, digest_of(token), scopes).line}\n", encoding="utf-8")  # type: ignore[arg-type]
    for file in (policy, tokens):
        file.chmod(0o600)
    with Process("simulator", warm=True) as simulator:
        exchange: dict[str, str] = json.loads(simulator.line())
        settings = {
            "BINANCE_REST_URL": exchange["rest"],
            "BINANCE_STREAM_URL": exchange["streams"],
            "BINANCE_API_KEY": exchange["api_key"],
            "BINANCE_SECRET_KEY": exchange["secret_key"],
            "MCP_BINANCE_TOKEN_FILE": str(tokens),
            "MCP_BINANCE_TRADING": "paper",
            "MCP_BINANCE_TRADING_DIR": str(folder),
            "MCP_BINANCE_TRADING_POLICY": str(policy),
        }
        with (
            ended(simulator),
            Process("--http", "--port", "0", environment=settings, warm=True) as server,
            ended(server),
        ):
            user = Conversation(anyio.run(announced, server), token)
            preview = anyio.run(until, lambda: user.call("preview_order", **BUY), "preview_id")
            waits = user.call("place_order", preview_id=preview["preview_id"])
            for name, value in settings.items():
                monkeypatch.setenv(name, value)
            typist = Typist("approve", preview["preview_id"])
            approved = (
                typist.answers("Passphrase", "not " + PASSPHRASE[::-1]).answers("Passphrase", PASSPHRASE).leaves()
            )
            placed = user.call("place_order", preview_id=preview["preview_id"])
            for fault in FAULTS:
                fetched(f"{exchange['control']}/faults", {**fault, "times": 4})
                for arguments in ({**BUY, "quantity": "9"}, {**BUY, "symbol": "NONE"}, BUY):
                    user.call("preview_order", **arguments)
                user.call("place_order", preview_id="a" * 20)
                user.call("cancel_order", symbol="BTCUSDT", client_order_id=str(placed.get("client_order_id")))
                delete(f"{exchange['control']}/faults")
            user.call("stop_trading", reason="enough")
            user.call("get_trading_status")
            for uri in ("binance://orders/journal", "binance://orders/open", "binance://account/balances"):
                user.read(uri)
            control = fetched(f"{exchange['control']}/requests")
            csv = run_warm("journal", "--csv", environment=settings)

    secrets = pieces(exchange["api_key"], exchange["secret_key"], token, PASSPHRASE, HOLDER)
    kept = b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file() and each.name != APPROVER_FILE)
    assert (waits["outcome"], approved, placed["outcome"]) == ("waiting_for_approval", 0, "placed")
    assert preview["preview_id"].encode() in csv.stdout
    assert preview["preview_id"].encode() in kept, "the journal was not searched"
    for name, text in {
        "answers": json.dumps(user.said),
        "errors": server.errors.read_text(errors="replace"),
        "control": control,
        "terminal": typist.seen,
        "csv": (csv.stdout + csv.stderr).decode(errors="replace"),
        "files": kept.decode("latin-1"),
    }.items():
        assert hits(text, secrets) == set(), name
    assert "DEBUG" in server.errors.read_text(errors="replace")
