"""The tool that tries an order out where orders can be placed: it says how, and keeps what it showed for that."""

from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from mcp_binance_server.errors import InvalidArguments
from mcp_binance_server.services.trading.answers import TradablePreview
from mcp_binance_server.surface.arguments import DECIMAL
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.orders.preview import (
    PreviewAnswer,
    PreviewOrder,
    TimeInForce,
    intent_of,
    preview_answer,
)
from mcp_binance_server.surface.tools.rows import omitted, optional
from mcp_binance_server.surface.tools.trading.outcomes import trading_of
from mcp_binance_server.surface.views.markdown import exact, instant
from mcp_binance_server.surface.views.trading.preview import (
    denied_words,
    preview_step,
    preview_summary,
    tradable_notes,
    tradable_page,
)
from mcp_binance_server.surface.views.trading.terms import CONFIRMATION
from mcp_binance_server.trading.judgement.intent import OrderIntent
from mcp_binance_server.trading.judgement.policy import cents_text
from mcp_binance_server.trading.judgement.preview import written

ALL = "all"
AmountOrAll = Annotated[str, DECIMAL, Field(pattern=r"^((?i:all)|[0-9]{1,20}(\.[0-9]{1,20})?)$")]


class PreviewTradableOrder(PreviewOrder):
    quantity: AmountOrAll | None = optional("Of the base asset, decimal text; 'all' sells what is free")
    time_in_force: TimeInForce | None = optional("GTC unless told otherwise")

    @model_validator(mode="after")
    def _stays(self) -> Self:
        if self.time_in_force is not None and self.type in ("MARKET", "LIMIT_MAKER"):
            raise PydanticCustomError("no_time_in_force", "{kind} has no time in force", {"kind": self.type})
        return self

    @property
    def is_all(self) -> bool:
        return self.quantity is not None and self.quantity.lower() == ALL


class TradablePreviewAnswer(PreviewAnswer):
    summary: str
    mode: str
    preview_id: str | None
    expires: str | None
    worst_price: str | None = omitted()
    confirmation: Literal["none", "client", "apart"] | None = omitted()
    counts: SkipJsonSchema[str]
    limits_left: dict[str, str]
    refused_by: list[str]
    next_step: SkipJsonSchema[str]


async def preview_tradable_order(context: Context, arguments: PreviewTradableOrder) -> ToolAnswer:
    trading = trading_of(context)
    intent = await _intent(context, arguments)
    shown = await trading.preview(arguments.symbol, intent, arguments.time_in_force or "GTC")
    summary = preview_summary(shown)
    touch = shown.tried.preview.touch
    is_quiet = touch.bid is None or touch.ask is None
    return ToolAnswer(tradable_page(shown, summary), _answer(shown, summary), quiet=is_quiet)


async def _intent(context: Context, arguments: PreviewTradableOrder) -> OrderIntent:
    if not arguments.is_all:
        return intent_of(arguments)
    whole = await trading_of(context).whole(arguments.symbol, arguments.side)
    if not whole:
        problem = {"argument": "quantity", "problem": "nothing of that asset is free to sell"}
        raise InvalidArguments(summary=f"There is nothing to sell: {problem['problem']}", errors=(problem,))
    return replace(intent_of(arguments.model_copy(update={"quantity": None})), quantity=whole)


def _answer(shown: TradablePreview, summary: str) -> TradablePreviewAnswer:
    tried, terms = preview_answer(shown.tried), shown.terms
    order = {**tried.order, "quantity": written(terms.quantity), "time_in_force": terms.time_in_force}
    return TradablePreviewAnswer(
        **tried.model_dump(exclude={"order", "notes"}),
        order=order,
        notes=tradable_notes(shown),
        summary=summary,
        mode=terms.mode,
        preview_id=None if shown.kept is None else shown.kept.preview_id,
        expires=None if shown.kept is None else instant(terms.expires_ms),
        worst_price=exact(terms.price) if terms.is_market else None,
        confirmation=None if shown.kept is None else CONFIRMATION[shown.way],
        counts=f"{cents_text(terms.counted)} {shown.counting_asset}",
        limits_left=dict(shown.limits_left),
        refused_by=[denied_words(each) for each in shown.denied],
        next_step=preview_step(shown),
    )


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
