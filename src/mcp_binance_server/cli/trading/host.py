"""What trades on this machine, as a command finds it: the folder, its journal, and a moment of work in it."""

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
    """What was asked for cannot be done; the text says why, to whoever asked."""


def exchange_host(settings: Settings, terms: Terms) -> str:
    """Name the host that an order is for, as servers with these settings do; the journal has its network alone."""
    own = network_of(settings)
    network = own if own.name == terms.network else NETWORKS.get(terms.network)
    return terms.network if network is None else host_of(network.rest_url)


@dataclass(frozen=True, slots=True)
class OpenJournal:
    """The journal of this machine while a command works in it."""

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
        """Return the folder that servers of this user and these settings trade in.

        Raises:
            SettingsError: the settings cannot be used, or name no folder.
        """
        settings = read_settings()
        if settings.trading_dir is None:
            raise SettingsError(problems=("MCP_BINANCE_TRADING_DIR: set it, this user has no home",))
        return cls(settings, settings.trading_dir, clock or SystemClock())

    def do(self, work: Callable[[OpenJournal], Awaitable[WorkT]]) -> WorkT:
        """Open the journal for one piece of work; it is not held while a person thinks.

        Raises:
            NotDone: the journal cannot be used.
        """
        return run(self.doing, work)

    async def doing(self, work: Callable[[OpenJournal], Awaitable[WorkT]]) -> WorkT:
        """Do the same for who runs already.

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
    """Run a command on this machine's folder; return the exit code, and say why if it could not be done."""
    try:
        return command(TradingHost.found())
    except NotDone as problem:
        sys.stderr.write(f"{problem}\n")
        return EXIT_FAILED


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
