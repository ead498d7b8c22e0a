"""Accounts of callers, opened at their first call and closed when idle: of keys that they bring, and on paper."""

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

# An account, and the key to it, is held for so long after its last call.
LINGER_MS = 600_000
LOOK_MS = 15_000
# Each holds a few tasks, and at Binance a connection.
MOST_OPEN = 500
OPENING_SECS = 5.0
# What stops or limits an account is decided in the shared state: these only bring what others did into the journal.
GUESTS_PACE = KeeperPace(tick_ms=1_000, alive_ms=5_000)


@dataclass(eq=False)
class _HeldAccount:
    """An account on its way to be open, and until it is closed."""

    began_ms: float
    used_ms: float
    account: OpenAccount | None = None
    problem: AppError | None = None
    is_known: anyio.Event = field(default_factory=anyio.Event)
    """Set once it is open, or once it is known that it cannot be."""
    is_over: anyio.Event = field(default_factory=anyio.Event)


@dataclass(eq=False)
class HeldAccounts:
    """Accounts that are open now, each in a task of its own: what goes wrong in one is nothing to the others."""

    clock: Clock
    most: int = MOST_OPEN
    _held: dict[str, _HeldAccount] = field(default_factory=dict[str, _HeldAccount])
    _tasks: anyio.abc.TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Hold accounts until the block ends; then orders under way are waited for, and every key is let go."""
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
        """Return an account, opened now if it was not; whoever comes meanwhile waits for the same.

        Raises:
            TradingNotReady: it is not open yet, or there is no room for it.
            AppError: it cannot be opened.
        """
        held = self._held.get(name) or self._begun(name, opening)
        now = held.used_ms = self.clock.monotonic_ms()
        with anyio.move_on_after(max(0.0, OPENING_SECS - (now - held.began_ms) / 1000)):
            await held.is_known.wait()
            if held.account is not None:
                await held.account.surveyor.desk.ready()  # a first question must not be refused for coming early
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
            LOG.exception("account %s was closed by a defect", name)
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
    """The accounts behind keys that come with calls. Whose key it is the exchange says: nothing is shown before."""

    own: OpenAccount
    opening: KeyOpening
    policy: Policy
    caller: ExchangeCaller
    held: HeldAccounts

    async def of(self, trader: Trader) -> OpenAccount | None:
        """Return the account behind the key of a call, opened by now; None for a key that the rules do not name."""
        brought = trader.brought
        if brought is None or not trader.is_refused or trader.of is None:
            return None
        if self.policy.mode_of(brought.key_id) != self.own.surveyor.drafter.mode:
            return None
        if brought not in self.caller.accepted:
            # Anybody may know the name of a key. Before the exchange has taken its signature nothing of it is told.
            await AccountClient(self.caller, brought).account()
        if brought.key_id == self.own.name:
            return self.own
        return await self.held.opened(brought.key_id, lambda: self.opening(brought, GUESTS_PACE))


@dataclass(eq=False)
class VisitorAccounts:
    """The accounts on paper of visitors, which all servers of a fleet share."""

    own: OpenAccount
    opening: Callable[[str, KeeperPace], AbstractAsyncContextManager[OpenAccount]]
    held: HeldAccounts

    async def of(self, trader: Trader) -> OpenAccount | None:
        """Return the account of a visitor, opened by now."""
        name = trader.account
        if name == self.own.name:
            return self.own
        return await self.held.opened(name, lambda: self.opening(name, GUESTS_PACE))

    async def catch_up(self, names: frozenset[str]) -> None:
        """Write down what became of orders of some accounts, where these are open here."""
        for each in (self.own, *self.held.accounts):
            if each.name in names:
                await each.surveyor.desk.catch_up((each.name,))


async def _has_doubts(account: OpenAccount) -> bool:
    """Tell whether an order may stand that nobody knows of: while its key is here it can be asked for."""
    try:
        return bool(await account.surveyor.desk.ledger.unresolved(account.name))
    except AppError:
        return True
