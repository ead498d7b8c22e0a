"""The approver's passphrase. It is read only from the terminal and never shown."""

import getpass
import os
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from mcp_binance_server.cli.trading.host import CommandFailed, OpenJournal, TradingHost
from mcp_binance_server.trading.approvals import APPROVER_FILE, MOST_WRONG, fingerprint, opened_public, public_key_hint

TERMINAL = "/dev/tty"
LEAST_CHARACTERS = 12
NO_TERMINAL = "The passphrase must be entered at a terminal, and there is none.\nRun this in your own terminal."


@dataclass(frozen=True, slots=True)
class ApproverKey:
    """An approver's encrypted key file."""

    path: Path
    sealed: bytes = field(repr=False)

    def require_named(self, named: frozenset[str], whose: str) -> None:
        """Check that trading.toml names this key. A key file without a readable public key is not checked here.

        Raises:
            CommandFailed: the key is a different one.
        """
        if (public := public_key_hint(self.sealed)) is not None:
            self.require_same(public, named, whose)

    def require_same(self, public: str, named: frozenset[str], whose: str) -> None:
        """Check that trading.toml names this public key.

        Raises:
            CommandFailed: the key is a different one.
        """
        if public not in named:
            wanted = " or ".join(sorted(map(fingerprint, named)))
            raise CommandFailed(
                f"{self.path} is not the key that trading.toml names as {whose}:\n"
                f"its fingerprint is {fingerprint(public)}, not {wanted}.\n"
                "Nothing was signed or changed. To use another file: approve --approver FILE"
            )


def ask_passphrase(question: str) -> str:
    """Ask at the terminal, even if standard input is redirected. An empty answer means no.

    Raises:
        CommandFailed: there is no terminal; a passphrase from a pipe is not accepted.
    """
    if not has_terminal():
        raise CommandFailed(NO_TERMINAL)
    try:
        return getpass.getpass(question)
    except EOFError:
        return ""


def ask_new_passphrase() -> str:
    """Ask for a new passphrase twice.

    Raises:
        CommandFailed: it is too short, or the second one differs.
    """
    first = ask_passphrase("New passphrase: ")
    if len(first) < LEAST_CHARACTERS:
        raise CommandFailed(f"A passphrase needs at least {LEAST_CHARACTERS} characters. Nothing was written.")
    if ask_passphrase("Repeat it: ") != first:
        raise CommandFailed("The passphrases differ. Nothing was written.")
    return first


def key_place(host: TradingHost, file: str | None) -> Path:
    """Return the path of an approver's key. The default is in the trading folder."""
    return host.folder / APPROVER_FILE if file is None else Path(file).expanduser()


def sealed_key(host: TradingHost, file: str | None = None) -> ApproverKey:
    """Read the approver's key file.

    Raises:
        CommandFailed: the file is missing or cannot be read.
    """
    path = key_place(host, file)
    try:
        return ApproverKey(path, path.read_bytes())
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise CommandFailed(
            f"{path}: {reason}. Create the approval key with: {host.command('approve --new')}"
        ) from None


def ask_approver(
    host: TradingHost, key: ApproverKey, named: frozenset[str], question: str, whose: str = "its approver"
) -> str:
    """Ask for the passphrase and return the decrypted key, which must be in trading.toml. Wrong answers are counted.

    Raises:
        CommandFailed: the answer was empty, wrong too often, or the key is a different one.
    """
    key.require_named(named, whose)
    while passphrase := ask_passphrase(question):
        opened = opened_public(key.sealed, passphrase)
        if opened is not None:
            key.require_same(opened, named, whose)
            return passphrase
        wrong = host.do(partial(count_wrong, by="the command line"))
        if wrong >= MOST_WRONG:
            raise CommandFailed(f"{wrong} wrong passphrases: trading is stopped. See: {host.command('resume')}")
        sys.stderr.write(f"Wrong passphrase ({wrong} of {MOST_WRONG}; the last stops trading).\n")
    raise CommandFailed("No passphrase was given; nothing was done.")


async def count_wrong(journal: OpenJournal, by: str) -> int:
    """Record a wrong passphrase and return the count. At the limit, stop trading."""
    wrong = await journal.agreements.wrong_passphrase(journal.now_ms())
    if wrong >= MOST_WRONG:
        await journal.ledger.stop(f"{wrong} wrong passphrases", by, journal.now_ms())
    return wrong


def has_terminal() -> bool:
    """Return whether there is a terminal, even if standard input is redirected."""
    if sys.platform == "win32":
        return sys.stdin.isatty()
    try:
        os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
