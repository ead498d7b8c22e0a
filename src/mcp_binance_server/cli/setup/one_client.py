"""Setup of one client: read, ask, show, confirm, write, print the next steps."""

import argparse
import getpass
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from mcp_binance_server.cli.setup.clients import CLIENTS, Client, Machine, own_folder
from mcp_binance_server.cli.setup.files import (
    KeyPlace,
    Talk,
    UnreadableConfig,
    ask_for_keys,
    has_keyring,
    keep_copy,
    read_text,
    write_text,
)
from mcp_binance_server.cli.setup.plan import (
    FileChange,
    entry_of,
    holds_keys,
    our_entries,
    plan_addition,
    plan_removal,
    variables_of,
)
from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.endpoints import NETWORKS
from mcp_binance_server.installation import own_command, with_package
from mcp_binance_server.key_file import VARIABLE as KEY_FILE
from mcp_binance_server.key_file import usual_key_file

EXIT_REFUSED = 1
MODE, TOOLSETS, CHART_IMAGES = "MCP_BINANCE_TRADING", "MCP_BINANCE_TOOLSETS", "MCP_BINANCE_CHART_IMAGES"
# Function that tries the stored keys of a network and returns the outcome as text.
Trial = Callable[[Path, str], str]


class Setup:
    """Setup of one client."""

    def __init__(
        self,
        options: argparse.Namespace,
        machine: Machine,
        talk: Talk,
        terminal: Terminal,
        clock: Clock,
        *,
        trial: Trial | None = None,
    ) -> None:
        self._options, self._machine, self._talk = options, machine, talk
        self._terminal, self._clock, self._trial = terminal, clock, trial
        self._client: Client = CLIENTS[options.client]
        self.network = "mainnet"

    def run(self, *, is_last: bool = True) -> int:
        """Set up the client. After the last client, print the next steps."""
        options = self._options
        if options.keyring and not has_keyring():
            how = with_package("keyring")
            raise SettingsError(problems=(f"--keyring: the package keyring is not installed: {how}",))
        try:
            self.network = self._chosen_network()
            place = KeyPlace(usual_key_file(own_folder(self._machine), self.network), in_keyring=options.keyring)
            self._plan(place, {})  # Refuse a file that cannot be edited before asking for a key.
            keys = self._keys(place)
            plan = self._plan(place, keys)
        except (UnreadableConfig, UnicodeDecodeError, OSError) as problem:
            return self._refuse(problem)
        self._show(plan, place, keys)
        if options.dry_run:
            self._say("Nothing was written (--dry-run).")
            return 0
        if plan.changes and not self._agreed():
            self._say("Nothing was written.")
            return EXIT_REFUSED
        code = self._write(plan, place, keys)
        if code == 0:
            self._say_next(place, is_last=is_last)
        return code

    def _plan(self, place: KeyPlace, keys: dict[str, str]) -> FileChange:
        text = read_text(Path(self._client.file(self._machine)))
        if self._options.remove:
            return plan_removal(self._client, self._machine, text, name=self._options.name)
        before = entry_of(self._client, text or "", self._options.name)
        old = variables_of(before)
        environment: dict[str, str | None] = {"BINANCE_NETWORK": None if self.network == "mainnet" else self.network}
        if self._options.essential or (before is None and self._client.is_essential):
            environment[TOOLSETS] = "essential"
        if before is None and self._client.links_pictures:
            environment[CHART_IMAGES] = "link"
        named = old.get(KEY_FILE)
        if keys or named is None or Path(str(named)).parent == place.path.parent:
            # Set the path: clients pass on few variables, so the server may compute a different default.
            environment[KEY_FILE] = str(place.path) if keys or place.path.is_file() else None
        if self._options.trading and MODE not in old:
            environment[MODE] = "paper"
        return plan_addition(self._client, self._machine, text, name=self._options.name, environment=environment)

    def _chosen_network(self) -> str:
        """Return the requested network, or the network of the existing entry."""
        text = read_text(Path(self._client.file(self._machine)))
        named = variables_of(entry_of(self._client, text or "", self._options.name)).get("BINANCE_NETWORK")
        return self._options.network or (named if isinstance(named, str) and named in NETWORKS else "mainnet")

    def _keys(self, place: KeyPlace) -> dict[str, str]:
        options = self._options
        if options.no_keys or options.remove or options.dry_run:
            return {}
        if not sys.stdin.isatty() and self._talk.ask_secret is getpass.getpass:
            self._say("This is not a terminal, so setup asks for no keys; run it in a terminal to store them.")
            return {}
        kept = place.stored()
        keys = ask_for_keys(self._talk, kept, NETWORKS[self.network].help_url)
        return {} if keys == kept else keys

    def _show(self, plan: FileChange, place: KeyPlace, keys: dict[str, str]) -> None:
        paint = self._terminal.paint
        self._say(f"\n{paint(self._client.title, 'bold')} reads {plan.path}\n")
        for line in plan.diff():
            self._say(painted(line, self._terminal))
        if not plan.changes:
            self._say("The entry is already up to date; nothing to change.")
        self._say("")
        if keys:
            where = "the keyring, with a reference in" if place.in_keyring else "a file only you can read:"
            self._say(f"Your keys will be stored in {where}\n  {place.path}\n")
        if holds_keys(plan.entry_before) and not self._options.remove:
            self._say(paint("The current entry contains a key in plain text.", "yellow") + self._what_of_it(plan))

    def _what_of_it(self, plan: FileChange) -> str:
        if KEY_FILE in plan.after:
            return " It is removed, but the copy\nof the old file still contains it: delete that copy.\n"
        return " Run setup without\n--no-keys to move it to a file that only you can read.\n"

    def _agreed(self) -> bool:
        if self._options.yes:
            return True
        try:
            return self._talk.ask("Write this? [y/N] ").strip().lower() in {"y", "yes"}
        except EOFError:
            self._say("")
            return False

    def _write(self, plan: FileChange, place: KeyPlace, keys: dict[str, str]) -> int:
        path = Path(plan.path)
        try:
            if plan.changes and read_text(path) != plan.before:
                return self._refuse(OSError(0, "the file has changed; run setup again"))
            if keys:
                place.store(keys)
                self._say(f"Keys stored:  {place.path}")
            if plan.changes:
                if plan.before is not None:
                    self._say(f"The old file: {keep_copy(path, self._clock)}")
                write_text(path, plan.after)
                self._say(f"Written:      {path}")
        except OSError as problem:
            return self._refuse(problem)
        return 0

    def _say_next(self, place: KeyPlace, *, is_last: bool) -> None:
        self._say(f"\n{self._client.restart}")
        if self._options.remove:
            if place.path.is_file():
                self._say(f"Your keys were kept. {self._use_of(place)}")
            return
        if not is_last:
            return
        if self._trial is not None and place.path.is_file() and (said := self._trial(place.path, self.network)):
            self._say(f"\n{said}")
        self._say('\nThen ask: "What is the price of Bitcoin, and how deep is its order book?"')
        self._say(f"If something does not work:\n  {self._doctor()}")

    def _use_of(self, place: KeyPlace) -> str:
        """Return a sentence that names the clients still using the keys, or the command that deletes the keys."""
        entries, unreadable = our_entries(self._machine)
        users = sorted({entry.client.title for entry in entries if entry.reads(place.path, self.network)})
        if users:
            return f"{', '.join(users)} still {'uses' if len(users) == 1 else 'use'} them."
        if unreadable:
            return f"Other clients may use them: {unreadable[0]} cannot be read."
        return f"To delete them too: {_removal(place.path, self._machine)}"

    def _doctor(self) -> str:
        doctor = f"{own_command()} doctor"
        if self.network == "mainnet":
            return doctor
        if self._machine.system == "windows":
            return f'$env:BINANCE_NETWORK="{self.network}"; {doctor}'
        return f"BINANCE_NETWORK={self.network} {doctor}"

    def _refuse(self, problem: Exception) -> int:
        path = self._client.file(self._machine)
        if isinstance(problem, UnreadableConfig):
            reason = f"{path}:{problem}"
        elif isinstance(problem, UnicodeDecodeError):
            reason = f"{path}: not UTF-8 text (byte {problem.start})"
        else:
            reason = f"{path}: {getattr(problem, 'strerror', None) or 'cannot be read or written'}"
        self._talk.say(f"{reason}\nNothing was changed. Correct the file and run setup again.\n")
        return EXIT_REFUSED

    def _say(self, line: str) -> None:
        self._talk.say(f"{line}\n")


def _removal(path: Path, machine: Machine) -> str:
    return f'del "{path}"' if machine.system == "windows" else f"rm {shlex.quote(str(path))}"


def painted(line: str, terminal: Terminal) -> str:
    """Return a line of a diff in its usual colour."""
    if line.startswith(("---", "+++")):
        return terminal.paint(line, "bold")
    if line.startswith("@@"):
        return terminal.paint(line, "cyan")
    if line.startswith("+"):
        return terminal.paint(line, "green")
    return terminal.paint(line, "red") if line.startswith("-") else line
