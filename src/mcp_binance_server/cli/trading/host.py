"""Access of a trading command to this machine's folder and journal."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mcp_binance_server.cli.interruption import run
from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.endpoints import NETWORKS, host_of
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.startup_checks import network_of
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.store import Store, opened_store
from mcp_binance_server.trading.judgement.terms import OFFLINE, Terms, command

EXIT_FAILED = 1
PERSON = "a person at a terminal"

WorkT = TypeVar("WorkT")


class CommandFailed(Exception):
    """A command failed. The text is the reason for the user."""


def settings_of(*, is_demo: bool) -> Settings:
    """Return the settings of this user's servers, or of this user's demos.

    Raises:
        SettingsError: the settings are invalid, or demos keep no folder.
    """
    if not is_demo:
        return read_settings()
    from mcp_binance_server.cli.demo import kept_settings  # noqa: PLC0415 - needed only with --demo

    return kept_settings()


def exchange_host(settings: Settings, terms: Terms) -> str:
    """Return the host name of an order's exchange. The journal stores only the network."""
    own = network_of(settings)
    network = own if own.name == terms.network else NETWORKS.get(terms.network)
    return terms.network if network is None else host_of(network.rest_url)


@dataclass(frozen=True, slots=True)
class OpenJournal:
    """The open journal during one operation of a command."""

    store: Store
    ledger: HostLedger
    clock: Clock

    @property
    def agreements(self) -> Agreements:
        return Agreements(self.store)

    @property
    def reader(self) -> JournalReader:
        return JournalReader(self.store)

    def now_ms(self) -> int:
        return self.clock.now_ms()


@dataclass(frozen=True, slots=True)
class TradingHost:
    """The trading folder and its settings."""

    settings: Settings
    folder: Path
    clock: Clock
    is_demo: bool = False

    @classmethod
    def found(cls, clock: Clock | None = None, *, is_demo: bool = False) -> "TradingHost":
        """Return the trading folder of this user's servers, or of this user's demos.

        Raises:
            SettingsError: the settings are invalid, or name no folder.
        """
        settings = settings_of(is_demo=is_demo)
        if settings.trading_dir is None:
            raise SettingsError(problems=("MCP_BINANCE_TRADING_DIR: set it, this user has no home",))
        return cls(settings, settings.trading_dir, clock or SystemClock(), is_demo)

    def command(self, words: str) -> str:
        """Return a whole command line for this folder."""
        return command(words, OFFLINE if self.is_demo else self.settings.network)

    def do(self, work: Callable[[OpenJournal], Awaitable[WorkT]]) -> WorkT:
        """Open the journal for one operation. It is closed while a person decides.

        Raises:
            CommandFailed: the journal cannot be used.
        """
        return run(self.doing, work)

    async def doing(self, work: Callable[[OpenJournal], Awaitable[WorkT]]) -> WorkT:
        """Run an operation on the journal inside a running event loop.

        Raises:
            CommandFailed: the journal cannot be used.
        """
        try:
            async with opened_store(self.folder) as store:
                with owner(self.folder) as name:
                    return await work(OpenJournal(store, HostLedger(store, name), self.clock))
        except JournalUnavailable as error:
            raise CommandFailed(f"The journal in {self.folder} cannot be used: {error.reason}. {error.fix}.") from None


def told(work: Callable[[TradingHost], int], *, is_demo: bool = False) -> int:
    """Run a command on the trading folder and return its exit code. Print the reason if it fails."""
    try:
        return work(TradingHost.found(is_demo=is_demo))
    except CommandFailed as problem:
        sys.stderr.write(f"{problem}\n")
        return EXIT_FAILED


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
