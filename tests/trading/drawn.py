"""What people ask for in generated histories: orders, pairs, entries with exits, and changes of orders that stand."""

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Any, Literal

from hypothesis import strategies as st

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import ListShape
from mcp_binance_server.trading.judgement.exits import Exits
from trading.host import FEE, STEP, SYMBOL

Change = Literal["replace", "amend"]
# With an entry, and with which exits.
SHAPES: tuple[tuple[ListShape, bool, bool], ...] = (
    ("OTO", True, False),
    ("OTO", False, True),
    ("OTOCO", True, True),
    ("OPO", True, False),
    ("OPO", False, True),
    ("OPOCO", True, True),
)
RESTS = 98
PRICES, QUANTITIES = st.integers(97, 103), st.integers(1, 6)


@dataclass(frozen=True)
class Wish:
    """Terms of an order or list; with a `change` in the place of one that stands.

    One that only becomes smaller becomes so many `quarters` of what it was. Where none stands, whoever `insists`
    changes one that is over, and others place one that rests. An entry has one of its `exits`, in turn: of what
    is drawn some would come far more often than others.
    """

    terms: dict[str, Any]
    change: Change | None = None
    quarters: int = 4
    insists: bool = False
    exits: tuple[Exits, ...] = ()


def _amounts(price: int, quantity: int) -> dict[str, Any]:
    counted = price * quantity * 100
    return {
        "symbol": SYMBOL,
        "price": _price(price),
        "quantity": Quantity(Decimal(quantity)),
        "counted": counted,
    }


def _price(price: int) -> Price:
    return Price(Decimal(price))


def _single(price: int, quantity: int, **others: Any) -> Wish:  # noqa: ANN401 - any member of the terms
    return Wish(_amounts(price, quantity) | others)


def _pair(above: int, stop: int, quantity: int) -> Wish:
    amounts = _amounts(above, quantity)
    exits = Exits("OCO", amounts["quantity"], _price(above), _price(stop), _price(stop - 1))
    return Wish(amounts | {"side": "SELL", "kind": "OCO", "stop_price": _price(stop), "exits": exits})


def _entry(price: int, quantity: int, kind: str, above: int, below: int) -> Wish:
    """Buy, and sell so much above and so much below that, or in one of both places."""
    amounts = _amounts(price, quantity)
    received = Quantity((amounts["quantity"] * (1 - FEE)).quantize(STEP, ROUND_FLOOR))
    profit, stop, least = (_price(each) for each in (price + above, price - below, price - below - 1))
    exits = tuple(
        Exits(
            shape,
            received if shape in ("OTO", "OTOCO") else amounts["quantity"],
            profit if has_profit else None,
            stop if has_stop else None,
            least if has_stop else None,
        )
        for shape, has_profit, has_stop in SHAPES
    )
    return Wish(amounts | {"side": "BUY", "kind": kind}, exits=exits)


def _instead(price: int, quantity: int, kind: str, *, insists: bool) -> Wish:
    return Wish(_amounts(price, quantity) | {"kind": kind}, "replace", insists=insists)


def _smaller(quarters: int, *, insists: bool) -> Wish:
    return Wish(_amounts(RESTS, 4), "amend", quarters, insists)


def resting(quantity: Quantity) -> dict[str, Any]:
    """Return the terms of an order that is not filled at once."""
    return _amounts(RESTS, 1) | {"side": "BUY", "quantity": quantity, "counted": int(RESTS * quantity * 100)}


rarely = st.integers(0, 3).map(lambda drawn: drawn == 3)
singles = st.builds(
    _single,
    PRICES,
    QUANTITIES,
    side=st.sampled_from(("BUY", "SELL")),
    kind=st.sampled_from(("LIMIT", "LIMIT", "LIMIT_MAKER", "MARKET")),
    time_in_force=st.sampled_from(("GTC", "GTC", "IOC", "FOK")),
)
pairs = st.builds(_pair, st.integers(101, 104), st.integers(96, 100), QUANTITIES)
entries = st.builds(
    _entry,
    PRICES,
    QUANTITIES,
    st.sampled_from(("LIMIT", "LIMIT", "LIMIT_MAKER", "MARKET")),
    st.integers(1, 3),
    st.integers(1, 3),
)
lists = st.one_of(pairs, entries, entries)
# One that is of more than there is leaves nothing behind when the order goes that it replaces.
replacements = st.builds(
    _instead,
    PRICES,
    st.sampled_from((1, 2, 4, 7, 12)),
    st.sampled_from(("LIMIT", "LIMIT", "LIMIT_MAKER")),
    insists=rarely,
)
amendments = st.builds(_smaller, st.integers(1, 3), insists=rarely)
changes = st.one_of(replacements, amendments)
wishes = st.one_of(singles, lists, changes)
