"""Errors of trading: refusals, stops and unknown outcomes. `mcp_binance_server.errors` draws the whole tree."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mcp_binance_server.errors import AppError, ExchangeError

REPLACES = "replaces"
# Limits of numbers of orders, with the words for their unit.
COUNTS = {
    "orders_per_minute": "orders a minute",
    "orders_per_day": "orders a day",
    "open_orders": "open orders",
    "exits_per_minute": "exits a minute",
    "exits_per_day": "exits a day",
}
# Longer waits are written in hours and minutes.
LONG_SECS = 120
CANCEL_FIRST = "get_open_orders lists them; cancel what is no longer wanted, then preview again"
CANCEL_THERE = "Cancel the orders that are no longer wanted where they were placed, then preview again"
BINANCE_APP = "To sell or to place a stop without this server, use Binance's own app or website"
RESUME_FIRST = "Trading is stopped: the user can lift the stop with mcp-binance-server resume"


def limit_reached(guard: str, limit: str) -> str:
    """Return the denial text for a reached limit on the number of orders."""
    unit = COUNTS[guard]
    return (
        f"limit reached, {limit} {unit.replace('orders', 'order').replace('exits', 'exit') if limit == '1' else unit}"
    )


def reserved_words(amount: str, asset: str) -> str:
    """Return a clause with the amount of an asset that open orders reserve."""
    return f"{amount} {asset} are reserved by open orders"


def try_again(retry_after_secs: int | None) -> str:
    """Return the end of a sentence: the wait until a limit of a minute or a day has room again."""
    if retry_after_secs is None:
        return ""
    if retry_after_secs < LONG_SECS:
        return f"; it has room again in {retry_after_secs} s"
    hours, minutes = divmod(retry_after_secs // 60, 60)
    return f"; it has room again in {hours} h {minutes} min"


@dataclass(kw_only=True, eq=False)
class InsufficientBalance(AppError):
    code: ClassVar[int] = -32004
    error_type: ClassVar[str] = "insufficient_balance"
    guide: ClassVar[str] = "guide://document/errors/symbols-and-orders.md"
    recovery_suggestion: ClassVar[str] = "Lower the quantity"

    asset: str
    required_amount: str
    available_amount: str
    shortfall: str
    reserved_amount: str | None = None
    reserved_by: tuple[str, ...] | None = None
    """Orders that were placed elsewhere and reserve the asset."""

    def data(self) -> dict[str, Any]:
        """Return the fields of the error. If open orders reserve the missing amount, the suggestion names them."""
        if self.reserved_amount is None:
            return AppError.data(self)
        return {**AppError.data(self), "recovery_suggestion": CANCEL_FIRST if not self.reserved_by else CANCEL_THERE}

    @property
    def message(self) -> str:
        short = f"Insufficient {self.asset} balance: {self.required_amount} needed, {self.available_amount} available."
        if self.reserved_amount is None:
            return short
        placed = f", placed elsewhere: {'; '.join(self.reserved_by)}" if self.reserved_by else ""
        return f"{short} {reserved_words(self.reserved_amount, self.asset)}{placed}."


@dataclass(kw_only=True, eq=False)
class OutcomeUnknown(ExchangeError):
    error_type: ClassVar[str] = "outcome_unknown"
    recovery_suggestion: ClassVar[str] = "Do not send it again: look up the order by its client order ID first"

    client_order_id: str | None = None

    @property
    def message(self) -> str:
        return "The outcome at Binance is unknown: the request may have been executed."


@dataclass(kw_only=True, eq=False)
class JournalUnavailable(AppError):
    error_type: ClassVar[str] = "journal_unavailable"

    reason: str
    fix: str

    @property
    def message(self) -> str:
        return f"The order journal cannot be used: {self.reason}. {self.fix}. No order is placed without it."


@dataclass(kw_only=True, eq=False)
class KeyDoesNotTrade(AppError):
    code: ClassVar[int] = -32002
    error_type: ClassVar[str] = "key_does_not_trade"
    guide: ClassVar[str] = "guide://document/errors/credentials.md"
    recovery_suggestion: ClassVar[str] = (
        "Ask the operator to name this key in the rules, or call without X-Binance-Api-Key if you may use this "
        "server's own key: docs/hosting.md, Whose account"
    )

    key_id: str | None = None
    reason: str | None = None

    @property
    def message(self) -> str:
        if self.reason is not None:
            return f"The key of this call, {self.key_id}, cannot trade: {self.reason}. Nothing was sent."
        brought = "with another key, or may not use the server's" if self.key_id is None else f"with {self.key_id}"
        return (
            "Orders need this server's own key, or a key in the operator's rules; this call came "
            f"{brought}. Your own key can only read. Nothing was sent."
        )


@dataclass(kw_only=True, eq=False)
class OrderDenied(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "order_denied"
    guide: ClassVar[str] = "guide://document/errors/order-denied.md"
    recovery_suggestion: ClassVar[str] = "Explain it to the user; only the operator can change a limit"

    guard: str
    received: str
    limit: str
    left: str | None = None
    client_order_id: str | None = None
    retry_after_secs: int | None = None

    def data(self) -> dict[str, Any]:
        """Return the fields of the error. For a limit of a minute or a day, they include the time to wait."""
        if self.retry_after_secs is None:
            return AppError.data(self)
        wait = f"Report the refusal, and preview again in {self.retry_after_secs} seconds; exits are limited separately"
        return {**AppError.data(self), "recovery_suggestion": wait}

    @property
    def message(self) -> str:
        if self.guard in COUNTS:
            reached = f"{limit_reached(self.guard, self.limit)} ({self.guard})"
            return f"Not placed: {reached}{try_again(self.retry_after_secs)}."
        left = "" if self.left is None else f", {self.left} left"
        if self.guard == REPLACES:
            return f"Not placed: {self.received}; {self.guard} allows {self.limit}."
        again = try_again(self.retry_after_secs)
        return f"Not placed: {self.guard} allows {self.limit}{left}; this is {self.received}{again}."


@dataclass(kw_only=True, eq=False)
class OrderNotFound(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "order_not_found"
    recovery_suggestion: ClassVar[str] = "Use an ID of the open orders; get_all_orders lists past ones"

    open_orders: tuple[str, ...]
    placed_here: bool = True
    """Whether only orders of this server were searched, and not all orders of the account."""

    @property
    def message(self) -> str:
        where = "was placed here" if self.placed_here else "is in this account"
        listed = f"Open: {', '.join(self.open_orders)}" if self.open_orders else "None is open"
        return f"No open order with that ID {where}. {listed}."


@dataclass(kw_only=True, eq=False)
class OrderUnresolved(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "order_unresolved"
    guide: ClassVar[str] = "guide://document/errors/order-denied.md"
    recovery_suggestion: ClassVar[str] = (
        "Look up the other order with get_order; place nothing until its outcome is known"
    )

    client_order_id: str

    @property
    def message(self) -> str:
        return (
            f"Not placed: order {self.client_order_id} of this symbol and side may be open; its outcome is not known "
            "yet. Nothing was sent."
        )


@dataclass(kw_only=True, eq=False)
class PreviewNotFound(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "preview_not_found"
    recovery_suggestion: ClassVar[str] = "Call preview_order, show the user its result, then place that preview"

    @property
    def message(self) -> str:
        return "This preview has expired or was never made. Nothing was sent."


@dataclass(kw_only=True, eq=False)
class PreviewStale(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "preview_stale"
    recovery_suggestion: ClassVar[str] = "Call preview_order again and show the user the new prices"

    guard: str
    received: str
    limit: str
    left: str | None = None

    @property
    def message(self) -> str:
        left = "" if self.left is None else f" {self.left}."
        moved = f"The market has moved away from the preview: {self.received}; allowed: {self.limit}."
        return f"{moved}{left} Nothing was sent."


@dataclass(kw_only=True, eq=False)
class OrderDeclined(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "declined"
    recovery_suggestion: ClassVar[str] = "Do not ask again unless the user brings it up"

    @property
    def message(self) -> str:
        return "This order was declined, by the user or by a client that could not ask. Nothing was sent."


@dataclass(kw_only=True, eq=False)
class AskedTooOften(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "asked_too_often"
    recovery_suggestion: ClassVar[str] = "Stop proposing orders until the user asks for one"

    retry_after_secs: int

    @property
    def message(self) -> str:
        return (
            "Several orders were declined, by the user or by a client that could not ask. No further question for "
            f"{self.retry_after_secs} seconds."
        )


@dataclass(kw_only=True, eq=False)
class ApprovalImpossible(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "approval_impossible"
    recovery_suggestion: ClassVar[str] = "The operator must name an approver in trading.toml, or raise client_per_order"

    why: str = "its amount is above the limit for confirmation in the client"
    instead: str | None = None

    @property
    def message(self) -> str:
        instead = "" if self.instead is None else f" {self.instead}."
        return f"This order needs an approver ({self.why}), and none is set up. Nothing was sent.{instead}"


@dataclass(kw_only=True, eq=False)
class TradingNotReady(AppError):
    error_type: ClassVar[str] = "trading_not_ready"
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = "Wait half a minute and place the same preview again; nothing is placed twice"

    step: str

    @property
    def message(self) -> str:
        return f"Not placed: no orders until {self.step}. Nothing was sent; previews and cancels work."


@dataclass(kw_only=True, eq=False)
class TradingStopped(AppError):
    error_type: ClassVar[str] = "trading_stopped"
    recovery_suggestion: ClassVar[str] = "Only the user can resume trading, outside this chat"

    why: str
    since: str
    how_to_resume: str

    @property
    def message(self) -> str:
        return f'Trading is stopped ("{self.why}") since {self.since}. Nothing was sent; cancels still work.'
