"""`mcp-binance-server approve`: a person approves one order with a passphrase-protected key."""

import argparse
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mcp_binance_server.cli.trading.host import CommandFailed, OpenJournal, TradingHost, exchange_host, say, told
from mcp_binance_server.cli.trading.passphrase import ask_approver, ask_new_passphrase, key_place, sealed_key
from mcp_binance_server.cli.trading.shown import stopped_line, terms_page, waiting_list
from mcp_binance_server.errors import echo
from mcp_binance_server.own_folders import config_folder
from mcp_binance_server.settings import surroundings
from mcp_binance_server.trading.approvals import NewApprover, fingerprint, new_approver, sign
from mcp_binance_server.trading.journal.records import ALL_ACCOUNTS, Stopped, Waiting
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.policy_file import policy_at

NOTHING = "No orders are waiting for approval."
NO_APPROVER = """trading.toml names no approver for account {account}, so this order cannot
be approved.
  {command}   makes one and prints the line for trading.toml
"""
MADE = """The key is in {path} (fingerprint {name}).
It cannot be used without the passphrase, which cannot be recovered.
Put the line above under [confirm] in {policy},
or, for a single key, under [keys."k-...".confirm]. Then restart your servers:
they read limits and approvers at the start."""


def run_approve(options: argparse.Namespace) -> int:
    """Approve an order, list waiting orders, or create the approver. Return the exit code."""
    work = partial(_new, options.approver) if options.new else partial(_approve, options.order, options.approver)
    return told(work, is_demo=options.demo)


def _approve(wanted: str | None, file: str | None, host: TradingHost) -> int:
    policy = policy_at(host.settings.trading_policy)
    waiting, stops = host.do(what_waits)
    one = chosen(waiting, wanted)
    for each in holding(stops, waiting if one is None else [one]):
        say(f"{stopped_line(each)} Approved orders are placed only after: {host.command('resume')}\n")
    if one is None:
        say_waiting(host, waiting)
        return 0
    say(terms_page(one, policy, host.clock.now_ms(), partial(exchange_host, host.settings)))
    if one.signature is not None:
        say("\nAlready approved. Ask the assistant to place it.")
        return 0
    named, key = approvers_of(one, policy, host), sealed_key(host, file)
    passphrase = ask_approver(host, key, named, "\nPassphrase (Enter: no): ", whose_yes(one))
    signature = sign(key.sealed, passphrase, one.terms, one.preview_id)
    left_ms = one.terms.expires_ms - host.clock.now_ms()
    if left_ms <= 0 or not host.do(partial(keep_signature, one, signature)):
        raise CommandFailed("Too late: this order is no longer waiting. Ask the assistant to preview it again.")
    say(f"Approved. Ask the assistant to place it again, within {left_ms // 1000} s.")
    return 0


def _new(file: str | None, host: TradingHost) -> int:
    path = key_place(host, file)
    if path.exists():
        raise CommandFailed(f"An approver exists already: {path}. Move it away first to replace it.")
    made = new_approver(ask_new_passphrase())
    keep_key(path, made)
    say(f'approver = "{made.public}"\n')
    say(MADE.format(path=path, name=fingerprint(made.public), policy=policy_place(host)))
    return 0


def approvers_of(one: Waiting, policy: Policy, host: TradingHost) -> frozenset[str]:
    """Return the approvers that the policy names for the account of an order.

    Raises:
        CommandFailed: the policy names no approver.
    """
    if (approver := policy.of_key(one.terms.account).confirm.approver) is None:
        raise CommandFailed(
            NO_APPROVER.format(account=echo(one.terms.account), command=host.command("approve --new")).rstrip()
        )
    return frozenset({approver})


def whose_yes(one: Waiting) -> str:
    """Return a text with the approvers of an order."""
    return f"the approver of account {echo(one.terms.account)}"


def keep_key(path: Path, made: NewApprover) -> None:
    """Write an approver's key file that only its owner can read. An existing key is never replaced.

    Raises:
        CommandFailed: the key cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(made.sealed)
            opened.flush()
            os.fsync(file)
    except OSError as error:
        raise CommandFailed(f"{path}: {error.strerror}") from None


def policy_place(host: TradingHost) -> Path:
    """Return the path of the limits file, or its default path."""
    folder = config_folder(surroundings())
    return host.settings.trading_policy or (folder or Path()) / "trading.toml"


def say_waiting(host: TradingHost, waiting: Sequence[Waiting]) -> None:
    """Print the waiting orders. This is the command without an ID."""
    where = partial(exchange_host, host.settings)
    say(waiting_list(waiting, host.clock.now_ms(), where, host.command("approve ID")) if waiting else NOTHING)


def chosen(waiting: Sequence[Waiting], wanted: str | None) -> Waiting | None:
    """Return the order with this ID, or the only waiting order. Return None if several wait and no ID is given.

    Raises:
        CommandFailed: no waiting order has this ID.
    """
    if wanted is None:
        return waiting[0] if len(waiting) == 1 else None
    # Accept the preview ID and the client order ID, which is `mbp-` followed by the preview ID.
    bare = wanted.rpartition("-")[2]
    if (found := next((each for each in waiting if each.preview_id == bare), None)) is None:
        raise CommandFailed(
            f"No waiting order has that ID. {NOTHING if not waiting else 'Without an ID, waiting orders are listed.'}"
        )
    return found


async def what_waits(journal: OpenJournal) -> tuple[list[Waiting], list[Stopped]]:
    """Return the waiting orders and all active stops. The global stop comes first."""
    return await journal.agreements.waiting(journal.now_ms()), await journal.ledger.stops()


def holding(stops: Sequence[Stopped], waiting: Sequence[Waiting]) -> list[Stopped]:
    """Return the stops that block these orders. The global stop blocks all orders."""
    held = {ALL_ACCOUNTS, *(each.terms.account for each in waiting)}
    return [each for each in stops if each.account in held]


async def keep_signature(one: Waiting, signature: str, journal: OpenJournal) -> bool:
    """Store an approval. Return False if the order is no longer waiting."""
    return await journal.agreements.approve(one.preview_id, signature, journal.now_ms())
