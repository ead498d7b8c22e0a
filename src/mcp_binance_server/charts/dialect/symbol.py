"""Symbols of a chart, and symbols to compare with."""

import re
from dataclasses import dataclass
from typing import Final

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.config import Findings, is_list, shown
from mcp_binance_server.domain.symbols import fold, is_plausible

LONGEST: Final = 300
_ONE: Final = re.compile(r"[A-Z0-9_]+:[A-Z0-9_.!]+")
_TOKEN: Final = re.compile(r"\s*(?:(?P<term>[A-Z0-9_]+:[A-Z0-9_.!]+|\d+(?:\.\d+)?)|(?P<sign>[-+*/])|(?P<bracket>[()]))")
_BARE: Final = re.compile(r"([A-Z0-9]{2,20})(?:[-/_ ]([A-Z0-9]{2,10}))?(\.P)?")
_BINANCE: Final = re.compile(r"BINANCE:(?P<pair>[A-Z0-9]+)(?P<perpetual>\.P)?")
_HOME: Final = "BINANCE:"
_WRONG: Final = "Invalid symbol format"

MOST: Final = 4


@dataclass(frozen=True, slots=True)
class BinancePair:
    """A Binance pair in the API's spelling. The perpetual and the spot pair of one name are different markets."""

    symbol: str
    perpetual: bool


def binance_pair(symbol: str) -> BinancePair | None:
    """Return the Binance pair of a chart's symbol, or None."""
    text = fold(symbol)
    if found := _BINANCE.fullmatch(text):
        return BinancePair(found["pair"], found["perpetual"] is not None)
    # Binance also lists names in other alphabets. Its symbol list decides which pairs exist.
    other = text.removeprefix(_HOME)
    is_listable = other != text and not other.isascii() and is_plausible(other)
    return BinancePair(other, perpetual=False) if is_listable else None


def is_binance_spot(symbol: object) -> bool:
    """Return True if a symbol is a Binance spot pair. The local renderer can draw only those."""
    pair = binance_pair(symbol) if isinstance(symbol, str) else None
    return pair is not None and not pair.perpetual


def read_symbol(value: object, catalogue: ChartCatalogue, findings: Findings) -> str | None:
    """Read a symbol or a formula, ignoring case."""
    if value is None:
        findings.error("symbol", "symbol is required, as EXCHANGE:SYMBOL, such as BINANCE:BTCUSDT")
        return None
    text = fold(value) if isinstance(value, str) else ""
    if len(text) <= LONGEST and (_ONE.fullmatch(text) or _is_formula(text)):
        _check_exchange(text, catalogue, findings)
        return text
    if text and is_binance_spot(text):
        findings.error("symbol", f"{_WRONG}: chart-img.com does not accept {shown(value)}", remote_only=True)
        return text
    bare = _BARE.fullmatch(text)
    advice = f"Write the symbol as BINANCE:{''.join(part or '' for part in bare.groups())}" if bare else None
    findings.error("symbol", f"{_WRONG}: {shown(value)} is not EXCHANGE:SYMBOL, such as BINANCE:BTCUSDT", advice)
    return None


def _check_exchange(text: str, catalogue: ChartCatalogue, findings: Findings) -> None:
    exchange, _, rest = text.partition(":")
    if ":" in rest or not catalogue.exchanges or catalogue.exchange(exchange):
        return
    # The bundled list of exchanges is incomplete, so an unknown exchange is only reported if it resembles a known one.
    if likely := findings.guess(exchange, [each.id for each in catalogue.exchanges], likeness=0.8):
        findings.warning("symbol", f"symbol_unverified: unknown exchange {exchange}", f"Did you mean {likely}:{rest}?")


def _is_formula(text: str) -> bool:
    """Return True if the terms, operators and brackets are valid arithmetic with at least one symbol."""
    place, depth, wants_term, has_symbol = 0, 0, True, False
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            return False
        place = token.end()
        opens = token["bracket"] == "("
        if bool(token["term"] or opens) is not wants_term:
            return False
        has_symbol = has_symbol or ":" in token[0]
        wants_term = opens or token["sign"] is not None
        depth += {"(": 1, ")": -1}.get(token["bracket"] or "", 0)
        if depth < 0:
            return False
    return has_symbol and depth == 0 and not wants_term


def read_compare(value: object, findings: Findings) -> list[str] | None:
    """Read a list of Binance spot pairs, such as BINANCE:ETHUSDT."""
    if value is None:
        return None
    if not is_list(value) or not value or len(value) > MOST:
        findings.error("compare", f"compare must be a list of one to {MOST} pairs, such as BINANCE:ETHUSDT")
        return None
    read: list[str] = []
    for place, each in enumerate(value):
        pair = binance_pair(each) if isinstance(each, str) else None
        if pair is None or pair.perpetual:
            findings.error(
                f"compare[{place}]",
                f"{shown(each)} cannot be compared: compare takes spot pairs of Binance, such as BINANCE:ETHUSDT",
            )
        else:
            read.append(f"BINANCE:{pair.symbol}")
    findings.error("compare", "compare is drawn locally only; chart-img.com shows one market", remote_only=True)
    return list(dict.fromkeys(read))
