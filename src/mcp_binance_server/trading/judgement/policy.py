"""The operator's rules for trading: what may be traded, how much of it, and who must be asked. Pure."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from difflib import get_close_matches
from hashlib import sha256
from types import MappingProxyType
from typing import Literal, cast, get_args

from mcp_binance_server.domain.money import STABLECOINS
from mcp_binance_server.domain.order_requests import TermsKind
from mcp_binance_server.domain.symbols import fold, is_plausible
from mcp_binance_server.trading.judgement.terms import TradingMode

Way = Literal["policy", "client", "apart"]
Ask = Literal["default", "always"]
Cancellable = Literal["own", "all"]

KINDS: tuple[TermsKind, ...] = get_args(TermsKind)
CENT = Decimal("0.01")
MOST_DIGITS = 15
MOST_ORDERS = 100_000
CLIENT_PER_ORDER = 100_00
# There is no default for somebody else's money.
REQUIRED_LIVE = ("symbols", "per_order", "per_day", "daily_loss")
COUNTING_ASSETS = (*STABLECOINS, "EUR", "TRY", "BRL")
START_BALANCES: Mapping[str, Decimal] = MappingProxyType({"USDT": Decimal(10_000)})


class PolicyProblem(ValueError):
    """A line of the file that cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class TradingLimits:
    """The most of each; amounts are whole hundredths of the counting asset, None is no limit."""

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
    """Who says yes to an order, by what limits take for it."""

    ask: Ask = "default"
    auto_per_order: int = 0
    auto_per_day: int = 0
    client_per_order: int | None = None
    expires_secs: int = 120
    """How long a preview can be placed."""
    approver: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The file as it was read; `digest` is what terms and journal name it by."""

    counting_asset: str = "USDT"
    limits: TradingLimits = field(default_factory=TradingLimits)
    confirm: Confirm = field(default_factory=Confirm)
    keys: Mapping[str, TradingMode] = field(default_factory=lambda: MappingProxyType({}))
    paper_balances: Mapping[str, Decimal] = field(default_factory=lambda: START_BALANCES)
    digest: str = sha256(b"").hexdigest()

    def way(self, mode: TradingMode, counted: int) -> Way:
        """Say who must agree to an order that limits take so much for."""
        confirm = self.confirm
        if confirm.ask == "default" and (mode != "live" or counted <= confirm.auto_per_order):
            return "policy"
        return "client" if counted <= self.client_ceiling(mode, counted) else "apart"

    def client_ceiling(self, mode: TradingMode, counted: int = 0) -> int:
        """Return up to what the user's own client may ask them; where nothing limits that, what is asked about."""
        own = self.confirm.client_per_order
        return own if own is not None else CLIENT_PER_ORDER if mode == "live" else counted

    def lacks_for_live(self) -> tuple[str, ...]:
        """Name the limits that real money needs and that this file does not set."""
        return tuple(name for name in REQUIRED_LIVE if getattr(self.limits, name) is None)


def read_policy(data: bytes) -> Policy:
    """Read the operator's file.

    Raises:
        PolicyProblem: it is not TOML, or one of its lines cannot be used.
    """
    try:
        told = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PolicyProblem(f"not TOML: {error}") from None
    _only("", told, ("counting_asset", "limits", "confirm", "keys", "paper"))
    asset = _one_of("counting_asset", told.get("counting_asset", "USDT"), COUNTING_ASSETS)
    paper = _table("paper", told.get("paper", {}))
    _only("paper.", paper, ("balances",))
    return Policy(
        counting_asset=asset,
        limits=_limits(_table("limits", told.get("limits", {}))),
        confirm=_confirm(_table("confirm", told.get("confirm", {}))),
        keys=_keys(_table("keys", told.get("keys", {}))),
        paper_balances=_balances(paper),
        digest=sha256(data).hexdigest(),
    )


def cents_up(amount: Decimal) -> int:
    """Count an amount in whole hundredths, never less than it is."""
    return int((amount / CENT).to_integral_value(ROUND_CEILING))


def cents_text(cents: int) -> str:
    """Write whole hundredths as money."""
    return f"{Decimal(cents) * CENT:f}"


def _limits(told: Mapping[str, object]) -> TradingLimits:
    _only("limits.", told, [each.name for each in fields(TradingLimits)])
    at = "limits."
    found: dict[str, object] = {}
    for name, value in told.items():
        match name:
            case "symbols":
                found[name] = frozenset(_symbol(f"{at}symbols", each) for each in _texts(f"{at}symbols", value))
            case "types":
                found[name] = frozenset(_one_of(f"{at}types", each, KINDS) for each in _texts(f"{at}types", value))
            case "position":
                assets = _table(f"{at}position", value)
                most = {asset: _cents_down(f"{at}position.{asset}", each) for asset, each in assets.items()}
                found[name] = MappingProxyType(most)
            case "orders_per_minute" | "orders_per_day" | "open_orders":
                found[name] = _count(at + name, value)
            case "collar_percent" | "slippage_bps":
                found[name] = _money(at + name, value)
            case "cancel":
                found[name] = _one_of(at + name, value, get_args(Cancellable))
            case _:
                found[name] = _cents_down(at + name, value)
    return TradingLimits(**found)  # type: ignore[arg-type] # each was read by its name


def _confirm(told: Mapping[str, object]) -> Confirm:
    _only("confirm.", told, [each.name for each in fields(Confirm)])
    found: dict[str, object] = {}
    for name, value in told.items():
        if name == "ask":
            found[name] = _one_of("confirm.ask", value, get_args(Ask))
        elif name == "approver":
            found[name] = _text("confirm.approver", value)
        elif name == "expires_secs":
            found[name] = _count("confirm.expires_secs", value, 10, 600)
        else:
            found[name] = _cents_down(f"confirm.{name}", value)
    return Confirm(**found)  # type: ignore[arg-type] # each was read by its name


def _keys(told: Mapping[str, object]) -> Mapping[str, TradingMode]:
    found: dict[str, TradingMode] = {}
    for name, value in told.items():
        about = _table(f"keys.{name}", value)
        _only(f"keys.{name}.", about, ("mode",))
        mode = _one_of(f"keys.{name}.mode", about.get("mode", ""), ("practice", "live"))
        found[name] = cast("TradingMode", mode)
    return MappingProxyType(found)


def _balances(paper: Mapping[str, object]) -> Mapping[str, Decimal]:
    if "balances" not in paper:
        return START_BALANCES
    told = _table("paper.balances", paper["balances"])
    return MappingProxyType({asset: _money(f"paper.balances.{asset}", each) for asset, each in told.items()})


def _only(at: str, told: Mapping[str, object], known: Iterable[str]) -> None:
    names = [*known]
    for name in told:
        if name not in names:
            near = get_close_matches(name, names, 1)
            raise PolicyProblem(f"{at}{name}: no such line" + (f"; did you mean {near[0]}?" if near else ""))


def _table(name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise PolicyProblem(f"{name}: write it as a table")
    return cast("dict[str, object]", value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise PolicyProblem(f"{name}: write it as text in quotes")
    return value.strip()


def _texts(name: str, value: object) -> list[str]:
    if not isinstance(value, list):
        raise PolicyProblem(f'{name}: write it as a list of texts: ["…", "…"]')
    return [_text(name, each) for each in cast("list[object]", value)]


def _one_of(name: str, value: object, allowed: Iterable[str]) -> str:
    text = _text(name, value)
    if text not in (names := [*allowed]):
        raise PolicyProblem(f"{name}: one of {', '.join(names)}")
    return text


def _symbol(name: str, text: str) -> str:
    if fold(text) != text or not is_plausible(text):
        raise PolicyProblem(f"{name}: symbols are written as BTCUSDT")
    return text


def _money(name: str, value: object) -> Decimal:
    # A float of TOML has lost what was written before we see it.
    try:
        amount = Decimal(_text(name, value))
    except InvalidOperation:
        raise PolicyProblem(f'{name}: write the amount as text: "250"') from None
    if not amount.is_finite() or amount < 0 or abs(amount.adjusted()) > MOST_DIGITS:
        raise PolicyProblem(f"{name}: an amount of zero or more, in plain digits")
    return amount


def _cents_down(name: str, value: object) -> int:
    return int((_money(name, value) / CENT).to_integral_value(ROUND_FLOOR))


def _count(name: str, value: object, least: int = 0, most: int = MOST_ORDERS) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise PolicyProblem(f"{name}: a whole number between {least} and {most}")
    return value
