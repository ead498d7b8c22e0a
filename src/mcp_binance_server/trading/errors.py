"""What an account cannot pay for, and what nobody can tell; the tree is drawn in `mcp_binance_server.errors`."""

from dataclasses import dataclass
from typing import ClassVar

from mcp_binance_server.errors import AppError, ExchangeError


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
