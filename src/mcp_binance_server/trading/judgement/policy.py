"""Trading rules of the operator: allowed symbols and types, limits, and confirmations. Pure."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import ROUND_CEILING, Decimal
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from mcp_binance_server.domain.money import STABLECOINS
from mcp_binance_server.domain.order_requests import TermsKind
from mcp_binance_server.trading.judgement.policy_lines import (
    CENT,
    PolicyProblem,
    cents_down,
    count,
    money,
    one_of,
    only,
    step,
    symbol,
    table,
    text,
    texts,
)
from mcp_binance_server.trading.judgement.terms import TradingMode

Way = Literal["policy", "client", "apart"]
Ask = Literal["default", "always"]
Cancellable = Literal["own", "all"]

KINDS: tuple[TermsKind, ...] = get_args(TermsKind)
CLIENT_PER_ORDER = 100_00
# Live trading has no default limits, because the money is the operator's.
REQUIRED_LIVE = ("symbols", "per_order", "per_day", "daily_loss")
COUNTING_ASSETS = (*STABLECOINS, "EUR", "TRY", "BRL")
START_BALANCES: Mapping[str, Decimal] = MappingProxyType({"USDT": Decimal(10_000)})


@dataclass(frozen=True, slots=True)
class TradingLimits:
    """Upper limits for orders, in whole hundredths of the counting asset (the unit of all limits).

    None means no limit.
    """

    symbols: frozenset[str] | None = None
    types: frozenset[TermsKind] = frozenset(KINDS)
    per_order: int | None = None
    per_day: int | None = None
    per_symbol_day: int | None = None
    daily_loss: int | None = None
    position: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    orders_per_minute: int = 5
    orders_per_day: int = 50
    open_orders: int = 10
    collar_percent: Decimal = Decimal(2)
    slippage_bps: Decimal = Decimal(50)
    cancel: Cancellable = "own"


@dataclass(frozen=True, slots=True)
class Confirm:
    """Rules for the confirmation of an order.

    They depend on its charge in hundredths of the counting asset (the unit of all limits).
    """

    ask: Ask = "default"
    auto_per_order: int = 0
    auto_per_day: int = 0
    client_per_order: int | None = None
    expires_secs: int = 120
    """Lifetime of a preview in seconds."""
    approver: str | None = None


@dataclass(frozen=True, slots=True)
class KeyRules:
    """Rules of one API key. The key's own lines replace the common ones."""

    mode: TradingMode
    limits: TradingLimits
    confirm: Confirm
    own: Mapping[str, str]
    """Lines of this key only, as written in the file."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Parsed policy file, common or for one key. Terms and journal refer to it by its hash, `digest`."""

    counting_asset: str = "USDT"
    limits: TradingLimits = field(default_factory=TradingLimits)
    confirm: Confirm = field(default_factory=Confirm)
    keys: Mapping[str, KeyRules] = field(default_factory=lambda: MappingProxyType({}))
    paper_balances: Mapping[str, Decimal] = field(default_factory=lambda: START_BALANCES)
    digest: str = sha256(b"").hexdigest()
    common: "Policy | None" = field(default=None, repr=False)
    """The common rules; None if these rules are the common ones."""

    def of_key(self, key_id: str) -> "Policy":
        """Return the rules of one key. The key's own lines replace the common ones."""
        common = self.common or self
        own = common.keys.get(key_id)
        return common if own is None else replace(common, limits=own.limits, confirm=own.confirm, common=common)

    def mode_of(self, key_id: str) -> TradingMode | None:
        """Return the trading mode of a key at the exchange, or None if the policy does not name the key."""
        own = self.keys.get(key_id)
        return None if own is None else own.mode

    def way(self, mode: TradingMode, counted: int) -> Way:
        """Return how an order with this charge is confirmed: by the policy alone, by the client, or by the approver."""
        confirm = self.confirm
        if confirm.ask == "default" and (mode != "live" or counted <= confirm.auto_per_order):
            return "policy"
        return self.way_of_person(mode, counted)

    def way_of_person(self, mode: TradingMode, counted: int) -> Way:
        """Return how a person confirms an order with this charge."""
        return "client" if counted <= self.client_ceiling(mode, counted) else "apart"

    def client_ceiling(self, mode: TradingMode, counted: int = 0) -> int:
        """Return the highest charge that the user's own client can confirm. Without such a limit, return `counted`."""
        own = self.confirm.client_per_order
        return own if own is not None else CLIENT_PER_ORDER if mode == "live" else counted

    @property
    def resumers(self) -> frozenset[str]:
        """Public keys that can resume trading after a stop: the common approver's, otherwise those of single keys."""
        if self.confirm.approver is not None:
            return frozenset({self.confirm.approver})
        return frozenset(own.confirm.approver for own in self.keys.values() if own.confirm.approver is not None)

    def lacks_for_live(self) -> tuple[str, ...]:
        """Return the names of the limits that live trading requires and that this file does not set."""
        return tuple(name for name in REQUIRED_LIVE if getattr(self.limits, name) is None)


def read_policy(data: bytes) -> Policy:
    """Parse the operator's file.

    Raises:
        PolicyProblem: it is not TOML, or one of its lines cannot be used.
    """
    try:
        told = tomllib.loads(data.decode())
    except RecursionError:
        raise PolicyProblem("not TOML: brackets are nested too deeply") from None
    except ValueError as error:  # Python also raises this for a number with thousands of digits.
        raise PolicyProblem(f"not TOML: {error}") from None
    only("", told, ("counting_asset", "limits", "confirm", "keys", "paper"))
    asset = one_of("counting_asset", told.get("counting_asset", "USDT"), COUNTING_ASSETS)
    paper = table("paper", told.get("paper", {}))
    only("paper.", paper, ("balances",))
    limits = TradingLimits(**_limits("limits", told.get("limits", {})))
    confirm = Confirm(**_confirm("confirm", told.get("confirm", {})))
    return Policy(
        counting_asset=asset,
        limits=limits,
        confirm=confirm,
        keys=_keys(table("keys", told.get("keys", {})), limits, confirm),
        paper_balances=_balances(paper),
        digest=sha256(data).hexdigest(),
    )


def cents_up(amount: Decimal) -> int:
    """Convert an amount to whole hundredths. It is rounded up."""
    return int((amount / CENT).to_integral_value(ROUND_CEILING))


def cents_text(cents: int) -> str:
    """Format whole hundredths as money."""
    return f"{Decimal(cents) * CENT:f}"


def _limits(at: str, value: object) -> dict[str, Any]:
    """Parse a table of limits, line by line."""
    told = table(at, value)
    only(f"{at}.", told, [each.name for each in fields(TradingLimits)])
    found: dict[str, object] = {}
    for name, given in told.items():
        line = f"{at}.{name}"
        match name:
            case "symbols":
                found[name] = frozenset(symbol(line, each) for each in texts(line, given))
            case "types":
                found[name] = frozenset(one_of(line, each, KINDS) for each in texts(line, given))
            case "position":
                assets = table(line, given)
                most = {asset: cents_down(f"{line}.{step(asset)}", each) for asset, each in assets.items()}
                found[name] = MappingProxyType(most)
            case "orders_per_minute" | "orders_per_day" | "open_orders":
                found[name] = count(line, given)
            case "collar_percent" | "slippage_bps":
                found[name] = money(line, given)
            case "cancel":
                found[name] = one_of(line, given, get_args(Cancellable))
            case _:
                found[name] = cents_down(line, given)
    return found


def _confirm(at: str, value: object) -> dict[str, Any]:
    """Parse a table of confirmation rules, line by line."""
    told = table(at, value)
    only(f"{at}.", told, [each.name for each in fields(Confirm)])
    found: dict[str, object] = {}
    for name, given in told.items():
        line = f"{at}.{name}"
        match name:
            case "ask":
                found[name] = one_of(line, given, get_args(Ask))
            case "approver":
                found[name] = text(line, given)
            case "expires_secs":
                found[name] = count(line, given, 10, 600)
            case _:
                found[name] = cents_down(line, given)
    return found


def _keys(told: Mapping[str, object], limits: TradingLimits, confirm: Confirm) -> Mapping[str, KeyRules]:
    found: dict[str, KeyRules] = {}
    for name, value in told.items():
        at = f"keys.{step(name)}"
        if not name.strip():
            raise PolicyProblem(f"{at}: name a key by its ID, as doctor shows it")
        about = table(at, value)
        only(f"{at}.", about, ("mode", "limits", "confirm"))
        if "mode" not in about:
            raise PolicyProblem(f"{at}.mode: missing; one of practice, live")
        mode = cast("TradingMode", one_of(f"{at}.mode", about["mode"], ("practice", "live")))
        own_limits = _limits(f"{at}.limits", about.get("limits", {}))
        own_confirm = _confirm(f"{at}.confirm", about.get("confirm", {}))
        own = {line: _as_written(each) for line, each in _lines(about)}
        rules = KeyRules(mode, replace(limits, **own_limits), replace(confirm, **own_confirm), MappingProxyType(own))
        found[name] = rules
    return MappingProxyType(found)


def _lines(about: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name in ("limits", "confirm"):
        yield from table(name, about.get(name, {})).items()


def _as_written(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in cast("dict[str, object]", value).items())
    return ", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)


def _balances(paper: Mapping[str, object]) -> Mapping[str, Decimal]:
    if "balances" not in paper:
        return START_BALANCES
    told = table("paper.balances", paper["balances"])
    return MappingProxyType({asset: money(f"paper.balances.{step(asset)}", each) for asset, each in told.items()})
