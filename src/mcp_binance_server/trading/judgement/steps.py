"""Steps of a sale of reserved coins: which exits are placed after the cancel, each with its own ID. Pure.

The plan is part of the terms that a person agreed to. So it is in the journal before the first step, and each step
has one ID that only depends on the plan.
"""

from base64 import b32encode
from dataclasses import replace
from decimal import ROUND_CEILING, localcontext
from hashlib import sha256
from typing import Literal

from mcp_binance_server.domain.money import EXACT_DIGITS, Quantity
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.released import Released
from mcp_binance_server.trading.judgement.terms import ID_CHARACTERS, PreviewId, Terms

# The exits placed again after the sale, and once more if the exchange refuses them.
Step = Literal["again", "once more"]
STEPS: tuple[Step, ...] = ("again", "once more")
_STEP = b"mcp-binance-server step of an order v1\0"


def step_id(plan: PreviewId, step: Step, number: int) -> PreviewId:
    """Return the ID of a step for the released order with this number."""
    made = sha256(_STEP + f"{plan} {step} {number}".encode()).digest()
    return PreviewId(b32encode(made).decode().lower()[:ID_CHARACTERS])


def step_terms(plan: Terms, number: int, quantity: Quantity, step: Step = "again") -> Terms:
    """Return the terms of the exits that are placed for what remains of a released order."""
    old = plan.releases[number]
    with localcontext(prec=EXACT_DIGITS):
        counted = int((old.counted * quantity / old.quantity).to_integral_value(ROUND_CEILING))
    return replace(
        plan,
        side="SELL",
        kind=old.kind,
        time_in_force=old.time_in_force,
        quantity=quantity,
        price=old.price,
        stop_price=old.stop_price,
        counted=counted,
        nonce=f"{plan.nonce} {step} {number}",
        exits=_pair(old, quantity),
        replaces=None,
        amends=False,
        releases=(),
        trailing_bps=None if old.kind == "OCO" else old.trailing_bps,
    )


def counted_for_way(terms: Terms) -> int:
    """Return the amount that decides how an order is confirmed. To cancel a stop counts like placing it."""
    return max(terms.counted, sum(each.counted for each in terms.releases if each.stop_price is not None))


def _pair(old: Released, quantity: Quantity) -> Exits | None:
    if old.kind != "OCO":
        return None
    return Exits("OCO", quantity, old.price, old.stop_price, old.stop_limit, old.trailing_bps)
