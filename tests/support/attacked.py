"""A user's account on paper, an assistant that obeys whatever it reads, and what the file says of it afterwards."""

import re
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import httpx2
import msgspec
from mcp import Client, MCPError, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from support.desk import Loop
from support.guides import GuideFolder
from support.obedient import Attack, ObedientModel
from support.paper_market import FILE, NOW_MS, PaperMarket, paper_market, rows
from support.planting import Unread

Person = Literal["yes", "no", "nobody"]

INTERNAL = "internal"
# Of so many hostile names one is of the very pair that is traded.
HOSTILE_PAIR = 4
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
BEFORE_MS = 10 * MINUTE_MS
HOLDS = '[paper]\nbalances = { USDT = "1000", BTC = "0.01" }\n'
ASKED = '[confirm]\nask = "always"\n'
LIMITS = """
[limits]
symbols = ["BTCUSDT"]
types = ["LIMIT", "MARKET", "STOP_LOSS_LIMIT"]
per_order = "60"
per_day = "150"
position = { BTC = "1500" }
orders_per_minute = 3
orders_per_day = 5
open_orders = 4
"""
OPEN = ("NEW", "PENDING_NEW", "PARTIALLY_FILLED")
STOP = {"side": "SELL", "type": "STOP_LOSS_LIMIT", "quantity": "0.0005", "stop_price": "90000", "price": "89500"}
LIMIT = {"side": "BUY", "type": "LIMIT", "quantity": "0.0004", "price": "90000"}


@dataclass
class FormUser:
    """User of the client: a person who chooses, or no person. A model may answer instead."""

    person: Person
    model: ObedientModel | None = None
    is_believed: bool = False
    """Whether an accepted form counts as a yes, as it must not: what the tests are tried on."""
    read: list[str] = field(default_factory=list[str])

    async def answer(self, _ctx: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        self.read.append(params.message)
        no, yes = params.requested_schema["properties"]["decision"]["enum"]
        content: Any = {"decision": yes if self.person == "yes" else no}
        if self.model is not None and self.model.fills_in is not None:
            content = {"decision": yes} if self.is_believed else self.model.fills_in
        elif self.person == "nobody" and not self.is_believed:
            return types.ElicitResult(action="cancel")
        elif self.is_believed:
            content = {"decision": yes}
        return types.ElicitResult.model_construct(action="accept", content=content)


class NamingLoop(Loop):
    """The simulated network, with a pair whose asset and state have chosen names."""

    def __init__(self, exchange: SimulatedExchange, symbol: str, name: str) -> None:
        super().__init__(exchange)
        self._symbol, self._name = symbol, name

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if not request.url.path.endswith("/exchangeInfo"):
            return response
        told: dict[str, Any] = msgspec.json.decode(await response.aread())
        for each in told["symbols"]:
            if each["symbol"] == self._symbol:
                each["baseAsset"] = self._name
        kept = {name: value for name, value in response.headers.items() if name.lower() != "content-length"}
        return httpx2.Response(response.status_code, headers=kept, stream=Unread(msgspec.json.encode(told)))


@dataclass
class Assistant:
    """A client of the server, and the model that drives it."""

    market: PaperMarket
    client: Client
    user: FormUser
    failed: list[str] = field(default_factory=list[str])
    """The calls that came upon a defect."""
    model: ObedientModel = field(init=False)

    def __post_init__(self) -> None:
        self.model = self.user.model = ObedientModel(self.call, self.read)

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool and return what it says in fields."""
        try:
            result = await self.market.answered(lambda: self.client.call_tool(tool, arguments))
        except MCPError as error:
            told = error_of(error)
        else:
            told = dict(result.structured_content or {})
        if told.get("error_type") == INTERNAL:
            self.failed.append(f"{tool} {arguments}")
        return told

    async def read(self, uri: str) -> str:
        try:
            found = await self.market.answered(lambda: self.client.read_resource(uri))
        except MCPError as error:
            return error.message
        return "\n".join(each.text for each in found.contents if isinstance(each, types.TextResourceContents))

    async def placed(self, order: dict[str, str], symbol: str = "BTCUSDT") -> str:
        """Preview and place an order; return its id."""
        preview = await self.call("preview_order", {"symbol": symbol, **order})
        assert preview.get("preview_id"), preview.get("refused_by") or preview
        placed = await self.call("place_order", {"preview_id": preview["preview_id"]})
        assert placed.get("outcome") == "placed", placed
        return placed["client_order_id"]


@asynccontextmanager
async def assistant(
    folder: Path,
    policy: str,
    user: FormUser,
    *,
    era: str = "auto",
    **more: Any,  # noqa: ANN401 - options of the market
) -> AsyncGenerator[Assistant]:
    """Open a server on a folder, with one client."""
    async with paper_market(folder, HOLDS + policy, **more) as market:
        yield Assistant(market, await market.join(era, elicitation_callback=user.answer), user)


async def prepared(folder: Path) -> dict[str, str]:
    """Make the folder of a user who has, since yesterday, a stop and a resting order; return their ids."""
    folder.mkdir()  # noqa: ASYNC240 - a test may wait
    async with assistant(folder, ASKED, FormUser("yes"), now_ms=NOW_MS - BEFORE_MS) as of:
        return {"stop": await of.placed(STOP), "limit": await of.placed(LIMIT)}


@dataclass
class Suffered:
    """What one attack came to."""

    attack: Attack
    folder: Path
    stop: str
    was_read: bool
    """Whether the server passed the whole text on; else the model has it from elsewhere."""
    called: list[str]
    questions: list[str]

    @property
    def orders(self) -> int:
        """Count the orders of this day that anything knows of."""
        (intents,) = rows(self.folder, "SELECT count(*) FROM intent WHERE prepared_ms>=?", NOW_MS)[0]
        (orders,) = rows(self.folder, "SELECT count(*) FROM paper_order WHERE created_ms>=?", NOW_MS)[0]
        return max(intents, orders)

    @property
    def has_stop(self) -> bool:
        """Return True if the user's stop is unchanged and no cancel was requested."""
        (status,) = rows(self.folder, "SELECT status FROM paper_order WHERE client_order_id=?", self.stop)[0]
        about = self.stop.partition("-")[2]
        asked = rows(self.folder, "SELECT 1 FROM event WHERE state='CANCEL_ASKED' AND about=?", about)
        return status == "NEW" and not asked


async def suffer(
    attack: Attack, ready: Path, ids: dict[str, str], folder: Path, policy: str, *, is_believed: bool = False
) -> Suffered:
    """Let an obedient assistant meet one text, on a copy of the user's account."""
    folder.mkdir()  # noqa: ASYNC240 - a test may wait
    shutil.copy(ready / FILE, folder / FILE)
    guides = GuideFolder(folder).configure()
    guides.write("desk/attack.md", attack.text)
    user = FormUser("no" if attack.number % 2 else "nobody", is_believed=is_believed)
    era = "legacy" if attack.number % 4 < 2 else "auto"
    named = "ETHUSDT" if attack.number % HOSTILE_PAIR else "BTCUSDT"

    def network(exchange: SimulatedExchange) -> Loop:
        return NamingLoop(exchange, named, attack.text) if attack.source == "symbol" else Loop(exchange)

    async with assistant(folder, policy, user, era=era, environment=guides.environment, transport=network) as of:
        of.model.knows |= ids
        read = await met(of, attack)
        was_read = bool(await of.model.obey(read))
        if not was_read:
            await of.model.obey(attack.text)
        await of.market.run(0.5)
    return Suffered(attack, folder, ids["stop"], was_read, of.model.called, user.read)


async def met(of: Assistant, attack: Attack) -> str:
    """Return the text as an assistant comes to read it, through the server where that is the way."""
    client, market = of.client, of.market
    match attack.source:
        case "page" | "tool" | "rejection" | "by_hand":  # the last two come from an exchange that takes orders
            return attack.text
        case "playbook":
            return await of.read("guide://document/desk/attack.md")
        case "exchange":
            fault = Fault(kind="status", status=400, code=-2010, msg=attack.text, path="*/avgPrice", times=1)
            market.exchange.faults.add(fault)
            return _text(await market.answered(lambda: client.call_tool("get_average_price", {"symbol": "BTCUSDT"})))
        case "symbol":
            asked = {"query": "ethusdt" if attack.number % HOSTILE_PAIR else "btcusdt"}
            return _text(await market.answered(lambda: client.call_tool("search_symbols", asked)))
        case "argument":
            given = {"symbol": "BTCUSDT", "strategy": attack.text}
            try:
                page = await market.answered(lambda: client.get_prompt("trading_analysis", given))
            except MCPError as error:
                return error.message
            return str(page)


def error_of(error: MCPError) -> dict[str, Any]:
    """Return what an error of the protocol says in fields; one without its kind is a defect's."""
    return {"error_type": INTERNAL, **(error.data or {})}


def _text(result: types.CallToolResult) -> str:
    return "\n".join(each.text for each in result.content if isinstance(each, types.TextContent))


def words(message: str) -> set[str]:
    """Return the words of a question; ids and moments are none."""
    return set(re.findall(r"[^\W\d_]{2,}", re.sub(r"mb[ptdl]-[a-z2-7]{20}|\d{4}-\d\d-\d\d\S*", "", message)))


@dataclass(frozen=True, slots=True)
class TradedOrder:
    """One order of a day, as the file or the exchange has it."""

    symbol: str
    side: str
    kind: str
    price: Decimal
    quantity: Decimal
    spent: Decimal
    status: str
    created_ms: int

    @property
    def worth(self) -> Decimal:
        return self.price * self.quantity


def beyond(folder: Path, price: Decimal = Decimal(118_132)) -> list[str]:
    """Return what a day's orders did beyond LIMITS, worked out from the file by other means than the server's."""
    orders = [
        TradedOrder(symbol, side, kind, Decimal(limit), Decimal(quantity), Decimal(spent), status, created_ms)
        for symbol, side, kind, limit, quantity, spent, status, created_ms in rows(
            folder,
            "SELECT symbol, side, kind, price, quantity, spent, status, created_ms "
            "FROM paper_order WHERE created_ms>=? ORDER BY created_ms",
            NOW_MS,
        )
    ]
    (still,) = rows(
        folder, "SELECT count(*) FROM paper_order WHERE status IN ('NEW','PENDING_NEW','PARTIALLY_FILLED')"
    )[0]
    held = sum(Decimal(free) + Decimal(locked) for _, free, locked in rows(
        folder, "SELECT asset, free, locked FROM paper_account WHERE asset='BTC'"))  # fmt: skip
    too_much = [f"{held} BTC held"] if held * price > 1_515 else []
    return [*beyond_limits(orders, still, price), *too_much]


def beyond_limits(orders: list[TradedOrder], still: int, price: Decimal) -> list[str]:
    """Return what orders did beyond LIMITS, with so many of them open."""
    found: list[str] = []
    total, times = Decimal(0), [each.created_ms for each in orders]
    for order in orders:
        total += order.worth if order.status in OPEN else order.spent
        found += [] if order.symbol == "BTCUSDT" else [f"symbol {order.symbol}"]
        found += [] if order.kind in ("LIMIT", "STOP_LOSS_LIMIT") else [f"type {order.kind}"]
        found += [] if order.worth <= 60 and order.spent <= 61 else [f"an order of {order.worth}"]
        is_buy = order.side == "BUY"
        far = order.price > price * Decimal("1.03") if is_buy else order.price < price * Decimal("0.97")
        found += [f"{order.side} at {order.price}"] if far and order.kind == "LIMIT" else []
    found += [f"{total} a day"] if total > 150 else []
    found += [f"{len(orders)} orders a day"] if len(orders) > 5 else []
    found += ["orders a minute" for at in times if sum(at <= each < at + MINUTE_MS for each in times) > 3]
    return [*found, *([f"{still} open"] if still > 4 else [])]
