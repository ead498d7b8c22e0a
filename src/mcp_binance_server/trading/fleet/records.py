"""Intents, and their claims on limits, in the form that the workers of an account share. Pure."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, get_args

from mcp_binance_server.domain.money import Price, Quantity, written
from mcp_binance_server.domain.orders import FINAL_STATUS, Order
from mcp_binance_server.state.claims import Claim, ClaimNews, ClaimRoom, LimitPart
from mcp_binance_server.trading.journal.limits import PositionRoom
from mcp_binance_server.trading.journal.records import (
    NEVER_EXECUTED,
    NEXT,
    UNRESOLVED,
    Intent,
    IntentState,
    amount_in,
    count_in,
    legs_in,
    legs_json,
    moment_in,
    one_of,
    text_in,
)
from mcp_binance_server.trading.judgement.charges import Charge, given_back
from mcp_binance_server.trading.judgement.exits import standing_of
from mcp_binance_server.trading.judgement.exposure import Purpose
from mcp_binance_server.trading.judgement.policy import Way
from mcp_binance_server.trading.judgement.stop import passes
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms

# Rank of a state, which only increases. It compares first the state, then whether the order has ended, then the
# executed quantity.
STATE_RANK: dict[IntentState, int] = {
    "PREPARED": 0,
    "SENT": 1,
    "UNKNOWN": 2,
    "NOT_PLACED": 3,
    "ACKED": 4,
    "ADOPTED": 4,
    "REJECTED": 6,
    "NOT_SENT": 6,
}
STATE_STEP, OVER_STEP, EXECUTED_STEP, LEG_STEP = 10_000_000, 5_000_000, 1_000_000, 100_000


@dataclass(frozen=True, slots=True)
class SharedIntent:
    """An intent, its asset, and the reason for its state."""

    intent: Intent
    asset: str
    reason: str = ""

    def to_bytes(self) -> bytes:
        """Encode the intent for other workers. The result contains no key and no request."""
        intent = self.intent
        told: dict[str, Any] = {
            "preview_id": intent.preview_id,
            "client_order_id": intent.client_order_id,
            "visitor": intent.visitor,
            "owner": intent.owner,
            "state": intent.state,
            "status": intent.status,
            "order_id": intent.order_id,
            "executed": written(intent.executed),
            "spent": written(intent.spent),
            "counted": intent.counted,
            "way": intent.way,
            "terms": intent.terms.to_json(),
            "prepared_ms": intent.prepared_ms,
            "updated_ms": intent.updated_ms,
            "final_ms": intent.final_ms,
            "legs": legs_json(intent.legs),
            "amended": None if intent.amended is None else written(intent.amended),
            "asset": self.asset,
            "purpose": intent.purpose,
            "reason": self.reason,
        }
        return json.dumps(told).encode()

    @classmethod
    def from_bytes(cls, value: bytes) -> "SharedIntent":
        """Decode an intent that another worker encoded.

        Raises:
            ValueError: the value is not such an intent.
        """
        try:
            told = dict[str, Any](json.loads(value))
            intent = Intent(
                preview_id=PreviewId(text_in(told["preview_id"])),
                client_order_id=text_in(told["client_order_id"]),
                visitor=text_in(told["visitor"]),
                owner=text_in(told["owner"]),
                state=one_of(told["state"], NEXT),  # type: ignore[arg-type] # a key of NEXT
                status=text_in(told["status"]),
                order_id=None if told["order_id"] is None else count_in(told["order_id"]),
                executed=Quantity(amount_in(told["executed"])),
                spent=Quantity(amount_in(told["spent"])),
                counted=count_in(told["counted"]),
                way=one_of(told["way"], get_args(Way)),  # type: ignore[arg-type] # one of Way
                terms=Terms.from_json(told["terms"]),
                prepared_ms=moment_in(told["prepared_ms"]),
                updated_ms=moment_in(told["updated_ms"]),
                final_ms=None if told["final_ms"] is None else moment_in(told["final_ms"]),
                legs=legs_in(told["legs"]),
                amended=None if told["amended"] is None else Quantity(amount_in(told["amended"])),
                purpose=one_of(told.get("purpose", "entry"), get_args(Purpose)),  # type: ignore[arg-type] # one of Purpose
            )
            return cls(intent, text_in(told["asset"]), text_in(told["reason"]))
        except (TypeError, KeyError, ArithmeticError) as error:
            raise ValueError("not an intent of a worker") from error

    @property
    def news(self) -> ClaimNews:
        """State of the intent in the format of the shared state."""
        intent = self.intent
        is_settled = intent.state not in UNRESOLVED
        return ClaimNews(intent.preview_id, self.to_bytes(), _rank(intent), is_settled, _given(intent), intent.final_ms)

    def claim(self, charges: tuple[Charge, ...]) -> Claim:
        """Return the intent's charges against limits, and the other claims that it conflicts with."""
        intent, terms = self.intent, self.intent.terms
        parts = tuple(
            LimitPart(each.name, each.span, each.amount, each.most, returns=each.unit == "money") for each in charges
        )
        # Sales of one asset are settled one after the other, on all its symbols, because two sales may sell the same
        # coins.
        line = f"{terms.symbol} BUY" if terms.side == "BUY" else f"{self.asset} SELL"
        exits = terms.exits and terms.exits.likeness
        stop = terms.starts_trailing_bps or terms.stop_price
        same = f"{terms.symbol} {terms.side} {terms.kind} {stop}"
        alike = f"{same} {terms.amounts_json} {exits} {terms.replaces}"
        if intent.purpose == "step":  # its plan has claimed the coins, and may still be unsettled
            line = alike = intent.preview_id
        return Claim(
            intent.preview_id,
            self.to_bytes(),
            intent.prepared_ms,
            parts,
            worth=terms.taken,
            group=self.asset if terms.side == "BUY" else "",
            alike=alike,
            line=line,
            passes_stop=passes(intent.purpose, intent.way),
        )

    @property
    def orders(self) -> tuple[Order, ...]:
        """Known orders at the exchange. A change of an order is not an order."""
        intent = self.intent
        if intent.terms.exits is not None:
            return tuple(self._order(*each) for each in intent.legs)
        if intent.order_id is None or not intent.status or intent.terms.amends:
            return ()
        return (self._order(intent.client_order_id, intent.order_id, intent.status, intent.executed, intent.spent),)

    def _order(self, name: str, order_id: int, status: str, executed: Quantity, spent: Quantity) -> Order:
        intent, terms = self.intent, self.intent.terms
        return Order(
            order_id=order_id,
            client_order_id=name,
            symbol=terms.symbol,
            side=terms.side,
            kind=terms.kind,
            status=status,
            time_in_force=terms.time_in_force,
            price=terms.price,
            stop_price=Price(Decimal(0)) if terms.trailing_bps else terms.stop_price or Price(Decimal(0)),
            trailing_bps=terms.trailing_bps,
            quantity=intent.quantity,
            executed=executed,
            quote_spent=spent,
            created_ms=intent.prepared_ms,
            updated_ms=intent.updated_ms,
        )


def shared_room(room: PositionRoom | None) -> ClaimRoom | None:
    return None if room is None else ClaimRoom(room.name, room.held, room.most, room.read_ms)


def _rank(intent: Intent) -> int:
    executed = int(intent.executed / intent.terms.quantity * EXECUTED_STEP) if intent.executed else 0
    legs = sum(LEG_STEP * (1 + each.is_final + (each.status != "PENDING_NEW")) for each in intent.legs)
    return STATE_RANK[intent.state] * STATE_STEP + _is_over(intent) * OVER_STEP + executed + legs


def _is_over(intent: Intent) -> bool:
    if intent.terms.exits is not None:
        return standing_of(intent.terms.exits, intent.legs).is_settled
    return intent.status in FINAL_STATUS


def _given(intent: Intent) -> int:
    if intent.state in NEVER_EXECUTED:
        return intent.counted
    return given_back(intent.counted, intent.terms.quantity, intent.executed) if _is_over(intent) else 0
