"""`mcp-binance-server setup`: choose clients, write their files, try the key."""

import argparse
import getpass
import shutil
import sys
import textwrap
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_binance_server.cli.setup.clients import CLIENTS, Client, Machine, this_machine
from mcp_binance_server.cli.setup.command import CLIENT_NAMES, client_name
from mcp_binance_server.cli.setup.files import ATTEMPTS, Talk, UnreadableConfig, read_text
from mcp_binance_server.cli.setup.one_client import Setup, Trial
from mcp_binance_server.cli.setup.plan import entry_of
from mcp_binance_server.cli.terminal import Colour, Terminal
from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.errors import AppError, InvalidCredentials, SettingsError
from mcp_binance_server.exchange.endpoints import host_of
from mcp_binance_server.key_file import PAIR
from mcp_binance_server.key_file import VARIABLE as KEY_FILE
from mcp_binance_server.settings import read_settings, surroundings
from mcp_binance_server.tls.trust_store import check_trust_store

if TYPE_CHECKING:
    from mcp_binance_server.app import App
    from mcp_binance_server.domain.account import KeyRights

Which = Callable[[str], str | None]

EXIT_USAGE = 2
# Modules of a server on stdio, and of a demo.
STARTED = ("mcp_binance_server.cli.serve", "mcp_binance_server.app", "mcp_binance_server.trading_assembly.paper")


def installed_clients(machine: Machine, which: Which) -> list[Client]:
    """Return the installed clients. A client counts as installed if its file, its folder or its command exists."""
    return [client for client in CLIENTS.values() if _is_here(client, machine, which)]


def clients_with_entry(machine: Machine, name: str) -> list[Client]:
    """Return the clients with an entry of this name. Clients with unreadable files are left out."""
    return [client for client in CLIENTS.values() if _has_entry(client, machine, name)]


def choose(talk: Talk, terminal: Terminal, found: Sequence[Client], done: Sequence[Client]) -> list[Client]:
    """Ask which of the installed clients to set up. Enter selects all.

    Raises:
        EOFError: standard input has ended.
    """
    others = [client.title for client in CLIENTS.values() if client not in found]
    if found:
        talk.say("Found on this machine:\n\n")
        _list(talk, terminal, found, done)
        talk.say(f"\nNot found: {', '.join(others)}.\n" if others else "\n")
        question = "Which? Numbers or names, Enter for all: "
    else:
        talk.say(f"No client was found in its usual place. Supported: {', '.join(others)}.\n")
        question = "Which one do you use? "
    return _asked(talk, question, found)


def choose_removal(talk: Talk, terminal: Terminal, having: Sequence[Client], name: str) -> list[Client]:
    """Ask which clients to remove the entry from. Enter selects all.

    Raises:
        EOFError: standard input has ended.
    """
    talk.say(f"Clients with an entry named {name}:\n\n")
    _list(talk, terminal, having, ())
    return _asked(talk, "\nRemove it from which? Numbers or names, Enter for all: ", having)


def _list(talk: Talk, terminal: Terminal, clients: Sequence[Client], done: Sequence[Client]) -> None:
    for number, client in enumerate(clients, 1):
        note = terminal.paint("  (already set up)", "dim") if client in done else ""
        talk.say(f"  {number}  {terminal.paint(client.title, 'bold')}{note}\n")


def _asked(talk: Talk, question: str, found: Sequence[Client]) -> list[Client]:
    for _ in range(ATTEMPTS):
        try:
            if chosen := _chosen(talk.ask(question), found):
                return chosen
        except (ValueError, ArgumentTypeError) as problem:
            talk.say(f"{problem}\n")
    return []


def _chosen(answer: str, found: Sequence[Client]) -> list[Client]:
    if answer.strip().lower() in ("", "all", "a"):
        return list(found)
    parts = [part for part in answer.replace(";", ",").split(",") if part.strip()]
    if all(part.strip().isdecimal() for part in answer.replace(",", " ").split()):
        parts = answer.replace(",", " ").split()
    names = dict.fromkeys(_one(part.strip(), found) for part in parts)
    return [CLIENTS[name] for name in names]


def _one(part: str, found: Sequence[Client]) -> str:
    if part.isdecimal():
        if not 1 <= int(part) <= len(found):
            raise ValueError(f"{part} is not in the list.")
        return found[int(part) - 1].name
    return client_name(part)


def no_terminal(found: Sequence[Client]) -> str:
    """Return the error for a run without a terminal. A script must name the client."""
    here = f"found here: {', '.join(client.name for client in found)}; " if found else ""
    return f"not a terminal: name the client with setup --client NAME ({here}all: {', '.join(CLIENT_NAMES)})"


def _is_here(client: Client, machine: Machine, which: Which) -> bool:
    file = client.file(machine)
    has_folder = file.parent != machine.home_folder() and Path(file.parent).is_dir()
    return has_folder or Path(file).is_file() or any(which(command) for command in client.commands)


def _has_entry(client: Client, machine: Machine, name: str) -> bool:
    try:
        return entry_of(client, read_text(Path(client.file(machine))) or "", name) is not None
    except (UnreadableConfig, UnicodeDecodeError, OSError):
        return False


@dataclass(frozen=True, slots=True)
class KeyTrial:
    """Result of testing a key: a sentence, advice, and its colour."""

    said: str
    advice: str = ""
    colour: Colour = "green"


async def try_key(environment: Mapping[str, str], keys: Path, network: str) -> KeyTrial | None:
    """Read the account with a file's keys, as the server does. Return None if the file has no Binance key."""
    from mcp_binance_server.app import running_app  # noqa: PLC0415 - seconds to load, and often no key is tried

    around = {name: value for name, value in environment.items() if name not in PAIR}
    around |= {KEY_FILE: str(keys), "BINANCE_NETWORK": network}
    try:
        settings = read_settings(around)
        async with running_app(settings) as app:
            return await _read_with(app, network, around) if app.account.principal else None
    except SettingsError as error:
        return KeyTrial("The key cannot be used.", "\n".join(error.problems), "red")


async def _read_with(app: "App", network: str, environment: Mapping[str, str]) -> KeyTrial:
    host = host_of(app.network.rest_url)
    try:
        check_trust_store(environment)
        await app.account.account()
    except InvalidCredentials as error:
        advice = error.explanation or f"Check the key at {error.help_url} and run setup again."
        return KeyTrial(f"{network} refuses the key.", advice, "red")
    except AppError as error:
        return KeyTrial(f"The key could not be tested: {error.message}", "It is stored anyway.", "yellow")
    return _accepted(host, await _rights(app, network))


async def _rights(app: "App", network: str) -> "KeyRights | None":
    from mcp_binance_server.exchange.spot.account import TELLS_RIGHTS, read_key_rights  # noqa: PLC0415 - as above

    try:
        return await read_key_rights(app.account) if network == TELLS_RIGHTS else None
    except AppError:
        return None  # The account could be read. Some hosts do not report permissions.


def _accepted(host: str, rights: "KeyRights | None") -> KeyTrial:
    if rights is None:
        return KeyTrial(f"{host} accepts the key: it may read the account.")
    if rights.withdrawals:
        return KeyTrial(
            f"{host} accepts the key, and IT CAN WITHDRAW YOUR MONEY.",
            "Untick 'Enable Withdrawals' for this key now: the server never needs it.",
            "alarm",
        )
    listed = "" if rights.ip_restricted else "Any address may use the key: give it an IP access list."
    if more := rights.beyond_reading:
        advice = "A key that can only read is enough, except for placing orders."
        return KeyTrial(f"{host} accepts the key: it may read, {', '.join(more)}.", f"{advice}\n{listed}", "yellow")
    return KeyTrial(f"{host} accepts the key: it may read, and nothing else.", listed)


def run_setup(options: argparse.Namespace) -> int:
    """Set up clients or remove this server from them. Return the exit code."""
    environment = surroundings()
    machine = this_machine(environment, shutil.which)
    talk = Talk(_say, input, getpass.getpass)
    terminal = Terminal.of(sys.stdout, environment)
    trial = partial(_tried, terminal=terminal)
    if options.trading:
        from mcp_binance_server.cli.setup.trading import set_up_trading  # noqa: PLC0415 - needed only with --trading

        code = set_up_trading(options, talk, terminal, SystemClock())
        if code != 0 or options.client is None:
            return code
    can_ask = sys.stdin.isatty()
    return Course(
        options, machine, talk, terminal, SystemClock(), trial=trial, can_ask=can_ask, prepare=compile_server
    ).run()


def compile_server() -> None:
    """Import the modules that a server imports, so that Python stores their byte code.

    This halves the time of the first start.
    """
    for module in STARTED:
        import_module(module)


class Course:
    """One run of the command, for the named client or for selected installed clients."""

    def __init__(
        self,
        options: argparse.Namespace,
        machine: Machine,
        talk: Talk,
        terminal: Terminal,
        clock: Clock,
        *,
        trial: Trial | None = None,
        can_ask: bool = True,
        which: Callable[[str], str | None] = shutil.which,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._options, self._machine, self._talk = options, machine, talk
        self._terminal, self._clock, self._trial = terminal, clock, trial
        self._can_ask, self._which, self._prepare = can_ask, which, prepare

    def run(self) -> int:
        if self._options.client is None and not self._can_ask:
            found = installed_clients(self._machine, self._which)
            sys.stderr.write(f"mcp-binance-server: {no_terminal(found)}\n")
            return EXIT_USAGE
        clients = [CLIENTS[self._options.client]] if self._options.client else self._chosen()
        code = 0
        for client in clients:
            is_last = client is clients[-1]
            options = argparse.Namespace(**{**vars(self._options), "client": client.name})
            trial = self._trial if is_last else None
            setup = Setup(options, self._machine, self._talk, self._terminal, self._clock, trial=trial)
            code = max(code, setup.run(is_last=is_last))
            # Ask for keys once: all clients of one run use the same network.
            self._options.no_keys, self._options.network = True, setup.network
        if clients and code == 0 and not (self._options.dry_run or self._options.remove):
            self._prepare()
        return code

    def _chosen(self) -> list[Client]:
        done = clients_with_entry(self._machine, self._options.name)
        if self._options.remove and not done:
            self._talk.say(f"No client has an entry named {self._options.name}; nothing to remove.\n")
            return []
        try:
            if self._options.remove:
                clients = choose_removal(self._talk, self._terminal, done, self._options.name)
            else:
                clients = choose(self._talk, self._terminal, installed_clients(self._machine, self._which), done)
        except EOFError:
            clients = []
        if not clients:
            self._talk.say("\nNothing was written.\n")
        return clients


def _tried(keys: Path, network: str, terminal: Terminal) -> str:
    import logging  # noqa: PLC0415 - often no key is tried

    from mcp_binance_server.cli.interruption import run  # noqa: PLC0415 - as above

    logging.getLogger("mcp_binance_server").addHandler(logging.NullHandler())
    if terminal.is_terminal:
        _say("\nTesting the key …\n" if terminal.has_signs else "\nTesting the key ...\n")
    verdict = run(try_key, surroundings(), keys, network)
    if verdict is None:
        return ""
    said = [terminal.paint(line, verdict.colour) for line in _wrapped(verdict.said, terminal)]
    return "\n".join([*said, *(line for part in verdict.advice.splitlines() for line in _wrapped(part, terminal))])


def _wrapped(text: str, terminal: Terminal) -> list[str]:
    return textwrap.wrap(text, terminal.width - 1, break_on_hyphens=False, break_long_words=False)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
