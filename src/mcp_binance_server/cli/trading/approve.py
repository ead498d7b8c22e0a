"""`mcp-binance-server approve`: a person's yes to one order, signed with a key that only a passphrase opens."""

import argparse
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mcp_binance_server.cli.trading.host import NotDone, OpenJournal, TradingHost, exchange_host, say, told
from mcp_binance_server.cli.trading.passphrase import ask_approver, ask_new_passphrase, sealed_key
from mcp_binance_server.cli.trading.shown import stopped_line, terms_page, waiting_list
from mcp_binance_server.own_folders import config_folder
from mcp_binance_server.settings import surroundings
from mcp_binance_server.trading.approvals import APPROVER_FILE, NewApprover, new_approver, sign
from mcp_binance_server.trading.journal.records import Stopped, Waiting
from mcp_binance_server.trading.policy_file import policy_at

NOTHING = "Nothing waits for you."
NO_APPROVER = """trading.toml names no approver, so no order can be approved here.
  mcp-binance-server approve --new   makes one and prints the line for trading.toml
"""
MADE = """The key is in {path}; nobody can use it without the passphrase, and there is no way
to recover that. Put the line above under [confirm] in {policy},
then restart your servers: limits and approver are read at the start."""


def run_approve(options: argparse.Namespace) -> int:
    """Approve an order, list what waits, or make the approver; return the exit code."""
    return told(_new if options.new else partial(_approve, options.order))


def _approve(wanted: str | None, host: TradingHost) -> int:
    policy = policy_at(host.settings.trading_policy)
    waiting, stopped = host.do(what_waits)
    if stopped is not None:
        say(f"{stopped_line(stopped)} What you approve now cannot be placed before: mcp-binance-server resume\n")
    if (one := chosen(waiting, wanted)) is None:
        say_waiting(host, waiting)
        return 0
    say(terms_page(one, policy, host.clock.now_ms(), partial(exchange_host, host.settings)))
    if one.signature is not None:
        say("\nIt is approved already. Have the assistant place it.")
        return 0
    if policy.confirm.approver is None:
        raise NotDone(NO_APPROVER.rstrip())
    sealed = sealed_key(host)
    passphrase = ask_approver(host, sealed, policy.confirm.approver, "\nPassphrase (Enter: no): ")
    signature = sign(sealed, passphrase, one.terms, one.preview_id)
    left_ms = one.terms.expires_ms - host.clock.now_ms()
    if left_ms <= 0 or not host.do(partial(keep_signature, one, signature)):
        raise NotDone("Too late: this order no longer waits. Have the assistant preview it again.")
    say(f"Approved. Have the assistant place it again, within {left_ms // 1000} s.")
    return 0


def _new(host: TradingHost) -> int:
    path = host.folder / APPROVER_FILE
    if path.exists():
        raise NotDone(f"There is an approver already: {path}. Move it away first if you mean to replace it.")
    made = new_approver(ask_new_passphrase())
    keep_key(host, made)
    say(f'approver = "{made.public}"\n')
    say(MADE.format(path=path, policy=policy_place(host)))
    return 0


def keep_key(host: TradingHost, made: NewApprover) -> None:
    """Write an approver's key for its owner alone; one that is there is never replaced.

    Raises:
        NotDone: it cannot be written.
    """
    path = host.folder / APPROVER_FILE
    try:
        host.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(made.sealed)
            opened.flush()
            os.fsync(file)
    except OSError as error:
        raise NotDone(f"{path}: {error.strerror}") from None


def policy_place(host: TradingHost) -> Path:
    """Return where the limits are, or would be looked for."""
    folder = config_folder(surroundings())
    return host.settings.trading_policy or (folder or Path()) / "trading.toml"


def say_waiting(host: TradingHost, waiting: Sequence[Waiting]) -> None:
    """List what waits, for who has not said which they mean."""
    where = partial(exchange_host, host.settings)
    say(waiting_list(waiting, host.clock.now_ms(), where) if waiting else NOTHING)


def chosen(waiting: Sequence[Waiting], wanted: str | None) -> Waiting | None:
    """Return the order that is meant: the one of that id, or the only one.

    Raises:
        NotDone: none of that id waits.
    """
    if wanted is None:
        return waiting[0] if len(waiting) == 1 else None
    # An order is named by its preview, or by the id that it will have at the exchange: mbp- and the preview.
    bare = wanted.rpartition("-")[2]
    if (found := next((each for each in waiting if each.preview_id == bare), None)) is None:
        raise NotDone(
            f"No order of that id waits for you. {NOTHING if not waiting else 'Without an ID they are listed.'}"
        )
    return found


async def what_waits(journal: OpenJournal) -> tuple[list[Waiting], Stopped | None]:
    """Return the orders that wait, and whether any could be placed."""
    return await journal.agreements.waiting(journal.now_ms()), await journal.ledger.stopped()


async def keep_signature(one: Waiting, signature: str, journal: OpenJournal) -> bool:
    """Write down a yes; False if the order no longer waits."""
    return await journal.agreements.approve(one.preview_id, signature, journal.now_ms())
