"""Random histories at the order desk of a simulated exchange, told to a reference as well."""

import random
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlencode

from binance_simulator.account import DemoAccount
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.listing import Symbol, decimal_string
from binance_simulator.market.portfolio import Balance, Portfolio
from binance_simulator.orders.crowd_view import CrowdView, Print
from binance_simulator.orders.matching import Level, Taker
from binance_simulator.refusals import Refusal
from binance_simulator.rest.endpoints import Call
from binance_simulator.rest.gateway import WRITTEN
from binance_simulator.rest.signing import Params
from support.clock import FakeClock
from support.orders.reference_desk import UNIT, Bunch, Leg, ReferenceDesk

EVENTS = 40
CENTRE = 100
OWNERS = ("a", "b")
MODES = ("NONE", "NONE", "EXPIRE_MAKER", "EXPIRE_TAKER")
Parameters = dict[str, object]


class QuietCrowd(CrowdView):
    """A crowd that shows nothing; it trades when it is told to, and that is the last price."""

    last_price = CENTRE * UNIT

    def levels(self, symbol: Symbol, taker: Taker, now_ms: int) -> list[Level]:  # noqa: ARG002 - it shows nothing
        return []

    def ahead(self, symbol: Symbol, price: int, now_ms: int, *, buys: bool) -> int:  # noqa: ARG002 - it shows nothing
        return 0

    def last(self, symbol: Symbol, now_ms: int) -> int | None:  # noqa: ARG002 - one price for all
        return self.last_price

    def average(self, symbol: Symbol, minutes: int, now_ms: int) -> int | None:  # noqa: ARG002 - one price for all
        return self.last_price


def quiet_exchange() -> SimulatedExchange:
    """Return an exchange whose limits are never reached."""
    exchange = SimulatedExchange(FakeClock())
    for row in exchange.listing.rate_limits:
        row["limit"] = 10**9
    record = next(one for one in exchange.listing.records if one["symbol"] == "BTCUSDT")
    filters: list[Parameters] = [
        {"filterType": "LOT_SIZE", "minQty": "0.00001", "maxQty": "9000", "stepSize": "0.00001"}
    ]
    filters.append({"filterType": "NOTIONAL", "minNotional": "5", "applyMinToMarket": True})
    filters.append({"filterType": "MAX_NUM_ORDER_AMENDS", "maxNumOrderAmends": 10})
    record["filters"] = filters
    exchange.guests = [Guest(DemoAccount(number), Portfolio()) for number in (1, 2)]
    return exchange


@dataclass(slots=True)
class Flow:
    """One random history, told to the desk and to the reference alike."""

    exchange: SimulatedExchange
    seed: int
    chance: random.Random = field(init=False)
    reference: ReferenceDesk = field(init=False)
    crowd: QuietCrowd = field(init=False)
    named: int = 0
    said: Counter[str] = field(default_factory=Counter[str])

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        exchange, totals = self.exchange, dict[tuple[str, str], int]()
        exchange.orders.wipe()
        exchange.executions.all.clear()
        self.crowd = QuietCrowd(exchange.stage.market)
        exchange.orders.engine.crowd = self.crowd
        guests: list[Guest] = []
        for owner, guest in zip(OWNERS, exchange.guests, strict=True):
            held = {"BTC": self.chance.choice((0, 20_000, 3 * UNIT)), "USDT": self.chance.choice((300, 3_000)) * UNIT}
            totals |= {(owner, asset): amount for asset, amount in held.items()}
            balances = tuple(Balance(asset, decimal_string(amount), "0") for asset, amount in held.items())
            guests.append(Guest(guest.account, Portfolio(balances)))
        exchange.guests = guests
        self.reference = ReferenceDesk(totals, CENTRE * UNIT)

    def run(self) -> None:
        actions = [
            (self.place, 6),
            (self.place_pair, 4),
            (self.place_entry, 7),
            (self.cancel, 2),
            (self.cancel_list, 1),
            (self.amend, 4),
            (self.replace, 3),
            (self.crowd_trades, 9),
        ]
        chosen, weights = [act for act, _ in actions], [weight for _, weight in actions]
        for _ in range(EVENTS):
            self.chance.choices(chosen, weights)[0]()
            self.compare()
        self.compare_events()

    def name(self) -> str:
        self.named += 1
        used = self.reference.legs
        return self.chance.choice(used).name if used and self.chance.random() < 0.04 else f"n{self.named}"

    def near(self, least: int, most: int) -> int:
        return self.reference.last + self.chance.randint(least, most) * UNIT

    def amount(self) -> int:
        return self.chance.randint(10_000, 99_999) * 1_000

    def leg(self, owner: str, kind: str, *, buys: bool, quantity: int) -> Leg:
        stop = 0
        price = self.near(-3, 3)
        if kind.endswith("_LIMIT"):
            stop = self.near(-5, 5)
            price = stop + self.chance.randint(-1, 1) * UNIT
        return Leg(name=self.name(), owner=owner, buys=buys, kind=kind, price=price, stop=stop, quantity=quantity)

    def pair(self, owner: str, *, buys: bool, quantity: int) -> list[Leg]:
        profit, stop = (
            self.leg(owner, kind, buys=buys, quantity=quantity)
            for kind in (self.chance.choice(("LIMIT_MAKER", "LIMIT_MAKER", "TAKE_PROFIT_LIMIT")), "STOP_LOSS_LIMIT")
        )
        away = -1 if buys else 1
        profit.price = self.reference.last + away * self.chance.randint(0, 5) * UNIT
        if profit.stop:
            profit.stop = profit.price
        stop.stop = self.reference.last - away * self.chance.randint(0, 5) * UNIT
        stop.price = stop.stop - away * self.chance.randint(0, 2) * UNIT
        return [stop, profit]

    def send(self, owner: str, method: str, path: str, params: Parameters) -> int:
        raw = urlencode({"symbol": "BTCUSDT", **{name: value for name, value in params.items() if value is not None}})
        key = self.exchange.guests[OWNERS.index(owner)].account.api_key
        call = Call(self.exchange, Params(raw.encode()), self.exchange.now_ms(), key)
        try:
            WRITTEN[method, f"/api/v3/{path}"].answer(call)
        except Refusal as refusal:
            return refusal.code
        return 0

    def agree(self, what: str, code: int, expected: int) -> None:
        assert code == expected, (self.seed, what)
        self.said[what if code == 0 else f"{what} refused"] += 1

    def place(self) -> None:
        owner, kind = (
            self.chance.choice(OWNERS),
            self.chance.choice(("LIMIT", "LIMIT", "LIMIT_MAKER", "STOP_LOSS_LIMIT")),
        )
        leg = self.leg(owner, kind, buys=self.chance.random() < 0.5, quantity=self.amount())
        queue = self.reference.queue(buys=leg.buys)
        if queue and kind != "STOP_LOSS_LIMIT" and self.chance.random() < 0.6:
            leg.price = self.chance.choice(queue).price
        leg.mode = self.chance.choice(MODES)
        leg.time_in_force = "IOC" if kind == "LIMIT" and self.chance.random() < 0.2 else "GTC"
        code = self.send(owner, "POST", "order", written(leg, quantity=True, side=True))

        self.agree("order", code, self.reference.place(leg))

    def place_pair(self) -> None:
        owner, buys = self.chance.choice(OWNERS), self.chance.random() < 0.4
        stop, profit = self.pair(owner, buys=buys, quantity=self.amount())
        above, below = (stop, profit) if buys else (profit, stop)
        bunch = Bunch(name=f"l{self.named}", owner=owner, working=None, others=[stop, profit])
        params = {"listClientOrderId": bunch.name, "side": side(stop), "quantity": decimal_string(stop.quantity)}
        params |= written(above, "above") | written(below, "below") | self.mode(bunch)
        code = self.send(owner, "POST", "orderList/oco", params)

        self.agree("oco", code, self.reference.place_list(bunch))

    def place_entry(self) -> None:
        kind = self.chance.choice(("oto", "otoco", "opo", "opoco"))
        owner, pays = self.chance.choice(OWNERS), kind.startswith("opo")
        buys, quantity = pays or self.chance.random() < 0.6, self.amount()
        working = self.leg(owner, self.chance.choice(("LIMIT", "LIMIT_MAKER")), buys=buys, quantity=quantity)
        if working.kind == "LIMIT" and self.chance.random() < 0.2:
            working.time_in_force = "IOC"
        sold = 0 if pays else quantity if self.chance.random() < 0.7 else quantity * 3 // 4_000 * 1_000
        if kind.endswith("oco"):
            others = self.pair(owner, buys=not buys, quantity=sold)
            above, below = others if not buys else reversed(others)
            legs = written(above, "pendingAbove") | written(below, "pendingBelow")
        else:
            which = self.chance.choice(("LIMIT", "LIMIT_MAKER", "STOP_LOSS_LIMIT", "TAKE_PROFIT_LIMIT"))
            others = [self.leg(owner, which, buys=not buys, quantity=sold)]
            legs = written(others[0], "pending")
        bunch = Bunch(name=f"l{self.named}", owner=owner, working=working, others=others, pays=pays)
        params: Parameters = {"listClientOrderId": bunch.name, "pendingSide": side(others[0])}
        if not pays:
            params["pendingQuantity"] = decimal_string(sold)
        params |= written(working, "working", quantity=True, side=True) | legs | self.mode(bunch)
        code = self.send(owner, "POST", f"orderList/{kind}", params)

        self.agree(kind, code, self.reference.place_list(bunch))

    def mode(self, bunch: Bunch) -> Parameters:
        mode = self.chance.choice(MODES)
        for leg in bunch.legs:
            leg.mode = mode
        return {"selfTradePreventionMode": mode}

    def cancel(self) -> None:
        leg = self.some()
        code = self.send(leg.owner, "DELETE", "order", {"origClientOrderId": leg.name})

        self.agree("cancel", code, self.reference.cancel(leg.owner, leg.name))

    def cancel_list(self) -> None:
        if not self.reference.bunches:
            return
        bunch = self.chance.choice(self.reference.bunches)
        code = self.send(bunch.owner, "DELETE", "orderList", {"listClientOrderId": bunch.name})

        self.agree("list cancel", code, self.reference.cancel_list(bunch.owner, bunch.name))

    def amend(self) -> None:
        leg = self.some()
        smaller = (leg.quantity * 9 // 10, leg.quantity * 9 // 10, leg.quantity // 2, leg.executed, leg.quantity)
        quantity = self.chance.choice(smaller)
        quantity = quantity // 1_000 * 1_000 or 1_000
        new_name = leg.name if self.chance.random() < 0.6 else self.name()
        params: Parameters = {
            "origClientOrderId": leg.name,
            "newQty": decimal_string(quantity),
            "newClientOrderId": new_name,
        }
        code = self.send(leg.owner, "PUT", "order/amend/keepPriority", params)

        self.agree("amend", code, self.reference.amend(leg.owner, leg.name, quantity, new_name))

    def replace(self) -> None:
        old, kind = self.some(), self.chance.choice(("LIMIT", "LIMIT_MAKER", "STOP_LOSS_LIMIT"))
        leg = self.leg(old.owner, kind, buys=self.chance.random() < 0.5, quantity=self.amount())
        must_cancel = self.chance.random() < 0.6
        params = written(leg, quantity=True, side=True) | {"cancelOrigClientOrderId": old.name}
        params["cancelReplaceMode"] = "STOP_ON_FAILURE" if must_cancel else "ALLOW_FAILURE"
        code = self.send(old.owner, "POST", "order/cancelReplace", params)

        self.agree("replace", code, self.reference.replace(old.name, leg, must_cancel=must_cancel))

    def some(self) -> Leg:
        legs = self.reference.legs
        opened = [leg for leg in legs if leg.open]
        if opened and self.chance.random() < 0.9:
            return self.chance.choice(opened)
        return self.chance.choice(legs) if legs else self.leg("a", "LIMIT", buys=True, quantity=UNIT)

    def crowd_trades(self) -> None:
        open_prices = [leg.stop or leg.price for leg in self.reference.legs if leg.open]
        price = self.chance.choice(open_prices) if open_prices and self.chance.random() < 0.5 else self.near(-2, 2)
        price = min(max(price, 80 * UNIT), 120 * UNIT)
        quantity, sold = self.amount() // self.chance.choice((1, 3)), self.chance.random() < 0.5
        self.crowd.last_price = price
        symbol = self.exchange.listing.symbols["BTCUSDT"]
        self.exchange.orders.engine.strike(symbol, Print(self.exchange.now_ms(), price, quantity, sold))

        self.reference.crowd_trades(price, quantity, sold=sold)
        self.said["trade"] += 1

    def compare(self) -> None:
        desk, reference = self.exchange.orders, self.reference
        stands = [
            (one.wanted.client_order_id, one.status, one.wanted.quantity, one.executed, one.value, one.expiry_reason)
            for one in desk.records.orders.values()
        ]
        assert stands == [
            (one.name, one.status, one.quantity, one.executed, one.value, one.reason) for one in reference.legs
        ], self.seed
        assert [one.done for one in desk.records.lists.values()] == [one.done for one in reference.bunches], self.seed
        book = desk.engine.book(self.exchange.listing.symbols["BTCUSDT"])
        for buys in (True, False):
            queue = [(desk.records.orders[one.number].wanted.client_order_id, one.left) for one in book.side(buys=buys)]
            assert queue == [(one.name, one.left) for one in reference.queue(buys=buys)], self.seed
        for owner, guest in zip(OWNERS, self.exchange.guests, strict=True):
            account = self.exchange.order_account(guest.account.api_key)
            for asset in ("BTC", "USDT"):
                held = (account.free(asset), account.total(asset))
                assert held == (reference.free(owner, asset), reference.totals[owner, asset]), (self.seed, owner, asset)
                assert held[0] >= 0
            limit = desk.ledger.limits[0]
            assert desk.ledger.count(account.holder, limit, self.exchange.now_ms()) == reference.unfilled(owner)

    def compare_events(self) -> None:
        """Check that a desk that only listens ends with the same state."""
        told, held = dict[int, str](), dict[tuple[str, str], str]()
        over: Counter[int] = Counter()
        for one in self.exchange.executions.all:
            told[one.order.order_id] = one.order.status
            held |= {(one.holder, each.asset): each.free for each in one.holdings}
            if one.list_status is not None and one.list_status.status_type == "ALL_DONE":
                over[one.list_status.list_id] += 1
        records = self.exchange.orders.records
        assert {number: told[number] for number in records.orders} == {
            number: order.status for number, order in records.orders.items()
        }
        assert over == {number: 1 for number, listed in records.lists.items() if listed.done}
        for (holder, asset), free in held.items():
            assert free == decimal_string(records.account_of(holder).free(asset)), self.seed


def side(leg: Leg) -> str:
    return "BUY" if leg.buys else "SELL"


def written(leg: Leg, place: str = "", *, quantity: bool = False, side: bool = False) -> Parameters:
    """Return the parameters of an order, with its place in a list before each."""
    plain: Parameters = {"type": leg.kind, "price": decimal_string(leg.price)}
    if quantity:
        plain["quantity"] = decimal_string(leg.quantity)
    if side:
        plain["side"] = "BUY" if leg.buys else "SELL"
    if leg.kind != "LIMIT_MAKER":
        plain["timeInForce"] = leg.time_in_force
    if leg.stop:
        plain["stopPrice"] = decimal_string(leg.stop)
    if not place:
        return plain | {"newClientOrderId": leg.name, "selfTradePreventionMode": leg.mode}
    plain["clientOrderId"] = leg.name
    return {f"{place}{name[0].upper()}{name[1:]}": value for name, value in plain.items()}


def rich_flow() -> Flow:
    """Return a flow before its first event, whose accounts have enough of everything."""
    flow = Flow(quiet_exchange(), 0)
    held = tuple(Balance(asset, "9000.00000000", "0.00000000") for asset in ("BTC", "USDT"))
    flow.exchange.guests = [Guest(guest.account, Portfolio(held)) for guest in flow.exchange.guests]
    return flow


def statuses(flow: Flow) -> dict[str, str]:
    return {one.wanted.client_order_id: one.status for one in flow.exchange.orders.records.orders.values()}


def order(name: str, *, buys: bool, price: int, kind: str = "LIMIT", stop: int = 0) -> Leg:
    """Return an order of the first account for one BTC at a whole price."""
    leg = Leg(name=name, owner="a", buys=buys, kind=kind, price=price * UNIT, quantity=UNIT)
    leg.stop, leg.mode = stop * UNIT, "EXPIRE_MAKER"
    return leg
