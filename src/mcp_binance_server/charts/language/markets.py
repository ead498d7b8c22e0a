"""From an asset to one market: which quote, which exchange, spot or perpetual, and whether it is listed."""

from dataclasses import dataclass, replace
from typing import Final

from mcp_binance_server.charts.language.listing import Listing
from mcp_binance_server.charts.language.names import DOLLAR_EXCHANGES, FIAT_CODES, RENAMED, STOCK_EXCHANGES
from mcp_binance_server.charts.language.reading import SentenceReader

HOME: Final = "BINANCE"
DEFAULT_QUOTE: Final = "USDT"
METALS: Final = frozenset({"XAU", "XAG"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """One market as far as the text names it: a full symbol, or assets that still want an exchange.

    `assumed` is what else it could have been; `doubt` names a word that may be no market at all.
    """

    full: str = ""
    base: str = ""
    quote: str = ""
    perpetual: bool = False
    assumed: str = ""
    doubt: str = ""


def symbol_of(
    reading: SentenceReader, wanted: Wanted, listing: Listing, exchange: str | None, *, perpetual: bool
) -> str:
    """Write one market as EXCHANGE:SYMBOL and say what had to be assumed."""
    if wanted.assumed:
        reading.warn("symbol_assumed", wanted.assumed)
    if wanted.doubt:
        reading.warn("ambiguous_token", wanted.doubt)
    if wanted.full:
        return _not_there(reading, wanted.full, exchange)
    if wanted.base in METALS:
        return _not_there(reading, f"OANDA:{wanted.base}{wanted.quote or 'USD'}", exchange)
    if exchange in STOCK_EXCHANGES.values():
        alone = replace(wanted, assumed="", doubt="")
        return _not_there(reading, symbol_of(reading, alone, listing, None, perpetual=perpetual), exchange)
    if wanted.base in FIAT_CODES and (wanted.quote or "USD") in FIAT_CODES and not exchange:
        return f"FX:{wanted.base}{wanted.quote or 'USD'}"
    wanted = _renamed(reading, replace(wanted, perpetual=wanted.perpetual or perpetual), listing)
    if exchange and exchange != HOME:
        return _elsewhere(reading, wanted, listing, exchange)
    return _at_home(reading, wanted, listing)


def _not_there(reading: SentenceReader, symbol: str, exchange: str | None) -> str:
    if exchange and f"{exchange}:" not in symbol:
        reading.warn(
            "symbol_assumed", f"{symbol} is drawn, which is not on {exchange}; write EXCHANGE:SYMBOL for another market"
        )
    return symbol


def _renamed(reading: SentenceReader, wanted: Wanted, listing: Listing) -> Wanted:
    now = RENAMED.get(wanted.base)
    if now is None or wanted.base in listing.bases:
        return wanted
    reading.warn("symbol_renamed", f"{wanted.base} is called {now} today")
    return replace(wanted, base=now)


def _at_home(reading: SentenceReader, wanted: Wanted, listing: Listing) -> str:
    base, quote = wanted.base, wanted.quote or DEFAULT_QUOTE
    if base == quote:
        quote = "USDC" if base != "USDC" else "USDT"
    if quote == "USD":
        quote = DEFAULT_QUOTE
        reading.warn(
            "symbol_assumed", f"{HOME} has no US dollars: {base}{quote} is taken; COINBASE:{base}USD is in dollars"
        )
    suffix = ".P" if wanted.perpetual else ""
    if listing.lists(base, quote):
        return f"{HOME}:{base}{quote}{suffix}"
    if listing.lists(quote, base):
        reading.warn("pair_inverted", f"{base}/{quote} is not listed; {quote}{base} is its inverse")
        return f"{HOME}:{quote}{base}{suffix}"
    if not _known_perpetual(wanted, listing):
        seen = (
            "could not be checked: the exchange's list is not at hand"
            if listing.is_empty
            else "is not trading on Binance"
        )
        reading.warn("symbol_unverified", f"{base}{quote} {seen}")
    return f"{HOME}:{base}{quote}{suffix}"


def _elsewhere(reading: SentenceReader, wanted: Wanted, listing: Listing, exchange: str) -> str:
    usual = "USD" if exchange in DOLLAR_EXCHANGES and not wanted.perpetual else DEFAULT_QUOTE
    quote = wanted.quote or usual
    if not listing.knows(wanted.base) and not _known_perpetual(wanted, listing):
        reading.warn("symbol_unverified", f"{wanted.base}{quote} could not be checked on {exchange}")
    return f"{exchange}:{wanted.base}{quote}{'.P' if wanted.perpetual else ''}"


def _known_perpetual(wanted: Wanted, listing: Listing) -> bool:
    # Spot lists no perpetuals; the coin behind one, or a thousand of it, is all there is to check.
    bare = wanted.base.removeprefix("1000")
    return wanted.perpetual and (listing.knows(wanted.base) or (len(bare) > 2 and listing.knows(bare)))
