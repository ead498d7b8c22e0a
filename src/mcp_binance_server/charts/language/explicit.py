"""Symbols that nobody can misread: EXCHANGE:SYMBOL, formulas of them, and tickers that hold digits."""

import re
from typing import Final

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.config import Findings
from mcp_binance_server.charts.dialect.symbol import read_symbol
from mcp_binance_server.charts.language.listing import Listing
from mcp_binance_server.charts.language.markets import Wanted
from mcp_binance_server.charts.language.reading import Mention, SentenceReader

_FULL: Final = re.compile(r"(?<![\w:])[a-z][a-z0-9_]{1,14}:[a-z0-9][a-z0-9_.!]{0,29}")
_FORMULA: Final = re.compile(r"[a-z0-9_:.!()+*/-]+")
_WITH_DIGITS: Final = re.compile(
    r"(?<![\w:$#.])[$#]?(?P<ticker>(?:\d+[a-z]{2,}|[a-z]+\d+)[a-z0-9]*)(?P<perp>[.]p)?(?![\w:])"
)


def find_explicit(reading: SentenceReader, catalogue: ChartCatalogue) -> list[Mention[Wanted]]:
    """Take full symbols and formulas, verbatim in upper case."""
    found: list[Mention[Wanted]] = []
    while (match := _FULL.search(reading.left)) is not None:
        start, end = match.span()
        around = next((each for each in _FORMULA.finditer(reading.left) if each.start() <= start < each.end()), match)
        formula = _valid(around[0], catalogue)
        if formula and around[0] != match[0]:
            found.append(reading.mention(Wanted(full=formula), *around.span()))
            continue
        # A sentence may end right after it.
        text = match[0].rstrip(".!") if not match[0].endswith("1!") else match[0]
        symbol = _valid(text, catalogue)
        written = reading.text[start:end]
        known = catalogue.exchange(text.partition(":")[0]) is not None
        if symbol and (known or written.upper() == written):
            found.append(reading.mention(Wanted(full=symbol), start, start + len(text)))
        else:
            break
    return found


def find_tickers_with_digits(reading: SentenceReader, listing: Listing) -> list[Mention[Wanted]]:
    """Take tickers such as 1000SATS or 1INCH before their digits look like a length or a time."""
    found: list[Mention[Wanted]] = []
    for match in _WITH_DIGITS.finditer(reading.left):
        ticker = match["ticker"].upper()
        perpetual = match["perp"] is not None
        for suffix in ("PERP", ""):
            bare = ticker.removesuffix(suffix) if suffix else ticker
            pair = listing.pairs.get(bare) or _thousand_pair(bare, listing)
            if pair:
                wanted = Wanted(base=pair[0], quote=pair[1], perpetual=perpetual or bare != ticker)
                found.append(reading.mention(wanted, *match.span()))
                break
            if bare in listing.bases or _is_thousand(bare, listing):
                found.append(reading.mention(Wanted(base=bare, perpetual=perpetual or bare != ticker), *match.span()))
                break
    return found


def _is_thousand(ticker: str, listing: Listing) -> bool:
    # Perpetuals of tiny prices are quoted by the thousand: 1000PEPE.
    bare = re.sub(r"^1(?:000){1,2}", "", ticker)
    return bare != ticker and len(bare) > 2 and listing.knows(bare)


def _thousand_pair(ticker: str, listing: Listing) -> tuple[str, str] | None:
    pair = listing.split(ticker)
    return pair if pair and _is_thousand(pair[0], listing) else None


def _valid(text: str, catalogue: ChartCatalogue) -> str | None:
    findings = Findings()
    symbol = read_symbol(text, catalogue, findings)
    return None if findings.errors else symbol
