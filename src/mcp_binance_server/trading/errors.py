"""Errors of trading: refusals, stops and unknown outcomes. `mcp_binance_server.errors` draws the whole tree."""

from dataclasses import dataclass
from typing import ClassVar

from mcp_binance_server.errors import AppError, ExchangeError

CANCEL = "cancel"


@dataclass(kw_only=True, eq=False)
class InsufficientBalance(AppError):
    code: ClassVar[int] = -32004
    error_type: ClassVar[str] = "insufficient_balance"
    guide: ClassVar[str] = "guide://document/errors/symbols-and-orders.md"
    recovery_suggestion: ClassVar[str] = "Lower the quantity or deposit the missing amount"

    asset: str
    required_amount: str
    available_amount: str
    shortfall: str

    @property
    def message(self) -> str:
        return f"Insufficient {self.asset} balance: {self.required_amount} needed, {self.available_amount} available."


@dataclass(kw_only=True, eq=False)
class OutcomeUnknown(ExchangeError):
    error_type: ClassVar[str] = "outcome_unknown"
    recovery_suggestion: ClassVar[str] = "Do not send it again: look the order up by its client order id first"

    client_order_id: str | None = None

    @property
    def message(self) -> str:
        return "Binance did not say whether the request was executed; it may have been."


@dataclass(kw_only=True, eq=False)
class JournalUnavailable(AppError):
    error_type: ClassVar[str] = "journal_unavailable"

    reason: str
    fix: str

    @property
    def message(self) -> str:
        return f"The journal of orders cannot be used: {self.reason}. {self.fix}. No order is placed without it."


@dataclass(kw_only=True, eq=False)
class KeyDoesNotTrade(AppError):
    code: ClassVar[int] = -32002
    error_type: ClassVar[str] = "key_does_not_trade"
    guide: ClassVar[str] = "guide://document/errors/credentials.md"
    recovery_suggestion: ClassVar[str] = (
        "Ask the operator to name this key in the rules, or call without X-Binance-Api-Key, as somebody whom this "
        "server lends its own key: docs/hosting.md, Whose account"
    )

    key_id: str | None = None
    reason: str | None = None

    @property
    def message(self) -> str:
        if self.reason is not None:
            return f"The key of this call, {self.key_id}, does not trade: {self.reason}. Nothing was sent."
        brought = "with another one, or is not lent that one" if self.key_id is None else f"with {self.key_id}"
        return (
            "Orders are placed with this server's own key, or with one that its operator's rules name; this call came "
            f"{brought}. A key that you bring can read. Nothing was sent."
        )


@dataclass(kw_only=True, eq=False)
class OrderDenied(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "order_denied"
    guide: ClassVar[str] = "guide://document/errors/order-denied.md"
    recovery_suggestion: ClassVar[str] = "Tell the user; a limit is the operator's and cannot be changed here"

    guard: str
    received: str
    limit: str
    left: str | None = None
    client_order_id: str | None = None

    @property
    def message(self) -> str:
        left = "" if self.left is None else f", {self.left} left"
        what = "cancelled" if self.guard == CANCEL else "placed"
        return f"Not {what}: {self.guard} allows {self.limit}{left}; this is {self.received}."


@dataclass(kw_only=True, eq=False)
class OrderUnresolved(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "order_unresolved"
    guide: ClassVar[str] = "guide://document/errors/order-denied.md"
    recovery_suggestion: ClassVar[str] = "Look the other order up with get_order; place nothing in its stead meanwhile"

    client_order_id: str

    @property
    def message(self) -> str:
        return (
            f"Not placed: order {self.client_order_id} of this symbol and side may stand, and nobody knows yet whether "
            "it does. Nothing was sent."
        )


@dataclass(kw_only=True, eq=False)
class PreviewNotFound(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "preview_not_found"
    recovery_suggestion: ClassVar[str] = "Call preview_order, show the user what it says, then place that preview"

    @property
    def message(self) -> str:
        return "There is no such preview, or no longer. Nothing was sent."


@dataclass(kw_only=True, eq=False)
class PreviewStale(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "preview_stale"
    recovery_suggestion: ClassVar[str] = "Call preview_order again and show the user the new prices"

    guard: str
    received: str
    limit: str

    @property
    def message(self) -> str:
        return f"The market has moved away from the preview: {self.received}, {self.limit}. Nothing was sent."


@dataclass(kw_only=True, eq=False)
class OrderDeclined(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "declined"
    recovery_suggestion: ClassVar[str] = "Do not ask again unless the user brings it up"

    @property
    def message(self) -> str:
        return "The user declined this order. Nothing was sent."


@dataclass(kw_only=True, eq=False)
class AskedTooOften(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "asked_too_often"
    recovery_suggestion: ClassVar[str] = "Stop proposing orders until the user asks for one"

    retry_after_secs: int

    @property
    def message(self) -> str:
        return f"The user has declined several orders; they are not asked again for {self.retry_after_secs} seconds."


@dataclass(kw_only=True, eq=False)
class ApprovalImpossible(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "approval_impossible"
    recovery_suggestion: ClassVar[str] = "The operator must name an approver in trading.toml, or raise client_per_order"

    why: str = "it is above what a client may confirm"

    @property
    def message(self) -> str:
        return f"This order needs an approver ({self.why}), and none is set up. Nothing was sent."


@dataclass(kw_only=True, eq=False)
class TradingNotReady(AppError):
    error_type: ClassVar[str] = "trading_not_ready"
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = "Wait half a minute and place the same preview again; nothing is placed twice"

    step: str

    @property
    def message(self) -> str:
        return f"Not placed: no order before {self.step}. Nothing was sent; previews and cancels work."


@dataclass(kw_only=True, eq=False)
class TradingStopped(AppError):
    error_type: ClassVar[str] = "trading_stopped"
    recovery_suggestion: ClassVar[str] = "Only the user can start trading again, outside of this chat"

    why: str
    since: str
    how_to_resume: str = "mcp-binance-server resume"

    @property
    def message(self) -> str:
        return f'Trading is stopped since {self.since}: "{self.why}". Nothing was sent; cancels still work.'
