"""The command: ask, show, write, try."""

import argparse
import getpass
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mcp_binance_server.app import App, running_app
from mcp_binance_server.cli.setup.choice import (
    choose,
    choose_removal,
    clients_with_entry,
    installed_clients,
    no_terminal,
)
from mcp_binance_server.cli.setup.clients import CLIENTS, Client, Machine, this_machine
from mcp_binance_server.cli.setup.files import Talk
from mcp_binance_server.cli.setup.one_client import Setup, Trial
from mcp_binance_server.cli.terminal import Colour, Terminal
from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.domain.account import KeyRights
from mcp_binance_server.errors import AppError, InvalidCredentials, SettingsError
from mcp_binance_server.exchange.networks import host_of
from mcp_binance_server.exchange.spot.key_rights import TELLS_RIGHTS, read_key_rights
from mcp_binance_server.key_file import PAIR
from mcp_binance_server.key_file import VARIABLE as KEY_FILE
from mcp_binance_server.settings import read_settings, surroundings

EXIT_USAGE = 2


@dataclass(frozen=True, slots=True)
class KeyTrial:
    """What became of a trial: a sentence, what to do about it, and how alarming it is."""

    said: str
    advice: str = ""
    colour: Colour = "green"


async def try_key(environment: Mapping[str, str], keys: Path, network: str) -> KeyTrial | None:
    """Read the account with the keys of a file, as the server will; none if the file holds no Binance key."""
    around = {name: value for name, value in environment.items() if name not in PAIR}
    around |= {KEY_FILE: str(keys), "BINANCE_NETWORK": network}
    try:
        settings = read_settings(around)
        async with running_app(settings) as app:
            return await _read_with(app, network) if app.account.principal else None
    except SettingsError as error:
        return KeyTrial("The key cannot be used.", "\n".join(error.problems), "red")


async def _read_with(app: App, network: str) -> KeyTrial:
    host = host_of(app.network.rest_url)
    try:
        await app.account.account()
    except InvalidCredentials as error:
        advice = error.explanation or f"Look at the key at {error.help_url} and run this again."
        return KeyTrial(f"{network} refuses the key.", advice, "red")
    except AppError as error:
        return KeyTrial(f"The key could not be tried: {error.message}", "It is stored all the same.", "yellow")
    return _accepted(host, await _rights(app, network))


async def _rights(app: App, network: str) -> KeyRights | None:
    try:
        return await read_key_rights(app.account) if network == TELLS_RIGHTS else None
    except AppError:
        return None  # the account was read: that matters, and not every host tells the rest


def _accepted(host: str, rights: KeyRights | None) -> KeyTrial:
    if rights is None:
        return KeyTrial(f"{host} accepts the key: it may read the account.")
    if rights.withdrawals:
        return KeyTrial(
            f"{host} accepts the key, and IT CAN WITHDRAW YOUR MONEY.",
            "Untick 'Enable Withdrawals' for this key now: nothing here needs it.",
            "alarm",
        )
    listed = "" if rights.ip_restricted else "Any address may use the key: give it an IP access list."
    if more := rights.beyond_reading:
        advice = "A key that can only read is enough for everything but placing orders."
        return KeyTrial(f"{host} accepts the key: it may read, {', '.join(more)}.", f"{advice}\n{listed}", "yellow")
    return KeyTrial(f"{host} accepts the key: it may read, and nothing else.", listed)


def run_setup(options: argparse.Namespace) -> int:
    """Set clients up, or take us out of them; return the exit code."""
    environment = surroundings()
    machine = this_machine(environment, shutil.which)
    talk = Talk(_say, input, getpass.getpass)
    terminal = Terminal.of(sys.stdout, environment)
    trial = partial(_tried, terminal=terminal)
    return Course(options, machine, talk, terminal, SystemClock(), trial=trial, can_ask=sys.stdin.isatty()).run()


class Course:
    """One run of the command: the client that was named, or those that are found and chosen."""

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
    ) -> None:
        self._options, self._machine, self._talk = options, machine, talk
        self._terminal, self._clock, self._trial = terminal, clock, trial
        self._can_ask, self._which = can_ask, which

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
            # The keys are asked for once, and all clients of one run are meant for one network.
            self._options.no_keys, self._options.network = True, setup.network
        return code

    def _chosen(self) -> list[Client]:
        done = clients_with_entry(self._machine, self._options.name)
        if self._options.remove and not done:
            self._talk.say(f"No client here has an entry named {self._options.name}; nothing to remove.\n")
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
    import logging  # noqa: PLC0415 - most of a minute may pass before a key is tried, and often none is

    from mcp_binance_server.cli.interruption import run  # noqa: PLC0415 - likewise

    logging.getLogger("mcp_binance_server").addHandler(logging.NullHandler())
    if terminal.is_terminal:
        _say("\nTrying the key …\n" if terminal.has_signs else "\nTrying the key ...\n")
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
