"""Accounts of callers, with their own keys or on paper. They are opened at the first call and closed when idle."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.abc

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.account import AccountClient
from mcp_binance_server.services.trading.trader import OpenAccount, Trader
from mcp_binance_server.trading.errors import TradingNotReady
from mcp_binance_server.trading.fleet.keeper import KeeperPace
from mcp_binance_server.trading.judgement.policy import Policy

LOG = logging.getLogger(__name__)

Opening = Callable[[], AbstractAsyncContextManager[OpenAccount]]
KeyOpening = Callable[[Principal, KeeperPace], AbstractAsyncContextManager[OpenAccount]]

# Time in ms after which an idle account and its key are dropped.
LINGER_MS = 600_000
LOOK_MS = 15_000
# Most open accounts. Each has a few tasks and, at Binance, a connection.
MOST_OPEN = 500
OPENING_SECS = 5.0
# The shared state decides about stops and limits. These ticks only copy other workers' orders into the journal.
GUESTS_PACE = KeeperPace(tick_ms=1_000, alive_ms=5_000)


@dataclass(eq=False)
class _HeldAccount:
    """Account in the pool, from the start of its opening until it is closed."""

    began_ms: float
    used_ms: float
    account: OpenAccount | None = None
    problem: AppError | None = None
    is_known: anyio.Event = field(default_factory=anyio.Event)
    """Set when the account is open or could not be opened."""
    is_over: anyio.Event = field(default_factory=anyio.Event)


@dataclass(eq=False)
class AccountPool:
    """Open accounts, each in its own task. A failure in one does not affect the others."""

    clock: Clock
    most: int = MOST_OPEN
    _held: dict[str, _HeldAccount] = field(default_factory=dict[str, _HeldAccount])
    _tasks: anyio.abc.TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Hold accounts while the context is open. On exit, wait for orders in progress and drop all keys."""
        async with anyio.create_task_group() as around:
            around.start_soon(self._close_idle)
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                try:
                    yield
                finally:
                    self._tasks = None
                    for each in self._held.values():
                        each.is_over.set()
            around.cancel_scope.cancel()

    @property
    def accounts(self) -> list[OpenAccount]:
        """The accounts that are open now."""
        return [each.account for each in self._held.values() if each.account is not None]

    async def opened(self, name: str, opening: Opening) -> OpenAccount:
        """Return an account, opened if necessary. Concurrent callers share one opening.

        Raises:
            TradingNotReady: it is not open yet, or too many accounts are open.
            AppError: it cannot be opened.
        """
        held = self._held.get(name) or self._begun(name, opening)
        now = held.used_ms = self.clock.monotonic_ms()
        with anyio.move_on_after(max(0.0, OPENING_SECS - (now - held.began_ms) / 1000)):
            await held.is_known.wait()
            if held.account is not None:
                await held.account.situation_reader.desk.ready()  # an early first call must not be refused
        if held.problem is not None:
            raise held.problem
        if held.account is None or held.is_over.is_set():
            raise TradingNotReady(step="this account is open")
        return held.account

    def _begun(self, name: str, opening: Opening) -> _HeldAccount:
        if self._tasks is None or len(self._held) >= self.most:
            raise TradingNotReady(step="the account of another caller is closed")
        now = self.clock.monotonic_ms()
        held = self._held[name] = _HeldAccount(now, now)
        self._tasks.start_soon(self._hold, name, opening, held)
        return held

    async def _hold(self, name: str, opening: Opening, held: _HeldAccount) -> None:
        try:
            async with opening() as account:
                held.account = account
                held.is_known.set()
                await held.is_over.wait()
        except AppError as error:
            held.problem = error
            LOG.warning("account %s was not opened: %s", name, error.message)
        except Exception:
            LOG.exception("account %s was closed by an unexpected error", name)
        finally:
            held.is_known.set()
            held.is_over.set()
            self._held.pop(name, None)

    async def _close_idle(self) -> None:
        while True:
            await self.clock.sleep_until_ms(self.clock.monotonic_ms() + LOOK_MS)
            for held in [*self._held.values()]:
                is_idle = self.clock.monotonic_ms() - held.used_ms >= LINGER_MS
                if is_idle and held.account is not None and not await _has_doubts(held.account):
                    held.is_over.set()


@dataclass(eq=False)
class KeyAccounts:
    """Accounts of the keys that come with calls.

    An account is shown only after the exchange has confirmed the caller's key.
    """

    own: OpenAccount
    opening: KeyOpening
    policy: Policy
    caller: ExchangeCaller
    held: AccountPool

    async def of(self, trader: Trader) -> OpenAccount | None:
        """Return the account of a call's own key, opened if necessary. Return None if the rules do not name the key."""
        brought = trader.brought
        if brought is None or not trader.is_refused or trader.of is None:
            return None
        if self.policy.mode_of(brought.key_id) != self.own.situation_reader.drafter.mode:
            return None
        if brought not in self.caller.accepted:
            # Any client may know the ID of a key. Show nothing before the exchange has accepted a signature of the key.
            await AccountClient(self.caller, brought).account()
        if brought.key_id == self.own.name:
            return self.own
        return await self.held.opened(brought.key_id, lambda: self.opening(brought, GUESTS_PACE))


@dataclass(eq=False)
class VisitorAccounts:
    """Paper accounts of visitors. All servers of a fleet share them."""

    own: OpenAccount
    opening: Callable[[str, KeeperPace], AbstractAsyncContextManager[OpenAccount]]
    held: AccountPool

    async def of(self, trader: Trader) -> OpenAccount | None:
        """Return the account of a visitor, opened if necessary."""
        name = trader.account
        if name == self.own.name:
            return self.own
        return await self.held.opened(name, lambda: self.opening(name, GUESTS_PACE))

    async def catch_up(self, names: frozenset[str]) -> None:
        """Record the changes of these accounts' orders. Accounts that are not open here are ignored."""
        for each in (self.own, *self.held.accounts):
            if each.name in names:
                await each.situation_reader.desk.catch_up((each.name,))


async def _has_doubts(account: OpenAccount) -> bool:
    """Return True if an order has an unknown outcome. Its key is kept to query the order."""
    try:
        return bool(await account.situation_reader.desk.ledger.unresolved(account.name))
    except AppError:
        return True
