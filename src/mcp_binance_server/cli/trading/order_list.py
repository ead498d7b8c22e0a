"""Orders of the journal as terminal lines or CSV cells. Pure."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from mcp_binance_server.cli import spreadsheet
from mcp_binance_server.cli.terminal import NARROWEST, Colour, Terminal
from mcp_binance_server.domain.money import percent_of
from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.judgement.policy import Way, cents_text
from mcp_binance_server.trading.judgement.preview import written
from mcp_binance_server.words import word

HEADINGS = ("WHEN (UTC)", "MODE", "ORDER", "STATE", "EXECUTED", "AVERAGE", "CONFIRMED", "ID")
STATE, TO_THE_RIGHT = 3, {4, 5}
CONFIRMED: Final[Mapping[Way, str]] = {"policy": "by policy", "client": "in the client", "apart": "by approver"}
COLOURS: Final[Mapping[str, Colour]] = {
    "FILLED": "green",
    "PARTIALLY_FILLED": "green",
    "REJECTED": "yellow",
    "NOT_SENT": "yellow",
    "NOT_PLACED": "yellow",
    "SENT": "red",
    "UNKNOWN": "red",
    "ADOPTED": "red",
}
AVERAGE_PLACES = Decimal("0.00000001")


@dataclass(frozen=True, slots=True)
class OrderLine:
    """An order, and the reason why it was not sent or was rejected."""

    intent: Intent
    mode: str
    """Mode with the venue."""
    reason: str = ""

    @property
    def state(self) -> str:
        """The exchange's status. Before the exchange answers, it is the journal's state."""
        return self.intent.status or self.intent.state

    @property
    def order(self) -> str:
        terms = self.intent.terms
        if terms.amends:
            return f"reduce to {written(terms.quantity)} {terms.symbol}"
        price = f"{'at worst ' if terms.is_market else ''}{written(terms.price)}"
        stop = "" if terms.stop_price is None else f" stop {written(terms.stop_price)}"
        if terms.trailing_bps is not None:
            stop = f" trailing {written(percent_of(terms.trailing_bps))}%"
        usual = "" if terms.is_market or terms.time_in_force == "GTC" else f" {terms.time_in_force}"
        return f"{terms.side} {written(terms.quantity)} {terms.symbol} {terms.kind} {price}{stop}{usual}"

    @property
    def account(self) -> str:
        return word(self.intent.terms.account)

    @property
    def average(self) -> str:
        found = self.intent.average_price
        return "" if found is None else written(found.quantize(AVERAGE_PLACES))

    @property
    def cells(self) -> tuple[str, ...]:
        intent = self.intent
        executed = written(intent.executed) if intent.executed else ""
        return (
            f"{moment_of(intent.prepared_ms):%Y-%m-%d %H:%M:%S}",
            self.mode,
            self.order,
            self.state,
            executed,
            self.average,
            "not known" if intent.state == "ADOPTED" else CONFIRMED[intent.way],
            intent.exchange_id,
        )


# Times are ISO 8601 in UTC. `counted` is the amount that counts towards the limits.
FIELDS: Final[Mapping[str, Callable[[OrderLine], object]]] = {
    "prepared": lambda each: _iso(each.intent.prepared_ms),
    "account": lambda each: each.intent.terms.account,
    "mode": lambda each: each.intent.terms.mode,
    "network": lambda each: each.intent.terms.network,
    "symbol": lambda each: each.intent.terms.symbol,
    "side": lambda each: each.intent.terms.side,
    "type": lambda each: each.intent.terms.kind,
    "time_in_force": lambda each: each.intent.terms.time_in_force,
    "quantity": lambda each: each.intent.terms.quantity,
    "price": lambda each: each.intent.terms.price,
    "stop_price": lambda each: each.intent.terms.stop_price,
    "trailing_bps": lambda each: each.intent.terms.starts_trailing_bps,
    "state": lambda each: each.intent.state,
    "status": lambda each: each.intent.status,
    "executed": lambda each: each.intent.executed,
    "spent": lambda each: each.intent.spent,
    "average_price": lambda each: each.average,
    "confirmed": lambda each: "" if each.intent.state == "ADOPTED" else each.intent.way,
    "reason": lambda each: word(each.reason),
    "counted": lambda each: cents_text(each.intent.counted),
    "client_order_id": lambda each: each.intent.exchange_id,
    "exchange_order_id": lambda each: each.intent.order_id,
    "preview_id": lambda each: each.intent.preview_id,
    "visitor": lambda each: each.intent.visitor,
    "policy": lambda each: each.intent.terms.policy,
    "updated": lambda each: _iso(each.intent.updated_ms),
    "final": lambda each: _iso(each.intent.final_ms),
}


def as_lines(orders: Sequence[OrderLine], terminal: Terminal, width: int | None) -> str:
    """Return a table. If it is too wide, return a few lines for each order.

    With several accounts, each order shows its account.
    """
    if not orders:
        return ""
    has_several = len({each.account for each in orders}) > 1
    headings = (*HEADINGS, "ACCOUNT") if has_several else HEADINGS
    rows = [(*each.cells, each.account) if has_several else each.cells for each in orders]
    wide = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    if width is not None and sum(wide) + 2 * (len(wide) - 1) > width:
        return "\n".join(_block(each, terminal, width, with_account=has_several) for each in orders)
    told = terminal.paint(_row(headings, wide).rstrip(), "dim") + "\n"
    for each, row in zip(orders, rows, strict=True):
        line = _row(row, wide, lambda state: _painted(state, terminal))
        told += f"{line.rstrip()}\n{_reason(each, terminal, width or sum(wide))}"
    return told


def as_csv(orders: Sequence[OrderLine]) -> str:
    """Return every field of every order as CSV, with formulas escaped."""
    return spreadsheet.as_csv(FIELDS, ([_text(of(each)) for of in FIELDS.values()] for each in orders))


def _row(cells: Sequence[str], wide: Sequence[int], paint_state: Callable[[str], str] = str) -> str:
    padded = [
        text.rjust(width) if place in TO_THE_RIGHT else text.ljust(width)
        for place, (text, width) in enumerate(zip(cells, wide, strict=True))
    ]
    state = cells[STATE]
    padded[STATE] = paint_state(state) + padded[STATE][len(state) :]
    return "  ".join(padded)


def _block(each: OrderLine, terminal: Terminal, width: int, *, with_account: bool) -> str:
    when, mode, order, state, executed, average, confirmed, name = each.cells
    filled = f" {executed} at {average} on average" if executed else ""
    head = _wrapped(f"{when}  {mode}  {order}", width)
    whose = f", account {each.account}" if with_account else ""
    body = _wrapped(f"  {state}{filled}, confirmed {confirmed}, {name}{whose}", width)
    body[0] = f"  {_painted(state, terminal)}{body[0][2 + len(state) :]}"
    return "\n".join([*head, *body]) + "\n" + _reason(each, terminal, width)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def _painted(state: str, terminal: Terminal) -> str:
    colour = COLOURS.get(state)
    return state if colour is None else terminal.paint(state, colour)


def _reason(each: OrderLine, terminal: Terminal, width: int) -> str:
    lines = _wrapped(f"  reason: {word(each.reason)}", max(width, NARROWEST)) if each.reason else []
    return "".join(terminal.paint(line, "dim") + "\n" for line in lines)


def _iso(at_ms: int | None) -> str:
    return "" if at_ms is None else f"{moment_of(at_ms):%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}Z"


def _text(value: object) -> str:
    return "" if value is None else written(value) if isinstance(value, Decimal) else str(value)
