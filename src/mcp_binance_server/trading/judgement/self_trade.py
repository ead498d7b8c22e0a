"""Self-trade prevention: if a new order meets an order of the same account, the new order expires.

Not all symbols support this. Pure. https://developers.binance.com/docs/binance-spot-api-docs/faqs/stp_faq
"""

from dataclasses import dataclass

from mcp_binance_server.domain.symbols import SymbolRules

# The server's new order expires; orders placed by hand stay open.
WANTED = "EXPIRE_TAKER"
NONE = "NONE"
MEANS = {
    WANTED: "this order expires and the other one stays",
    "EXPIRE_MAKER": "the other one expires and this order continues",
    "EXPIRE_BOTH": "both expire",
    "DECREMENT": "both are reduced by the smaller one",
    "TRANSFER": "the smaller one is moved between the accounts",
    NONE: "they trade with each other",
}


@dataclass(frozen=True, slots=True)
class SelfTradeMode:
    """Self-trade mode to send, and the mode in effect. With `sent` None, the symbol's default applies."""

    sent: str | None
    holds: str

    @property
    def told(self) -> str:
        """Sentence for the user about the result of a self-trade."""
        means = MEANS.get(self.holds, "the exchange decides the outcome")
        why = "" if self.sent else f": this symbol does not support {WANTED}"
        return f"If it meets an order of your own, {means}{why}."


def self_trade_mode(rules: SymbolRules) -> SelfTradeMode:
    """Return the self-trade mode for orders on this symbol."""
    if WANTED in rules.self_trade_modes:
        return SelfTradeMode(WANTED, WANTED)
    return SelfTradeMode(None, rules.self_trade_default)
