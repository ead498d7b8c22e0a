"""Tool that previews an order when trading is on. It stores the preview and explains how to place it."""

from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from mcp_binance_server.domain.money import decimals_of, percent_of
from mcp_binance_server.domain.order_requests import TermsKind
from mcp_binance_server.services.account.amounts import RequestedOrder
from mcp_binance_server.services.trading.answers import TradablePreview
from mcp_binance_server.services.trading.planning import OrderOptions
from mcp_binance_server.surface.arguments import DECIMAL, PriceText, RiskText, SpentText
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.orders.preview import (
    PreviewAnswer,
    PreviewOrder,
    TimeInForce,
    amount,
    preview_answer,
    requested,
)
from mcp_binance_server.surface.tools.rows import ClientOrderId, omitted, optional
from mcp_binance_server.surface.tools.trading.outcomes import trading_of
from mcp_binance_server.surface.views.markdown import average_places, exact, instant
from mcp_binance_server.surface.views.orders.preview import short
from mcp_binance_server.surface.views.trading.preview import (
    EXIT,
    R_PLACES,
    denied_words,
    preview_step,
    preview_summary,
    tradable_notes,
    tradable_page,
)
from mcp_binance_server.surface.views.trading.terms import CONFIRMATION, plan_steps
from mcp_binance_server.trading.judgement.policy import cents_text
from mcp_binance_server.trading.judgement.preview import written
from mcp_binance_server.trading.judgement.terms import Terms


def _without_sign(value: object) -> object:
    return value.strip().removesuffix("%").rstrip() if isinstance(value, str) else value


OCO = "OCO"
STOP: TermsKind = "STOP_LOSS_LIMIT"
MONEY_PLACES = 2
Percent = Annotated[str, BeforeValidator(_without_sign), DECIMAL, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,8})?$")]
# Binance's own argument, in basis points.
BasisPoints = Annotated[int, Field(ge=1, le=9_999)]
ReplacedId = Annotated[ClientOrderId, Field(description="client_order_id of an open order to replace")]


class PreviewTradableOrder(PreviewOrder):
    type: TermsKind = "LIMIT"  # type: ignore[assignment] # wider: a pair is not a single order
    quantity: SpentText | None = optional("Of the base asset; SELL: also 50%, half, all")
    quote_quantity: SpentText | None = optional("MARKET only: spend or receive this; BUY: also 50%, all")
    price: PriceText | None = optional("Not for MARKET. Also +1% (of the best price) or entry+1% (of the average cost)")
    stop_price: PriceText | None = optional("Of stops and OCO, like price")
    time_in_force: TimeInForce | None = optional("Default GTC")
    take_profit: PriceText | None = optional("BUY: price, or +4% of the entry")
    stop_loss: PriceText | None = optional("BUY: price, or -2% of the entry")
    risk: RiskText | None = optional("BUY with stop_loss, instead of quantity: most to lose, 1% of equity or 100")
    trailing: Percent | None = optional("Trailing stop, percent below the highest price; no stop price or limit")
    trailing_delta: SkipJsonSchema[BasisPoints | None] = None
    replaces: ReplacedId | None = None

    @model_validator(mode="after")
    def _trails(self) -> Self:
        if self.percent is None:
            return self
        if self.trailing is not None and self.trailing_delta is not None:
            raise PydanticCustomError("trailing", "trailing and trailing_delta are the same distance: give one of them")
        if self.stop_price is not None or self.stop_loss is not None:
            raise PydanticCustomError("trailing", "a trailing stop has no stop price: it starts at the market")
        if self.side == "SELL" and self.kind not in (STOP, OCO):
            raise PydanticCustomError("trailing", "a trailing SELL has type STOP_LOSS_LIMIT or OCO")
        if self.kind == STOP and self.price is not None:
            raise PydanticCustomError("trailing", "a trailing stop takes no price: its limit is computed and shown")
        if self.kind == STOP and self.side != "SELL":
            raise PydanticCustomError("trailing", "a trailing stop sells: a BUY has it as an exit, like stop_loss")
        return self

    @model_validator(mode="after")
    def _stays(self) -> Self:
        if self.time_in_force is not None and self.type in ("MARKET", "LIMIT_MAKER", OCO):
            raise PydanticCustomError("no_time_in_force", "{kind} has no time in force", {"kind": self.type})
        return self

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if self.type != OCO:
            return self
        if None in (self.quantity, self.price) or (self.stop_price is None and self.percent is None):
            raise PydanticCustomError("pair", "OCO needs quantity, price (take profit), and stop_price or trailing")
        if any(each is not None for each in (self.quote_quantity, self.take_profit, self.stop_loss, self.risk)):
            raise PydanticCustomError("pair", "OCO takes only quantity, price, and stop_price or trailing")
        return self

    @property
    def kind(self) -> TermsKind:
        """Return the type; a trailing sale without a type is a stop."""
        is_stop = self.percent is not None and self.side == "SELL" and "type" not in self.model_fields_set
        return STOP if is_stop else self.type

    @property
    def percent(self) -> Decimal | None:
        """Return the distance of a trailing stop in percent."""
        if self.trailing_delta is not None:
            return percent_of(self.trailing_delta)
        return None if self.trailing is None else Decimal(self.trailing)

    @property
    def exit_trailing(self) -> Decimal | None:
        """Return the distance of a trailing stop that is an exit of the order or of a pair."""
        return None if self.kind == STOP else self.percent

    @property
    def requested(self) -> RequestedOrder:
        """Return the order with its amounts as they were written. A pair (OCO) is its LIMIT_MAKER order with a stop."""
        if self.type == OCO:
            pair = self.model_copy(update={"type": "LIMIT_MAKER", "stop_price": None})
            return replace(requested(pair), stop_loss=amount(self.stop_price, "price"), is_pair=True)
        return replace(
            requested(self.model_copy(update={"type": self.kind})),
            take_profit=amount(self.take_profit, "price"),
            stop_loss=amount(self.stop_loss, "price"),
            risk=amount(self.risk, "risk"),
            trailing=self.percent if self.kind == STOP else None,
        )


class TradablePreviewAnswer(PreviewAnswer):
    changes: SkipJsonSchema[list[dict[str, str]]]
    balance_check: SkipJsonSchema[str]
    balances: SkipJsonSchema[list[dict[str, str]]]
    rules_not_checked: SkipJsonSchema[list[str]]
    network: SkipJsonSchema[str]
    host: SkipJsonSchema[str]
    as_of: SkipJsonSchema[str]
    summary: str
    mode: str
    preview_id: str | None
    expires: str | None
    worst_price: str | None = omitted()
    steps: SkipJsonSchema[list[str] | None] = omitted()
    result: SkipJsonSchema[dict[str, str] | None] = omitted()
    confirmation: Literal["none", "client", "apart"] | None = omitted()
    counts: SkipJsonSchema[str]
    limits_left: dict[str, str]
    refused_by: list[str]
    next_step: SkipJsonSchema[str]


async def preview_tradable_order(context: Context, arguments: PreviewTradableOrder) -> ToolAnswer:
    trading = await trading_of(context)
    wanted, cost = arguments.requested, context.profit.average_cost
    read = await trading.read(arguments.symbol, wanted, cost)
    wish = OrderOptions(wanted.is_pair, read.take_profit, read.stop_loss, arguments.replaces, arguments.exit_trailing)
    stays = arguments.time_in_force or "GTC"
    shown = await trading.preview(arguments.symbol, read.intent, stays, wish, read, cost)
    summary = preview_summary(shown)
    touch = shown.tried.preview.touch
    is_quiet = touch.bid is None or touch.ask is None
    is_refused = shown.kept is None
    return ToolAnswer(tradable_page(shown, summary), _answer(shown, summary), quiet=is_quiet, is_refused=is_refused)


def _answer(shown: TradablePreview, summary: str) -> TradablePreviewAnswer:
    tried, terms = preview_answer(shown.tried), shown.terms
    order = {
        **tried.order,
        "type": terms.kind,
        "quantity": written(terms.quantity),
        "time_in_force": terms.time_in_force,
        **_beside(terms),
    }
    return TradablePreviewAnswer(
        **tried.model_dump(exclude={"order", "notes"}),
        order=order,
        notes=tradable_notes(shown),
        summary=summary,
        mode=terms.mode,
        preview_id=None if shown.kept is None else shown.kept.preview_id,
        expires=None if shown.kept is None else instant(terms.expires_ms),
        worst_price=exact(terms.price) if terms.is_market else None,
        steps=plan_steps(terms, shown.tried.preview.rules.base) or None,
        result=_result(shown),
        confirmation=None if shown.kept is None else CONFIRMATION[shown.way],
        counts=f"{cents_text(terms.taken)} {shown.counting_asset}" if shown.purpose == "entry" else f"exit: {EXIT}",
        limits_left=dict(shown.limits_left),
        refused_by=[denied_words(each) for each in shown.denied],
        next_step=preview_step(shown),
    )


def _beside(terms: Terms) -> dict[str, str]:
    exits = terms.exits
    amounts = (
        {}
        if exits is None
        else {
            "take_profit": exits.take_profit,
            "stop": exits.stop,
            "stop_limit": exits.stop_limit,
            "exit_quantity": exits.quantity,
            "trailing": None if exits.trailing_bps is None else percent_of(exits.trailing_bps),
        }
    )
    listed = {} if exits is None else {"list": exits.shape}
    replaced = {} if terms.replaces is None else {"amends" if terms.amends else "replaces": terms.replaces}
    cancelled = {"cancels": ", ".join(each.client_order_id for each in terms.releases)} if terms.releases else {}
    known = {name: written(amount) for name, amount in amounts.items() if amount is not None}
    return {**known, **listed, **replaced, **cancelled}


def _result(shown: TradablePreview) -> dict[str, str] | None:
    found = shown.result
    if found is None:
        return None
    rules = shown.tried.preview.rules
    places = max(MONEY_PLACES, decimals_of(rules.tick))
    amounts = {"loss_at_stop": found.loss, "loss_at_worst_price": found.worst_loss, "gain_at_target": found.gain}
    known = {name: short(value, places) for name, value in amounts.items() if value is not None}
    ratio = {} if found.ratio is None else {"r": short(found.ratio, R_PLACES)}
    even = {} if found.break_even is None else {"break_even": written(found.break_even)}
    from_price = short(found.cost, average_places(rules.tick, found.cost))
    return {**known, **ratio, **even, "asset": rules.quote, "measured_from": found.source, "from_price": from_price}


PREVIEW_TRADABLE_ORDER = ToolSpec(
    name="preview_order",
    title="Try an order out",
    description=(
        "Check a spot order without sending it: exchange rules, rounding, value, fee, expected fill, worst price, "
        "balances, the operator's limits. Returns the preview_id that place_order needs. A refusal names the rule and "
        "the nearest order that passes. Sends nothing. Not for placing (place_order)."
    ),
    arguments=PreviewTradableOrder,
    answer=TradablePreviewAnswer,
    run=preview_tradable_order,
    read_only=True,
    toolset="orders",
)
