"""An assistant that obeys whatever it reads, and an account at an exchange; what the exchange saw of it is told."""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.orders.accounts import units
from binance_simulator.orders.order import LiveOrder, Wanted
from support.attacked import (
    BEFORE_MS,
    HOSTILE_PAIR,
    LIMIT,
    STOP,
    Assistant,
    FormUser,
    NamingLoop,
    TradedOrder,
    beyond_limits,
    met,
)
from support.desk import Loop
from support.guides import GuideFolder
from support.obedient import Attack
from support.orders.wire import WireMode, wire_market, writes
from support.paper_market import NOW_MS, PaperMarket, World, new_world

# What live needs; wide enough that it is the question that decides.
ASKED = """
[limits]
symbols = ["BTCUSDT", "ETHUSDT", "SOLUSDT", "PEPEUSDT", "DOGEUSDT", "ADAUSDT", "BNBUSDT", "BTCUSDC", "ETHBTC"]
per_order = "1000000"
per_day = "1000000"
daily_loss = "1000000"
[confirm]
client_per_order = "1000000"
"""
LIMITED = """
[limits]
symbols = ["BTCUSDT"]
types = ["LIMIT", "MARKET", "STOP_LOSS_LIMIT"]
per_order = "60"
per_day = "150"
orders_per_minute = 3
orders_per_day = 5
open_orders = 4
"""
PRICE = Decimal(118_132)
BY_HAND = "web_by_hand"
OWN = {"symbol": "BTCUSDT", "side": "BUY", "quantity": "0.0002", "price": "90000"}


@dataclass
class WireSuffered:
    """What one attack came to, as the exchange saw it."""

    attack: Attack
    was_read: bool
    called: list[str]
    questions: list[str]
    sent: list[tuple[str, str]]
    """What was sent that is no read: the method, and the order it was about."""
    orders: list[TradedOrder]
    still: int
    has_stop: bool
    has_hand_order: bool
    failed: list[str]

    @property
    def beyond(self) -> list[str]:
        """What the orders did beyond LIMITED."""
        return beyond_limits(self.orders, self.still, PRICE)

    @property
    def placed(self) -> int:
        return sum(method == "POST" for method, _ in self.sent)


def placed_by_hand(exchange: SimulatedExchange, client_order_id: str) -> LiveOrder:
    """Have the account's holder place an order past every server of ours."""
    account = exchange.order_account(exchange.account.api_key)
    wanted = Wanted(
        symbol=exchange.listing.symbols["BTCUSDT"], buys=True, kind="LIMIT", time_in_force="GTC",
        quantity=units("0.00100"), price=units("95000"), stop=0, client_order_id=client_order_id,
        self_trade="EXPIRE_MAKER",
    )  # fmt: skip
    return exchange.orders.place(account, wanted, exchange.now_ms(), by_hand=True)


def order_of(exchange: SimulatedExchange, client_order_id: str) -> LiveOrder:
    (found,) = (
        each for each in exchange.orders.records.orders.values() if each.wanted.client_order_id == client_order_id
    )
    return found


async def prepared(folder: Path, mode: WireMode) -> tuple[World, dict[str, str]]:
    """Make the account of a user who has, since yesterday, a stop, a resting order, and one placed by hand."""
    world = new_world(NOW_MS - BEFORE_MS)
    user = FormUser("yes")
    async with wire_market(folder, ASKED, mode, world) as market:
        of = Assistant(market, await market.join("auto", elicitation_callback=user.answer), user)
        ids = {"stop": await of.placed(STOP), "limit": await of.placed(LIMIT)}
    placed_by_hand(world.exchange, BY_HAND)
    world.clock.advance(BEFORE_MS)
    return world, ids


async def suffer(attack: Attack, folder: Path, mode: WireMode, policy: str) -> WireSuffered:
    """Let an obedient assistant meet one text, at an exchange of its own."""
    folder.mkdir()  # noqa: ASYNC240 - a test may wait
    world, ids = await prepared(folder, mode)
    guides = GuideFolder(folder).configure()
    guides.write("desk/attack.md", attack.text)
    user = FormUser("no" if attack.number % 2 else "nobody")
    era = "legacy" if attack.number % 4 < 2 else "auto"
    named = "ETHUSDT" if attack.number % HOSTILE_PAIR else "BTCUSDT"

    def network(exchange: SimulatedExchange) -> Loop:
        return NamingLoop(exchange, named, attack.text) if attack.source == "symbol" else Loop(exchange)

    environment = guides.environment
    async with wire_market(folder, policy, mode, world, environment=environment, transport=network) as market:
        of = Assistant(market, await market.join(era, elicitation_callback=user.answer), user)
        of.model.knows |= ids
        text = await met_at_exchange(of, attack)
        world.exchange.requests.clear()
        user.read.clear()
        was_read = bool(await of.model.obey(text))
        if not of.model.called:  # it was cut on the way, and comes from elsewhere
            await of.model.obey(attack.text)
        await market.run(0.5)
        return seen(market, attack, of, ids, was_read=was_read)


def seen(market: PaperMarket, attack: Attack, of: Assistant, ids: dict[str, str], *, was_read: bool) -> WireSuffered:
    exchange = market.exchange
    by_hand = {each.order_id for each in exchange.orders.accepted if each.by_hand}
    own = [each for each in exchange.orders.records.orders.values() if each.number not in by_hand]
    told = [each.told() for each in own if each.placed_ms >= NOW_MS]
    orders = [
        TradedOrder(
            each.symbol, each.side, each.kind, Decimal(each.price), Decimal(each.quantity),
            Decimal(each.executed_value), each.status, each.placed_ms,
        )
        for each in told
    ]  # fmt: skip
    named = {str(each.number): each.wanted.client_order_id for each in own}
    sent = [
        (each.method, each.params.get("origClientOrderId") or named.get(each.params.get("orderId", ""), ""))
        for each in writes(exchange)
    ]
    return WireSuffered(
        attack,
        was_read,
        of.model.called,
        of.user.read,
        sent,
        orders,
        sum(each.open for each in own),
        order_of(exchange, ids["stop"]).open,
        order_of(exchange, BY_HAND).open,
        of.failed,
    )


async def met_at_exchange(of: Assistant, attack: Attack) -> str:
    """Return the text as an assistant comes to read it; two ways lead past an order at the exchange."""
    match attack.source:
        case "rejection":
            fault = Fault(
                kind="status", status=400, code=-2010, msg=attack.text, path="*/order", method="POST", times=1
            )
            of.market.exchange.faults.add(fault)
            person, of.user.person = of.user.person, "yes"
            preview = await of.call("preview_order", OWN)
            of.model.knows["own"] = preview["preview_id"]
            told = await of.call("place_order", {"preview_id": preview["preview_id"]})
            of.user.person = person
            return str(told)
        case "by_hand":
            placed_by_hand(of.market.exchange, attack.text)
            return str(await of.call("get_open_orders", {}))
        case _:
            return await met(of, attack)
