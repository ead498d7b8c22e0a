"""The error for an order that the exchange would refuse; `mcp_binance_server.errors` shows the whole error tree."""

from dataclasses import dataclass
from typing import ClassVar

from mcp_binance_server.errors import AppError


@dataclass(kw_only=True, eq=False)
class OrderRuleBroken(AppError):
    """Violation of an order rule of the exchange.

    `nearest` holds amounts that pass every rule. `nearest_note` warns if they exceed the request.
    """

    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "order_rule_broken"
    guide: ClassVar[str] = "guide://document/errors/symbols-and-orders.md"
    recovery_suggestion: ClassVar[str] = "Nothing was sent. Change the order to follow the rule, or ask the user"

    rule: str
    received: str
    limit: str
    reason: str | None = None
    nearest: dict[str, str] | None = None
    nearest_note: str | None = None
    also_broken: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        said = f"{self.rule} refuses this order{why}: {self.received}, allowed is {self.limit}."
        if self.nearest is None:
            return said
        amounts = ", ".join(f"{name} {amount}" for name, amount in self.nearest.items())
        note = f" ({self.nearest_note})" if self.nearest_note else ""
        return f"{said} Nearest order that passes: {amounts}{note}."
