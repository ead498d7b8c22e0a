"""`setup --trading`: create starting limits for paper trading and the approver's key."""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from mcp_binance_server.cli.setup.files import Talk, keep_copy, read_text, write_private
from mcp_binance_server.cli.setup.one_client import EXIT_REFUSED, painted
from mcp_binance_server.cli.setup.plan import changed_lines
from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.cli.trading.approve import keep_key, policy_place
from mcp_binance_server.cli.trading.host import CommandFailed, TradingHost
from mcp_binance_server.cli.trading.passphrase import (
    NO_TERMINAL,
    ask_new_passphrase,
    ask_passphrase,
    has_terminal,
    sealed_key,
)
from mcp_binance_server.clock import Clock
from mcp_binance_server.trading.approvals import APPROVER_FILE, UnsealedApprover, opened_public
from mcp_binance_server.trading.judgement.policy import read_policy
from mcp_binance_server.trading.judgement.policy_lines import PolicyProblem

TEMPLATE = """# Your limits for orders. Servers read them when they start; no tool can change them.
# All lines are explained in docs/how-to/limits.md

counting_asset = "USDT"

[limits]
orders_per_minute = 5
orders_per_day = 50
open_orders = 10
collar_percent = "2"
slippage_bps = "50"
cancel = "own"
# Real money needs these four, with amounts of your own:
# symbols = ["BTCUSDT"]
# per_order = "25"
# per_day = "100"
# daily_loss = "25"

[confirm]
# "default": play money needs no approval. "always": you decide every order.
ask = "default"
{approver}

[paper]
balances = {{ USDT = "10000" }}

# Real money also needs the id of the key that may spend it, as shown by mcp-binance-server doctor,
# MCP_BINANCE_TRADING=live and BINANCE_NETWORK=mainnet: docs/how-to/live.md
# [keys."k-0000000000000000"]
# mode = "live"
"""
NEXT = """
Limits:   {policy}
Approver: {key}
{passphrase}
Next:
  1. Trade on paper: MCP_BINANCE_TRADING=paper where your client starts the server;
     mcp-binance-server setup --trading --client NAME writes it there.
  2. Restart your client, then ask: "Buy 100 USDT of Bitcoin on paper."
  3. Check the result: mcp-binance-server paper, and mcp-binance-server doctor
"""
NO_WAY_BACK = "The passphrase cannot be recovered: keep it in a safe place, not in the chat.\n"
CONFIRM = re.compile(r"^\[confirm\][ \t]*(#.*)?\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TradingPlan:
    """The limits file before and after, and the public key of a new approver."""

    path: Path
    before: str | None
    after: str
    key: UnsealedApprover | None

    @property
    def changes(self) -> bool:
        return (self.before or "") != self.after


def set_up_trading(options: argparse.Namespace, talk: Talk, terminal: Terminal, clock: Clock) -> int:
    """Write the limits and create the approver if they are missing. Return the exit code."""
    host = TradingHost.found(clock)
    try:
        return _set_up(options, host, talk, terminal)
    except CommandFailed as problem:
        sys.stderr.write(f"{problem}\n")
        return EXIT_REFUSED


def _set_up(options: argparse.Namespace, host: TradingHost, talk: Talk, terminal: Terminal) -> int:
    if not options.dry_run and not has_terminal():
        raise CommandFailed(NO_TERMINAL)
    plan = _planned(host, asks=not options.dry_run)
    for line in changed_lines(plan.path, plan.before, plan.after):
        talk.say(f"{painted(line, terminal)}\n")
    talk.say("" if plan.changes else f"{plan.path} is already up to date.\n")
    if options.dry_run:
        talk.say("\nNothing was written (--dry-run).\n")
        return 0
    if plan.changes and not options.yes and not _agreed(talk):
        talk.say("Nothing was written.\n")
        return EXIT_REFUSED
    _write(plan, host, talk)
    passphrase = NO_WAY_BACK if plan.key is not None else ""
    talk.say(NEXT.format(policy=plan.path, key=host.folder / APPROVER_FILE, passphrase=passphrase))
    return 0


def _planned(host: TradingHost, *, asks: bool) -> TradingPlan:
    path = policy_place(host)
    try:
        before = read_text(path)
        named = None if before is None else read_policy(before.encode()).confirm.approver
    except (OSError, UnicodeDecodeError, PolicyProblem) as problem:
        raise CommandFailed(f"{path}: {problem}\nNothing was changed. Correct the file and run setup again.") from None
    has_key = (host.folder / APPROVER_FILE).exists()
    if before is not None and named is not None:
        if not has_key:
            raise CommandFailed(
                f"{path} names an approver, but its key is not in {host.folder}. Put the key there, or remove the "
                "approver line and run setup again."
            )
        return TradingPlan(path, before, before, None)
    key = None if has_key else UnsealedApprover.made()
    public = key.public if key is not None else _public_half(host) if asks else "..."
    line = f'approver = "{public}"'
    after = TEMPLATE.format(approver=line) if before is None else _with_line(before, line)
    try:
        read_policy(after.encode())
    except PolicyProblem as problem:
        raise CommandFailed(f"{path}: {problem}\nAdd this below [confirm] yourself: {line}") from None
    return TradingPlan(path, before, after, key)


def _public_half(host: TradingHost) -> str:
    """Return the public key for the limits file.

    An existing key file reveals its public key only with the passphrase.
    """
    public = opened_public(sealed_key(host).sealed, ask_passphrase("The approver's passphrase: "))
    if public is None:
        raise CommandFailed("Wrong passphrase for the approver's key. Nothing was written.")
    return public


def _with_line(text: str, line: str) -> str:
    if (found := CONFIRM.search(text)) is not None:
        return f"{text[: found.end()]}\n{line}{text[found.end() :]}"
    return f"{text.rstrip()}\n\n[confirm]\n{line}\n"


def _agreed(talk: Talk) -> bool:
    try:
        return talk.ask("\nWrite this? [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False


def _write(plan: TradingPlan, host: TradingHost, talk: Talk) -> None:
    try:
        if plan.changes and read_text(plan.path) != plan.before:
            raise CommandFailed(f"{plan.path}: the file has changed. Nothing was written; run setup again.")
        if plan.key is not None:
            talk.say("\nChoose a passphrase for the orders that you approve.\n")
            keep_key(host.folder / APPROVER_FILE, plan.key.sealed(ask_new_passphrase()))
        if plan.changes:
            if plan.before is not None:
                talk.say(f"The old file: {keep_copy(plan.path, host.clock)}\n")
            write_private(plan.path, plan.after)
    except OSError as error:
        raise CommandFailed(f"{plan.path}: {error.strerror or 'cannot be written'}") from None
