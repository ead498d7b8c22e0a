"""A trading folder for tests of the commands: what servers have left in it, and what the journal says afterwards."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.trading.approvals import APPROVER_FILE, NewApprover, new_approver
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.journal.chain import Event, all_events
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.records import ALL_ACCOUNTS, Intent, NewIntent, Stopped
from mcp_binance_server.trading.journal.store import Store, opened_store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.requests import written_order
from support.terms import intent

WorkT = TypeVar("WorkT")

PASSPHRASE = "CaNaRy correct horse"  # noqa: S105 - of these tests alone
START = {"USDT": Decimal(10_000), "BTC": Decimal(1)}


@dataclass(frozen=True, slots=True)
class TradingFolder:
    """One folder with a journal, as the server of another process keeps it."""

    path: Path
    policy: Path

    def do(self, work: Callable[[Store], Awaitable[WorkT]]) -> WorkT:
        async def done() -> WorkT:
            async with opened_store(self.path) as store:
                return await work(store)

        return anyio.run(done)

    def approver(self) -> NewApprover:
        """Set up an approver as `approve --new` does."""
        made = new_approver(PASSPHRASE)
        self.path.mkdir(mode=0o700, exist_ok=True)
        (self.path / APPROVER_FILE).write_bytes(made.sealed)
        self.policy.write_text(f'[confirm]\nask = "always"\napprover = "{made.public}"\n', encoding="utf-8")
        return made

    def approvers(self, common: str | None, **own: str) -> None:
        """Have the policy name an approver for all, and for single keys others."""
        named = [f"[keys.{key}]\nmode = 'practice'\nconfirm.approver = '{public}'\n" for key, public in own.items()]
        first = "" if common is None else f"[confirm]\napprover = '{common}'\n"
        self.policy.write_text("".join([first, *named]), encoding="utf-8")

    def environment(self, **more: str) -> dict[str, str]:
        """Return the surroundings of a process that is to find this folder, and no screen."""
        return {
            "XDG_CONFIG_HOME": str(self.policy.parent.parent),
            "MCP_BINANCE_TRADING_DIR": str(self.path),
            "DISPLAY": "",
            "WAYLAND_DISPLAY": "",
            **more,
        }

    def waits(self, number: int = 1, **changes: object) -> NewIntent:
        """Have an order wait for a signature, ten minutes from now on."""
        now_ms = SystemClock().now_ms()
        new = intent(number, **{"expires_ms": now_ms + 600_000, **changes})
        self.do(lambda store: Agreements(store).wait(new.preview_id, "local", new.terms, now_ms))
        return new

    def placed(self, number: int = 1, **changes: object) -> Intent:
        """Have an order stand on paper."""
        return self.do(partial(_placed, intent(number, **changes)))

    def intent(self, preview_id: str) -> Intent | None:
        return self.do(lambda store: HostLedger(store, "test").find(preview_id))  # type: ignore[arg-type]

    def signature(self, new: NewIntent) -> str | None:
        return self.do(lambda store: Agreements(store).signature(new.preview_id))

    def stopped(self) -> Stopped | None:
        return self.do(lambda store: HostLedger(store, "test").stopped())

    def stop(self, why: str, account: str = ALL_ACCOUNTS) -> None:
        """Have a server stop an account, or somebody all of them."""
        now_ms = SystemClock().now_ms()
        self.do(lambda store: HostLedger(store, "a server").stop(why, "a server", now_ms, account))

    def held(self) -> list[str]:
        """Name the accounts that are stopped; everybody's name is empty."""
        return [each.account for each in self.do(lambda store: HostLedger(store, "test").stops())]

    def events(self) -> list[Event]:
        return self.do(lambda store: store.read(lambda rows: [*all_events(rows)]))

    def states(self) -> list[str]:
        return [each.state for each in self.events()]


async def _placed(new: NewIntent, store: Store) -> Intent:
    ledger, now_ms = HostLedger(store, "a server"), SystemClock().now_ms()
    exchange = PaperExchange(store, START, 0, lambda: now_ms)
    await ledger.claim(new, charges(new.terms, Policy(), new.way), now_ms)
    await ledger.mark_sent(new.preview_id, now_ms)
    order = written_order(new.terms, new.client_order_id)
    row = await exchange.accept(new.terms.account, order, Pair("BTC", "USDT"))
    await ledger.move(new.preview_id, "ACKED", {}, now_ms)
    return await ledger.follow(new.preview_id, row.order, now_ms)
