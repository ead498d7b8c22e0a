"""Terms that a person agrees to: one exact order, with its preview ID and its ID at the exchange. Pure."""

import hmac
import json
import re
from base64 import b32encode
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from typing import Literal, NewType

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Side, TermsKind, TimeInForce
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.judgement.exits import SUFFIXES, Exits
from mcp_binance_server.trading.judgement.intent import MARKET
from mcp_binance_server.trading.judgement.preview import written
from mcp_binance_server.trading.judgement.released import Released

TradingMode = Literal["off", "paper", "practice", "live"]
PreviewId = NewType("PreviewId", str)

# Network of `demo`, which has a trading folder of its own.
OFFLINE = "offline"
PREVIEW_ID = r"^[a-z2-7]{20}$"
ID_CHARACTERS = 20
MOST_CHARACTERS = 80
# Size of the cache. Each step of an order reads its terms again, and checks of later orders do too.
MOST_READ = 1_024
LATER = ("exits", "replaces", "amends", "trailing_bps", "releases")
RELEASED_AMOUNTS = ("quantity", "sold", "rest", "price", "stop_price", "stop_limit")
# Prefix for signatures (domain separation). Without the prefix, another message signed with these keys could pass as
# terms.
_PREVIEW, _APPROVAL = b"mcp-binance-server preview v1\0", b"mcp-binance-server order approval v1\0"
# Prefixes of this server's order IDs. They identify its orders at the exchange, even if every store is lost.
_PREFIX: dict[tuple[TradingMode, str], str] = {("practice", "testnet"): "mbt-", ("practice", "demo"): "mbd-"}
_PREFIX_OF_MODE: dict[TradingMode, str] = {"paper": "mbp-", "live": "mbl-"}
_PREFIXES = (*_PREFIX.values(), *_PREFIX_OF_MODE.values())


@dataclass(frozen=True, slots=True)
class Terms:
    """Everything that a person agrees to. Any change makes another order.

    `price` is the limit price, or the worst price of a market order. `counted` is the charge against limits, in whole
    hundredths of the counting asset (the unit of all limits). `policy` is the hash of the rules that applied when the
    order was shown. `replaces` is the ID of an open order that this one replaces. With `amends`, that order is only
    reduced. A trailing stop has `trailing_bps`; its `stop_price` is the first trigger as shown, and is not sent.
    `releases` are open sales that are cancelled before this one, because they reserve its coins.
    """

    account: str
    mode: TradingMode
    network: str
    symbol: Symbol
    side: Side
    kind: TermsKind
    time_in_force: TimeInForce
    quantity: Quantity
    price: Price
    stop_price: Price | None
    counted: int
    policy: str
    expires_ms: int
    nonce: str
    exits: Exits | None = None
    replaces: str | None = None
    amends: bool = False
    trailing_bps: int | None = None
    releases: tuple[Released, ...] = ()

    @property
    def value(self) -> Quantity:
        """Largest amount that can be spent, or smallest amount that can be received.

        In the quote asset, without fees.
        """
        return Quantity(self.quantity * self.worst)

    @property
    def worst(self) -> Price:
        """Worst price at which the quantity can trade. For a pair, this is the limit price of its stop."""
        is_pair = self.exits is not None and not self.exits.has_entry
        return (self.exits.stop_limit if is_pair and self.exits else None) or self.price

    @property
    def is_market(self) -> bool:
        return self.kind == MARKET

    @property
    def is_stop(self) -> bool:
        """Whether the order protects a position. If it does, its cancel must be confirmed."""
        has_trigger = self.stop_price is not None or self.trailing_bps is not None
        return has_trigger or (self.exits is not None and self.exits.stop is not None)

    @property
    def starts_trailing_bps(self) -> int | None:
        """Distance of a trailing stop that follows the price at once: a single one, or that of a pair."""
        is_pair = self.exits is not None and not self.exits.has_entry
        return self.exits.trailing_bps if self.exits is not None and is_pair else self.trailing_bps

    @property
    def follows_market(self) -> bool:
        """Whether the limit price comes from the market, so that it differs between repeated requests."""
        return self.is_market or self.trailing_bps is not None

    @property
    def taken(self) -> int:
        """Charge against money limits. A reduction costs 0, because the order was charged in full before."""
        return 0 if self.amends else self.counted

    @property
    def kinds(self) -> tuple[TermsKind, ...]:
        """All order types sent for these terms. A pair counts as a type."""
        if self.exits is None or not self.exits.has_entry:
            return (self.kind,)
        above: tuple[TermsKind, ...] = () if self.exits.take_profit is None else ("LIMIT_MAKER",)
        below: tuple[TermsKind, ...] = () if self.exits.stop is None else ("STOP_LOSS_LIMIT",)
        return (self.kind, *above, *below)

    def order_ids(self, client_order_id: str) -> tuple[str, ...]:
        """Return the IDs of the orders at the exchange: one ID, or the IDs of all orders of a list."""
        if self.amends and self.replaces is not None:
            return (self.replaces,)
        if self.exits is None:
            return (client_order_id,)
        return tuple(client_order_id + suffix for suffix in self.exits.suffixes)

    @property
    def amounts_json(self) -> str:
        """Part of `to_json` that stays equal when an order is repeated. It omits a price that comes from the market."""
        price = "" if self.follows_market else f'"price":"{written(self.price)}",'
        return f'{price}"quantity":"{written(self.quantity)}"'

    def to_json(self) -> str:
        """Write the terms as JSON. Equal terms give equal texts."""
        told = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        told["releases"] = [_plain(each) for each in self.releases]
        # Omit fields that most orders do not use. So terms that were written before a field existed stay equal.
        told = {name: value for name, value in told.items() if name not in LATER or value}
        return json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> "Terms":
        """Parse the output of `to_json`.

        Raises:
            ValueError: the text is not such an output.
        """
        return _read(text)

    def preview_id(self, key: bytes) -> PreviewId:
        """Return the preview ID of these terms. Only a holder of the key can compute it."""
        made = hmac.new(key, _PREVIEW + self.to_json().encode(), sha256).digest()
        return PreviewId(b32encode(made).decode().lower()[:ID_CHARACTERS])

    def approval_digest(self, preview_id: PreviewId) -> bytes:
        """Return the digest that an approver signs."""
        return sha256(_APPROVAL + preview_id.encode() + b"\0" + self.to_json().encode()).digest()


@dataclass(frozen=True, slots=True)
class StoredPreview:
    """Terms that were shown to a visitor, with the asset of the order."""

    preview_id: PreviewId
    terms: Terms
    visitor: str
    asset: str


@lru_cache(MOST_READ)
def _read(text: str) -> Terms:
    try:
        told = dict[str, object](json.loads(text))
        amounts = {name: _amount(told[name]) for name in ("quantity", "price", "stop_price")}
        exits = {"exits": _exits(told["exits"])} if "exits" in told else {}
        releases = {"releases": _releases(told["releases"])} if "releases" in told else {}
        made = Terms(**{**told, **amounts, **exits, **releases})  # type: ignore[arg-type] # fields as `to_json` wrote them
    except (TypeError, KeyError, ArithmeticError) as error:
        raise ValueError("not the terms of an order") from error
    if made.to_json() != text:
        raise ValueError("not the terms of an order")
    return made


def command(words: str, network: str) -> str:
    """Return a command line for the trading folder of a server on this network."""
    return f"mcp-binance-server {words}{' --demo' if network == OFFLINE else ''}"


def client_order_id(terms: Terms, preview_id: PreviewId) -> str:
    """Return the order's ID at the exchange. It depends only on the preview, the mode and the network."""
    return f"{_prefix(terms.mode, terms.network)}{preview_id}"


def preview_of(client_order_id: str, mode: TradingMode, network: str) -> PreviewId | None:
    """Return the preview ID of an order. Return None if the ID was not made here for this mode and network.

    An order of a list keeps its own ID, with the suffix. The list may be lost, so the order is treated as a single
    order.
    """
    prefix = _prefix(mode, network)
    rest = client_order_id.removeprefix(prefix)
    is_ours = rest != client_order_id and re.fullmatch(PREVIEW_ID, without_suffix(rest))
    return PreviewId(rest) if is_ours else None


def is_made_here(client_order_id: str) -> bool:
    """Return True if an ID has the format of this server's IDs, in any mode. Other programs may use the same format."""
    name = without_suffix(client_order_id)
    return name.startswith(_PREFIXES) and re.fullmatch(PREVIEW_ID, name[4:]) is not None


def without_suffix(client_order_id: str) -> str:
    """Return the ID of the list that an order belongs to. An order outside a list keeps its own ID."""
    return client_order_id[:-2] if client_order_id.endswith(SUFFIXES) else client_order_id


def _prefix(mode: TradingMode, network: str) -> str:
    return _PREFIX.get((mode, network)) or _PREFIX_OF_MODE[mode]


def _plain(value: object) -> object:
    if isinstance(value, Exits | Released):
        told = {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
        return {name: plain for name, plain in told.items() if name not in LATER or plain}
    return written(value) if isinstance(value, Decimal) else value


def _exits(told: object) -> Exits:
    said = dict[str, object](told)  # type: ignore[call-overload] # a wrong value fails like other wrong terms
    others = {name: value for name, value in said.items() if name in {"shape", "trailing_bps"}}
    amounts = {name: _amount(amount) for name, amount in said.items() if name not in others}
    return Exits(**others, **amounts)  # type: ignore[arg-type] # as above


def _releases(told: object) -> tuple[Released, ...]:
    return tuple(_released(each) for each in list[object](told))  # type: ignore[call-overload] # as above


def _released(told: object) -> Released:
    said = dict[str, object](told)  # type: ignore[call-overload] # as above
    amounts = {name: _amount(said[name]) for name in RELEASED_AMOUNTS}
    return Released(**{**said, **amounts})  # type: ignore[arg-type] # as above


def _amount(text: object) -> Decimal | None:
    if text is None:
        return None
    # This server never writes longer numbers. Formatting a longer number would exhaust the memory.
    amount = Decimal(str(text)[:MOST_CHARACTERS])
    if not amount.is_finite() or abs(amount.adjusted()) > MOST_CHARACTERS:
        raise ValueError("no amount")
    return amount
