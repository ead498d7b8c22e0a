"""What a reader must know before trusting numbers: that they are old, that nothing trades, that they contradict."""

from collections.abc import Iterable

from mcp_binance_server.analytics.trend.bias import Disagreement, Witness, disagreements
from mcp_binance_server.domain.market import MarketView
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import average, percent, plain, price, span

# A ticker's close time is the moment of the answer; one that lags this far is not of now.
STALE_MS = 60_000
OPENINGS = ("*Stale: ", "*Not trading now: ", "*Contradiction: ")
WITNESSES: dict[Witness, str] = {"book": "the middle of the book", "candle": "the close of the newest candle"}


def doubts(view: MarketView, close: Price | None = None) -> list[str]:
    """Say everything that speaks against a market's numbers, a sentence each; nothing where all is well."""
    found = status_doubts(view.rules)
    ticker = view.ticker
    if not ticker.has_traded:
        found.append("Stale: no trades in the last 24 hours")
    if view.age_ms > STALE_MS:
        found.append(f"Stale: the exchange's data is {span(view.age_ms)} old")
    if ticker.has_traded:
        apart = disagreements(ticker.last_price, bid=ticker.bid, ask=ticker.ask, close=close)
        found += contradictions(view.rules, apart)
    return found


def status_doubts(rules: SymbolRules) -> list[str]:
    """Say that a market is closed."""
    return [] if rules.is_trading else [f"Not trading now: status {plain(rules.status)}"]


def contradictions(rules: SymbolRules, apart: Iterable[Disagreement]) -> list[str]:
    """Say which prices cannot both be of now."""
    return [
        f"Contradiction: the last price {price(each.last, rules.quote, rules.tick)} is {percent(each.percent)} from "
        f"{WITNESSES[each.witness]}, {average(each.other, rules.quote, rules.tick)}"
        for each in apart
    ]


def doubt_lines(found: Iterable[str]) -> list[str]:
    """Write doubts as the lines of a page."""
    return [f"*{each}*" for each in found]


def with_doubts(page: str, found: Iterable[str]) -> str:
    """Put doubts above the last line of a page, which says when its data was true."""
    lines = page.split("\n")
    return "\n".join([*lines[:-1], *doubt_lines(found), lines[-1]])


def doubts_in(page: str) -> list[str]:
    """Return the doubts that stand on a page."""
    return [line.strip("*") for line in page.split("\n") if line.startswith(OPENINGS)]
