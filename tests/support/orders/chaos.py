"""Orders on a network that loses, tears and holds back what is said, and what exchange and journal say of them then."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import anyio
import httpx2

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import StreamFault, StreamKind
from mcp_binance_server.trading.journal.ledger import HostLedger
from support.attacked import Assistant, FormUser
from support.desk import Loop, raw
from support.mutating import mutant
from support.orders.wire import wire_market
from support.paper_market import World, new_world, rows
from support.planting import Unread

# Every other of them happens to a request that was executed.
HARMS = ("reset", "stall", "cut", "garbage", "failure")
WRITTEN_SHARE, READ_SHARE = 0.6, 0.25
PRIVATE = ("/order", "/openOrders", "/allOrders", "/myTrades")
STREAMS: tuple[StreamKind, ...] = ("drop", "duplicate", "swap", "malformed", "cut", "silent")
SYMBOLS = {"BTCUSDT": "0.0004", "ETHUSDT": "0.02", "SOLUSDT": "0.5"}
# Books are asked for: to tell three of them each tenth of a second would be most of the work.
NO_BOOKS = {"MCP_BINANCE_ORDERBOOK_ANALYTICS": "false"}
POLICY = """
[limits]
orders_per_minute = 100000
orders_per_day = 100000
open_orders = 100000
"""
# Longer than an order can still come to light, and than one is asked for in between.
CALM_SECS = 45
STEP_MS = 250
OPEN = ("NEW", "PARTIALLY_FILLED")


class ChaosLoop(Loop):
    """A network that harms requests for orders, and their answers."""

    def __init__(self, exchange: SimulatedExchange, random: Random) -> None:
        super().__init__(exchange)
        self._random = random
        self.is_harming = True
        self.done: Counter[str] = Counter()
        self._next: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        is_write = request.method != "GET"
        is_private = is_write or request.url.path.endswith(PRIVATE)
        share = (WRITTEN_SHARE if is_write else READ_SHARE) if self.is_harming and is_private else 0
        if self._random.random() >= share:
            return await super().handle_async_request(request)
        # Each of them comes once in five: what came first is not the same in each run, for tasks take turns.
        self._next = self._next or self._random.sample(HARMS, len(HARMS))
        harm, is_executed = self._next.pop(), self._random.random() < 0.5
        self.done[f"{request.method} {harm}, {'' if is_executed else 'not '}executed"] += 1
        answer = await super().handle_async_request(request) if is_executed else None
        return await self._harmed(harm, answer)

    async def _harmed(self, harm: str, answer: httpx2.Response | None) -> httpx2.Response:
        if harm == "stall":
            raise httpx2.ReadTimeout("no answer")
        if harm == "reset" or (answer is None and harm in {"cut", "garbage"}):
            raise httpx2.ReadError("reset by peer")
        if harm == "failure" or answer is None:
            return httpx2.Response(503, stream=Unread(b"<html>503</html>"))
        body = await answer.aread()
        torn = body[: self._random.randrange(len(body))] if harm == "cut" else mutant(self._random, body)
        return httpx2.Response(answer.status_code, stream=Unread(torn))


@dataclass
class ChaosRun:
    """What was done, and what came of it."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    harms: Counter[str] = field(default_factory=Counter[str])
    disagreements: list[str] = field(default_factory=list[str])
    failed: list[str] = field(default_factory=list[str])
    orders: int = 0
    requests: int = 0


async def run_chaos(folder: Path, rounds: int, sessions: int, seed: int = 1) -> ChaosRun:
    """Place and cancel while everything goes wrong, over several lives of the server; then let there be peace."""
    world, random, run = new_world(), Random(f"chaos {seed}"), ChaosRun()
    for session in range(sessions):
        await _lived(folder, world, random, run, rounds, is_last=session == sessions - 1)
    run.disagreements = disagreements(folder, world.exchange)
    run.orders, run.requests = len(world.exchange.orders.accepted), world.exchange.orders.received.requests
    return run


async def _lived(
    folder: Path, world: World, random: Random, run: ChaosRun, rounds: int, *, is_last: bool
) -> None:  # fmt: skip
    loops: list[ChaosLoop] = []

    def network(exchange: SimulatedExchange) -> Loop:
        loops.append(ChaosLoop(exchange, random))
        return loops[0]

    user = FormUser("nobody")
    async with wire_market(folder, POLICY, "practice", world, environment=NO_BOOKS, transport=network) as market:
        of = Assistant(market, await market.join("auto", elicitation_callback=user.answer), user)
        client = Trading(of, random, run)
        await market.run(3, STEP_MS)
        for _ in range(rounds):
            await client.turn()
        if is_last:
            loops[0].is_harming = False
            world.exchange.hub.faults.clear()
            await client.resume()
            await market.run(CALM_SECS, STEP_MS)
            await of.call("get_trading_status", {})
            await market.run(1, STEP_MS)
        run.harms.update(loops[0].done)
        run.failed += of.failed


@dataclass
class Trading:
    """One who places, asks twice, and cancels, whatever is answered."""

    of: Assistant
    random: Random
    run: ChaosRun
    known: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def turn(self) -> None:
        random, market = self.random, self.of.market
        if random.random() < 0.3:
            market.exchange.hub.faults.add(StreamFault(kind=random.choice(STREAMS), times=random.choice((1, 3))))
        symbol = random.choice([*SYMBOLS])
        preview = await self.of.call("preview_order", await self._order(symbol))
        if preview_id := preview.get("preview_id"):
            for told in await self._together("place_order", [{"preview_id": preview_id}] * random.choice((1, 1, 2))):
                self._note(symbol, told)
        if self.known and random.random() < 0.5:
            at, client_order_id = random.choice(self.known)
            given = {"symbol": at, "client_order_id": client_order_id}
            for told in await self._together("cancel_order", [given] * random.choice((1, 1, 2))):
                self.run.outcomes[f"cancel {told.get('outcome') or told.get('error_type')}"] += 1
        await market.run(random.choice((0.25, 0.5, 3, 12)), STEP_MS)
        await self.resume()

    async def resume(self) -> None:
        """Have a person take trading up again: so many unknown outcomes stop it."""
        trading = self.of.market.app.context.trading
        assert trading is not None
        ledger = trading.desk.ledger
        if await trading.desk.reader.stops():
            self.run.outcomes["stopped"] += 1
            await HostLedger(ledger.store, ledger.owner).resume("a test", self.of.market.exchange.now_ms())

    async def _together(self, tool: str, calls: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
        """Call at once, as a client does that tries again too early."""
        answers: list[dict[str, Any]] = []

        async def call(given: dict[str, str]) -> None:
            result = await self.of.client.call_tool(tool, given)
            answers.append(dict(result.structured_content or {}))

        async def all_of_them() -> list[dict[str, Any]]:
            async with anyio.create_task_group() as tasks:
                for given in calls:
                    tasks.start_soon(call, given)
            return answers

        return await self.of.market.answered(all_of_them)

    async def _order(self, symbol: str) -> dict[str, str]:
        ticker = await raw(self.of.market.exchange, f"ticker/price?symbol={symbol}")
        side, kind = self.random.choice(("BUY", "SELL")), self.random.choice(("LIMIT", "LIMIT", "MARKET"))
        order = {"symbol": symbol, "side": side, "type": kind, "quantity": SYMBOLS[symbol]}
        away = self.random.choice(("0.995", "0.999", "1.000") if side == "BUY" else ("1.005", "1.001", "1.000"))
        price = Decimal(ticker["price"]) * Decimal(away)
        return order if kind == "MARKET" else {**order, "price": f"{price:.2f}"}

    def _note(self, symbol: str, told: dict[str, Any]) -> None:
        self.run.outcomes[str(told.get("outcome") or told.get("error_type"))] += 1
        if told.get("client_order_id"):
            self.known.append((symbol, told["client_order_id"]))


def disagreements(folder: Path, exchange: SimulatedExchange) -> list[str]:
    """Return where exchange and journal do not say the same of an order, worked out from what each has written."""
    exchange.orders.engine.settle(exchange.now_ms())
    accepted = Counter(each.client_order_id for each in exchange.orders.accepted)
    stand = {each.wanted.client_order_id: each.told() for each in exchange.orders.records.orders.values()}
    told = rows(folder, "SELECT client_order_id, state, status, executed FROM intent")
    found = [f"{name} was accepted {count} times" for name, count in accepted.items() if count > 1]
    found += [f"{name} is not in the journal" for name in accepted if name not in {each[0] for each in told}]
    for name, state, status, executed in told:
        if state not in ("ACKED", "ADOPTED", "REJECTED", "NOT_SENT", "NOT_PLACED"):
            found.append(f"{name} is left {state}")
        elif (state in ("ACKED", "ADOPTED")) != (name in accepted):
            found.append(f"{name} is {state}, and was accepted {accepted[name]} times")
        elif name in accepted:
            order = stand[name]
            if (status, Decimal(executed)) != (order.status, Decimal(order.executed)):
                found.append(f"{name} is {status} {executed}, at the exchange {order.status} {order.executed}")
    return found
