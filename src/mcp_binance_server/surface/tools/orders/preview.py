"""Tool that previews an order without sending it."""

from decimal import Decimal
from typing import Literal, Self

from pydantic import model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from mcp_binance_server.domain.amounts import Amount, AmountUse, read_amount
from mcp_binance_server.domain.order_requests import Kind, Side
from mcp_binance_server.services.account.amounts import AmountReader, RequestedOrder
from mcp_binance_server.surface.arguments import Arguments, PriceText, SpentText
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.market.prices import SymbolArgument
from mcp_binance_server.surface.tools.rows import ClientOrderId, omitted, optional
from mcp_binance_server.surface.views.markdown import average_places, bps_places, instant
from mcp_binance_server.surface.views.orders.preview import CHECKED, NO_KEY, preview_notes, preview_page, short
from mcp_binance_server.trading.judgement.preview import Preview, PreviewedOrder, ReadAmount, written

# Accepted but not listed, because models that know Binance's API send these.
TimeInForce = Literal["GTC", "IOC", "FOK"]
READ_PLACES = 8


class PreviewOrder(Arguments):
    symbol: SymbolArgument
    side: Side
    type: Kind = "LIMIT"
    quantity: SpentText | None = optional("Of the base asset, decimal text")
    quote_quantity: SpentText | None = optional("MARKET only: spend or receive this")
    price: PriceText | None = optional("Every type but MARKET")
    stop_price: PriceText | None = optional("STOP_LOSS_LIMIT and TAKE_PROFIT_LIMIT")
    time_in_force: SkipJsonSchema[TimeInForce | None] = None
    client_order_id: SkipJsonSchema[ClientOrderId | None] = None

    @model_validator(mode="after")
    def _stays(self) -> Self:
        if self.time_in_force is None:
            return self
        if self.type in ("MARKET", "LIMIT_MAKER"):
            raise PydanticCustomError("no_time_in_force", "{kind} has no time in force", {"kind": self.type})
        if self.time_in_force != "GTC":
            raise PydanticCustomError("good_till_cancelled", "only GTC can be previewed, not IOC or FOK")
        return self


class PreviewAnswer(Answer):
    """Amounts are decimal text. `order` contains the parameters to send, `changes` the rounded amounts."""

    sent: bool = False
    symbol: str
    order: dict[str, str]
    read: SkipJsonSchema[list[dict[str, str]] | None] = omitted()
    changes: list[dict[str, str]]
    behaviour: str
    best_bid: str | None
    best_ask: str | None
    value: str | None
    fee: dict[str, str]
    fill: dict[str, str | int | bool | None] | None
    balance_check: str
    balances: list[dict[str, str]]
    may_trade: bool
    rules_not_checked: list[str]
    network: str
    host: str
    as_of: str


def preview_answer(tried: PreviewedOrder) -> PreviewAnswer:
    shown = tried.preview
    order, fee = shown.order, shown.fee
    amounts = {name: written(amount) for name, amount in order.amounts.items()}
    return PreviewAnswer(
        symbol=shown.rules.symbol,
        order={"side": order.side, "type": order.kind, **amounts},
        changes=[
            {
                "argument": each.argument,
                "received": written(each.received),
                "used": written(each.used),
                "rule": each.rule,
            }
            for each in tried.changes
        ],
        read=[read_member(each) for each in tried.amounts] or None,
        behaviour=shown.behaviour,
        best_bid=_text(shown.touch.bid),
        best_ask=_text(shown.touch.ask),
        value=_text(shown.value),
        fee={
            "amount": short(fee.amount, 12),
            "asset": fee.asset,
            "rate": short(fee.rate),
            "source": "assumed" if fee.assumed else "account",
        },
        fill=_fill(shown),
        balance_check=CHECKED if tried.balances_checked else NO_KEY,
        balances=[
            {"asset": each.asset, "free": written(each.free), "after": short(each.after, 12)} for each in shown.holdings
        ],
        may_trade=tried.may_trade,
        rules_not_checked=[*tried.unchecked],
        network=tried.venue.network,
        host=tried.venue.host,
        as_of=instant(tried.as_of_ms),
        notes=preview_notes(tried),
    )


def read_member(each: ReadAmount) -> dict[str, str]:
    said = {
        "argument": each.argument,
        "received": each.text,
        "used": short(each.used, READ_PLACES),
        "asset": each.asset,
        "basis": each.basis,
        "base": "" if each.base is None else short(each.base, READ_PLACES),
        "note": each.note,
    }
    return {name: value for name, value in said.items() if value}


def _fill(shown: Preview) -> dict[str, str | int | bool | None] | None:
    fill, side = shown.fill, shown.order.side
    if fill is None:
        return None
    return {
        "quantity": written(fill.base),
        "value": written(fill.quote),
        "unfilled": written(fill.unfilled),
        "unfilled_asset": shown.rules.base if shown.order.quantity is not None else shown.rules.quote,
        "average_price": _average(fill.average, shown.rules.tick),
        "worst_price": _text(fill.worst),
        "slippage_mid_bps": _bps(fill.slippage_bps(side, shown.touch.mid)),
        "slippage_touch_bps": _bps(fill.slippage_bps(side, fill.touch)),
        "levels": fill.levels,
        "complete": fill.complete,
    }


def _text(value: Decimal | None) -> str | None:
    return None if value is None else written(value)


def _average(value: Decimal | None, tick: Decimal) -> str | None:
    return None if value is None else short(value, average_places(tick, value))


def _bps(value: Decimal | None) -> str | None:
    return None if value is None else short(value, bps_places(value, 4))


def requested(arguments: PreviewOrder) -> RequestedOrder:
    """Return the order with its amounts as they were written."""
    return RequestedOrder(
        side=arguments.side,
        kind=arguments.type,
        quantity=amount(arguments.quantity, "spent"),
        quote_quantity=amount(arguments.quote_quantity, "spent"),
        price=amount(arguments.price, "price"),
        stop_price=amount(arguments.stop_price, "price"),
    )


def amount(text: str | None, use: AmountUse) -> Amount | None:
    return None if text is None else read_amount(text, use)


async def preview_order(context: Context, arguments: PreviewOrder) -> ToolAnswer:
    reader = AmountReader(context.preview, context.profit.average_cost)
    read = await reader.read(arguments.symbol, requested(arguments))
    tried = await context.preview.preview(arguments.symbol, read.intent, look=read.look, amounts=read.amounts)
    touch = tried.preview.touch
    return ToolAnswer(preview_page(tried), preview_answer(tried), quiet=touch.bid is None or touch.ask is None)


PREVIEW_ORDER = ToolSpec(
    name="preview_order",
    title="Preview an order",
    description=(
        "Check a spot order without sending it: exchange rules, rounding, value, fee, expected fill and slippage, "
        "balances before and after. Sends nothing and changes nothing. Use it before proposing any order. A refusal "
        "names the rule and the nearest order that passes. Not for placing or cancelling orders."
    ),
    arguments=PreviewOrder,
    answer=PreviewAnswer,
    run=preview_order,
    read_only=True,
    toolset="orders",
)
