"""A listing wider than the simulator's, a fixed moment, and what was understood, short enough for a table."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

from charts.configs import CATALOGUE
from mcp_binance_server.charts.language.construct import Construction, construct
from mcp_binance_server.charts.language.preferences import Preferences
from mcp_binance_server.charts.language.understanding import Knowledge
from mcp_binance_server.charts.plans import PLANS, Plan
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol, SymbolRules, SymbolTable
from support.fixtures import DATA

# A Saturday, the moment that the shared phrasings are about.
NOW = datetime(2026, 11, 14, 22, tzinfo=UTC)
PRO = PLANS["PRO"]
# Some of these are also plain words: ONE, GAS, NOT, THE, ME, HOT, KEY.
_BASES = (
    "BTC ETH BNB SOL XRP DOGE SHIB PEPE 1000SATS 1INCH ADA LTC TRX LINK AVAX DOT XLM ATOM PAXG NEAR ARB OP POL S "
    "RENDER W GAS ONE SUN UNI FIL APT SUI TON AAVE ICP ETC BCH HOT WIN KEY FUN DATA NOT THE ME HIGH BAR PEOPLE MASK "
    "RED EUR USDC"
)
_OTHERS = (
    "BTC/USDC ETH/USDC SOL/USDC BTC/FDUSD ETH/BTC BNB/BTC SOL/BTC XRP/BTC LTC/BTC LINK/BTC BNB/ETH SOL/ETH BTC/EUR "
    "ETH/EUR BTC/TRY USDT/TRY BTC/BRL USDT/BRL"
)


def _rules(pair: str) -> SymbolRules:
    base, _, quote = pair.partition("/")
    one = Decimal(1)
    return SymbolRules(Symbol(base + quote), base, quote, "TRADING", Price(one), Quantity(one), Quantity(one))


TABLE = SymbolTable.of(
    [_rules(each) for each in (*(f"{base}/USDT" for base in _BASES.split()), *_OTHERS.split())], 6_000
)


@cache
def knowledge() -> Knowledge:
    return Knowledge.of(CATALOGUE, TABLE)


def said(text: str, preferences: Preferences | None = None, plan: Plan | None = PRO) -> Construction:
    return construct(text, now=NOW, knowledge=knowledge(), preferences=preferences, plan=plan)


def codes(made: Construction) -> set[str]:
    return {warning.partition(":")[0] for warning in made.warnings}


@dataclass(frozen=True)
class Heard:
    """What a chart is, in words short enough for a table."""

    symbol: str
    interval: str
    range: str | tuple[str, str | None] | None = None
    studies: tuple[str, ...] = ()
    drawings: tuple[str, ...] = ()
    looks: dict[str, Any] = field(default_factory=dict[str, Any])
    warnings: frozenset[str] = frozenset()


def heard(text: str) -> Heard:
    made = said(text)
    config: dict[str, Any] = made.config
    span: Any = config.get("range")
    usual = {"theme": "dark", "style": "candle", "width": 1200, "height": 675}
    taken = {"symbol", "interval", "range", "studies", "drawings"}
    return Heard(
        symbol=" ".join(made.symbols),
        interval=config["interval"],
        range=span if span is None or isinstance(span, str) else (span["from"], span["to"]),
        studies=tuple(_study(each) for each in config.get("studies", ())),
        drawings=tuple(_drawing(each) for each in config.get("drawings", ())),
        looks={key: value for key, value in config.items() if key not in taken and value != usual.get(key)},
        warnings=frozenset(codes(made)),
    )


def _study(study: dict[str, Any]) -> str:
    values = (*study.get("inputs", {}).values(), *study.get("override", {}).values())
    return " ".join([study["name"].partition("@")[0], *map(str, values)])


def _drawing(drawing: dict[str, Any]) -> str:
    return " ".join([drawing["type"], *map(str, drawing["coordinates"].values())])


def shared_phrasings() -> list[dict[str, Any]]:
    """Return the shared phrasings, each with what it means."""
    lines = (DATA / "charts/phrasings.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row for row in rows if "meta" not in row]
