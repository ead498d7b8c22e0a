"""Trading on this machine as a command needs it: the folder, its journal, and one operation in it."""

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
from mcp_binance_server.trading.judgement.terms import Terms

EXIT_FAILED = 1
PERSON = "a person at a terminal"

WorkT = TypeVar("WorkT")


class NotDone(Exception):
    """The command cannot be carried out; the text is the reason for the user."""


def exchange_host(settings: Settings, terms: Terms) -> str:
    """Return the host of an order, as a server with these settings names it; the journal stores only the network."""
    own = network_of(settings)
    network = own if own.name == terms.network else NETWORKS.get(terms.network)
    return terms.network if network is None else host_of(network.rest_url)


@dataclass(frozen=True, slots=True)
class OpenJournal:
    """The journal of this machine during one operation of a command."""

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
    """The trading folder of the settings."""

    settings: Settings
    folder: Path
    clock: Clock

    @classmethod
    def found(cls, clock: Clock | None = None) -> "TradingHost":
        """Return the trading folder of servers with this user and these settings.

        Raises:
            SettingsError: the settings are invalid, or name no folder.
        """
        settings = read_settings()
        if settings.trading_dir is None:
            raise SettingsError(problems=("MCP_BINANCE_TRADING_DIR: set it, this user has no home",))
        return cls(settings, settings.trading_dir, clock or SystemClock())

    def do(self, work: Callable[[OpenJournal], Awaitable[WorkT]]) -> WorkT:
        """Open the journal for one operation; it is not held open while a person decides.

        Raises:
            NotDone: the journal cannot be used.
        """
        return run(self.doing, work)

    async def doing(self, work: Callable[[OpenJournal], Awaitable[WorkT]]) -> WorkT:
        """Do the same inside a running event loop.

        Raises:
            NotDone: the journal cannot be used.
        """
        try:
            async with opened_store(self.folder) as store:
                with owner(self.folder) as name:
                    return await work(OpenJournal(store, HostLedger(store, name), self.clock))
        except JournalUnavailable as error:
            raise NotDone(f"The journal in {self.folder} cannot be used: {error.reason}. {error.fix}.") from None


def told(command: Callable[[TradingHost], int]) -> int:
    """Run a command on this machine's folder; print the reason of a failure, and return the exit code."""
    try:
        return command(TradingHost.found())
    except NotDone as problem:
        sys.stderr.write(f"{problem}\n")
        return EXIT_FAILED


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
