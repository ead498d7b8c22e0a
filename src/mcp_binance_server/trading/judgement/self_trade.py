"""What happens should an order meet another one of the same account: ours gives way, where that can be asked for. Pure.

https://developers.binance.com/docs/binance-spot-api-docs/faqs/stp_faq
"""

from dataclasses import dataclass

from mcp_binance_server.domain.symbols import SymbolRules

# What was placed by hand stays, and what is placed here expires.
WANTED = "EXPIRE_TAKER"
NONE = "NONE"
MEANS = {
    WANTED: "this order would expire and the other one stay",
    "EXPIRE_MAKER": "the other one would expire and this order go on",
    "EXPIRE_BOTH": "both would expire",
    "DECREMENT": "both would be reduced by the smaller one",
    "TRANSFER": "the smaller one would be moved between the accounts",
    NONE: "they would trade with each other",
}


@dataclass(frozen=True, slots=True)
class SelfTradeMode:
    """What is asked for, None where the symbol's own rule holds, and what that means."""

    sent: str | None
    holds: str

    @property
    def told(self) -> str:
        """Say what would happen, in one sentence."""
        means = MEANS.get(self.holds, "the exchange decides what happens")
        why = "" if self.sent else f": on this symbol {WANTED} cannot be asked for"
        return f"Should it meet an order of your own, {means}{why}."


def self_trade_mode(rules: SymbolRules) -> SelfTradeMode:
    """Return what an order on this symbol is sent with."""
    if WANTED in rules.self_trade_modes:
        return SelfTradeMode(WANTED, WANTED)
    return SelfTradeMode(None, rules.self_trade_default)
