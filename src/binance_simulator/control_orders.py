"""Control endpoints of the order desk, for tests and manual use. They also show its internal state."""

from collections import Counter
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from binance_simulator.control_futures import reply
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.listing import Symbol
from binance_simulator.orders.accounts import units
from binance_simulator.orders.crowd_view import Print
from binance_simulator.orders.desk import Named
from binance_simulator.orders.execution import Execution
from binance_simulator.orders.order import Wanted
from binance_simulator.orders.references import PriceRange
from binance_simulator.refusals import Refusal


class DeskOrder(msgspec.Struct, forbid_unknown_fields=True):
    """New settings of the order desk. None keeps the current value."""

    engine_delay_ms: float | None = None
    visible_after_ms: int | None = None
    orders_10s: int | None = None
    orders_1d: int | None = None
    cancel_tells_list: bool | None = None


class SymbolFlags(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """Status and permissions of a symbol, named as in exchangeInfo; None keeps the current value.

    Only TRADING accepts new orders. Cancels and the crowd's trades go on.
    """

    symbol: str
    status: Literal["TRADING", "END_OF_DAY", "HALT", "BREAK", "CANCEL_ONLY"] | None = None
    oco_allowed: bool | None = None
    oto_allowed: bool | None = None
    opo_allowed: bool | None = None
    amend_allowed: bool | None = None
    cancel_replace_allowed: bool | None = None
    allow_trailing_stop: bool | None = None


class HandOrder(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An order that is placed manually, without a key. Account 0 is the demo account, and 1 is the first guest."""

    symbol: str
    side: str
    quantity: str
    price: str = "0"
    stop_price: str = "0"
    type: str = "LIMIT"
    time_in_force: str = "GTC"
    client_order_id: str | None = None
    self_trade: str = "EXPIRE_MAKER"
    account: int = 0


class HandCancel(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An order to cancel manually, without a key."""

    symbol: str
    client_order_id: str
    account: int = 0


class CrowdTrade(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A simulated market trade that is not on the tape. `sold` means that the taker sold."""

    symbol: str
    price: str
    quantity: str
    sold: bool


class ReferenceOrder(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Reference price and price range of a symbol, in place of the earlier ones.

    A price of None means that the symbol has none now. Without `price`, the reference price is the average of the last
    minutes. Without `rule`, there is no price range. `ever` is false for a symbol that never had a reference price.
    """

    symbol: str
    price: str | msgspec.UnsetType | None = msgspec.UNSET
    rule: PriceRange | None = None
    ever: bool = True


class OrderControl:
    """Handlers that change the running order desk."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._desk = exchange.orders

    def routes(self) -> list[Route]:
        """Return the routes, which are mounted under /control."""
        return [
            Route("/orders", self.state, methods=["GET"]),
            Route("/orders", self.set_knobs, methods=["POST"]),
            Route("/orders", self.wipe, methods=["DELETE"]),
            Route("/orders/flags", self.set_flags, methods=["POST"]),
            Route("/orders/reference", self.set_reference, methods=["POST"]),
            Route("/orders/executions", self.executions, methods=["GET"]),
            Route("/orders/new", self.place, methods=["POST"]),
            Route("/orders/cancel", self.cancel, methods=["POST"]),
            Route("/orders/trade", self.trade, methods=["POST"]),
        ]

    async def state(self, _request: Request) -> Response:
        """Return the state of orders and lists, and counts of requests, accepted orders, executions and events."""
        desk = self._desk
        desk.engine.settle(self._exchange.now_ms())
        return reply(
            {
                "received": desk.received,
                "accepted": Counter(one.client_order_id for one in desk.accepted),
                "accepted_for": self._accepted_for(),
                "by_hand": [one.client_order_id for one in desk.accepted if one.by_hand],
                "executions": desk.records.executions.newest,
                "events": self._exchange.hub.user_events,
                "orders": [
                    order.told().body() | {"account": self._number(order.holder)}
                    for order in desk.records.orders.values()
                ],
                "amended": [
                    {"orderId": order.number, "from": one.earlier_id, "to": one.client_order_id}
                    for order in desk.records.orders.values()
                    for one in order.amendments
                ],
                "lists": [one.body() | {"account": self._number(one.holder)} for one in desk.records.lists.values()],
            }
        )

    async def set_knobs(self, request: Request) -> Response:
        """Change the settings of the order desk."""
        desk, order = self._desk, msgspec.json.decode(await request.body(), type=DeskOrder)
        desk.engine_delay_ms = desk.engine_delay_ms if order.engine_delay_ms is None else order.engine_delay_ms
        desk.visible_after_ms = desk.visible_after_ms if order.visible_after_ms is None else order.visible_after_ms
        if order.cancel_tells_list is not None:
            desk.cancel_tells_list = order.cancel_tells_list
        limits = {"SECOND": order.orders_10s, "DAY": order.orders_1d}
        for row in desk.listing.rate_limits:
            limit = limits.get(str(row["interval"])) if row["rateLimitType"] == "ORDERS" else None
            if limit is not None:
                row["limit"] = limit
        orders_10s, orders_1d = (row.limit for row in desk.ledger.limits)
        knobs = (desk.engine_delay_ms, desk.visible_after_ms, orders_10s, orders_1d, desk.cancel_tells_list)
        return reply(DeskOrder(*knobs))

    async def set_flags(self, request: Request) -> Response:
        """Change the status and the permissions of a symbol; exchangeInfo shows them from then on."""
        order = msgspec.json.decode(await request.body(), type=SymbolFlags)
        record = next(one for one in self._desk.listing.records if one["symbol"] == self._symbol(order.symbol).name)
        told: dict[str, object] = msgspec.to_builtins(order)
        record |= {name: value for name, value in told.items() if value is not None}
        return reply({name: record[name] for name in told})

    async def wipe(self, _request: Request) -> Response:
        """Delete all orders and fills and reset the balances. The record of accepted orders stays."""
        self._desk.wipe()
        return reply({"orders": 0})

    async def set_reference(self, request: Request) -> Response:
        """Change the reference price and the price range of a symbol."""
        order = msgspec.json.decode(await request.body(), type=ReferenceOrder)
        name, references = self._symbol(order.symbol).name, self._desk.engine.references
        references.averaged.discard(name)
        references.fixed.pop(name, None)
        references.rules.pop(name, None)
        if order.ever and order.price is msgspec.UNSET:
            references.averaged.add(name)
        elif order.ever:
            references.fixed[name] = None if order.price is None else units(str(order.price))
        if order.rule is not None:
            references.rules[name] = order.rule
        return reply(order)

    async def executions(self, request: Request) -> Response:
        """Return the executions after a sequence number, oldest first."""
        after = int(request.query_params.get("after", "0"))
        happened = self._desk.executions_since(after, None, self._exchange.now_ms())
        return reply([self._shown(one) for one in happened])

    async def place(self, request: Request) -> Response:
        """Place an order manually."""
        order = msgspec.json.decode(await request.body(), type=HandOrder)
        wanted = Wanted(
            symbol=self._symbol(order.symbol),
            buys=order.side == "BUY",
            kind=order.type,
            time_in_force=order.time_in_force,
            quantity=units(order.quantity),
            price=units(order.price),
            stop=units(order.stop_price),
            client_order_id=order.client_order_id or self._desk.usual_client_id(),
            self_trade=order.self_trade,
        )
        account = self._exchange.order_account(self._key(order.account))
        try:
            placed = self._desk.place(account, wanted, self._exchange.now_ms(), by_hand=True)
        except Refusal as refusal:
            return PlainTextResponse(refusal.message, 400)
        return reply(placed.told().body())

    async def cancel(self, request: Request) -> Response:
        """Cancel an order manually."""
        order = msgspec.json.decode(await request.body(), type=HandCancel)
        account = self._exchange.order_account(self._key(order.account))
        named = Named(order.symbol, None, order.client_order_id)
        try:
            gone = self._desk.cancel(account, named, self._desk.usual_client_id(), self._exchange.now_ms())
        except Refusal as refusal:
            return PlainTextResponse(refusal.message, 400)
        return reply(gone.body())

    async def trade(self, request: Request) -> Response:
        """Match a simulated market trade against the accounts' orders."""
        order = msgspec.json.decode(await request.body(), type=CrowdTrade)
        symbol, now_ms, before = (
            self._symbol(order.symbol),
            self._exchange.now_ms(),
            self._desk.records.executions.newest,
        )
        self._desk.engine.settle(now_ms)
        self._desk.engine.strike(symbol, Print(now_ms, units(order.price), units(order.quantity), order.sold))
        return reply([self._shown(one) for one in self._desk.records.executions.since(before)])

    def _symbol(self, name: str) -> Symbol:
        symbol = self._exchange.listing.symbols.get(name)
        if symbol is None:
            raise ValueError(f"Unknown symbol {name!r}.")
        return symbol

    def _accepted_for(self) -> dict[int, list[str]]:
        """Return the client order IDs of all accepted orders by account. Duplicates stay in the list."""
        accepted: dict[int, list[str]] = {}
        for one in self._desk.accepted:
            accepted.setdefault(self._number(one.holder), []).append(one.client_order_id)
        return accepted

    def _keys(self) -> list[str]:
        return [self._exchange.account.api_key, *(guest.account.api_key for guest in self._exchange.guests)]

    def _key(self, number: int) -> str:
        keys = self._keys()
        if not 0 <= number < len(keys):
            raise ValueError(f"An account must be 0 to {len(keys) - 1}, not {number}.")
        return keys[number]

    def _number(self, holder: str) -> int:
        keys = self._keys()
        return keys.index(holder) if holder in keys else -1

    def _shown(self, execution: Execution) -> dict[str, object]:
        shown = msgspec.convert(msgspec.to_builtins(execution), dict[str, object])
        del shown["holder"]  # `holder` is an API key, and no answer may contain a key
        return shown | {"account": self._number(execution.holder)}
