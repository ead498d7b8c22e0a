"""Tickers in a text, and the market of each ticker."""

import re
from dataclasses import dataclass, replace
from typing import Final

from mcp_binance_server.charts.language.names import (
    DOLLAR_EXCHANGES,
    FIAT_CODES,
    RENAMED,
    STOCK_EXCHANGES,
    THOUSAND_SATS,
    Listing,
    Named,
)
from mcp_binance_server.charts.language.reading import SentenceReader, Token, tokenise
from mcp_binance_server.charts.language.vocabulary import Vocabulary
from mcp_binance_server.charts.language.words import FILLER, STOP_TICKERS
from mcp_binance_server.domain.money import ASSET_NAMES, STABLECOINS

HOME: Final = "BINANCE"
DEFAULT_QUOTE: Final = "USDT"
METALS: Final = frozenset({"XAU", "XAG"})

_COMPARING: Final = re.compile(r"\b(?:compare|comparing|comparison|compared)\b")
# An upper-case text with more filler words than this is shouting: its capitals do not mark tickers.
_SHOUTING: Final = 2

CONNECTORS: Final = frozenset({"in", "against", "vs", "versus", "per", "to", "over"})
# Internal suffix of a coin's code that marks its perpetual contract.
PERPETUAL: Final = "!"
_COIN_WORDS: Final = frozenset({"coin", "token", "coins", "tokens"})
_STOCK_WORDS: Final = frozenset({"stock", "stocks", "share", "shares"})
_SHORTEST_PAIR: Final = 5
_CURRENCY: Final = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """One market as named by the text: a full symbol, or assets without an exchange.

    `assumed` names the alternatives. `doubt` names a word that may not be a market.
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
    """Return one market as EXCHANGE:SYMBOL and warn about each assumption."""
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
            "symbol_assumed",
            f"{symbol} is drawn; this market is not on {exchange}. Write EXCHANGE:SYMBOL for another market",
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
            "symbol_assumed",
            f"{HOME} has no pairs in US dollars: {base}{quote} is used; COINBASE:{base}USD is in dollars",
        )
    suffix = ".P" if wanted.perpetual else ""
    if listing.lists(base, quote):
        return f"{HOME}:{base}{quote}{suffix}"
    if listing.lists(quote, base):
        reading.warn("pair_inverted", f"{base}/{quote} is not listed; {quote}{base} is its inverse")
        return f"{HOME}:{quote}{base}{suffix}"
    if not _known_perpetual(wanted, listing):
        seen = (
            "could not be checked: the exchange's list is not available"
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
    # The spot list has no perpetuals. Check the coin itself, with or without the prefix 1000.
    bare = wanted.base.removeprefix("1000")
    return wanted.perpetual and (listing.knows(wanted.base) or (len(bare) > 2 and listing.knows(bare)))


@dataclass(frozen=True, slots=True)
class Asset:
    """One or more tokens read as an asset.

    A `weak` asset yields to any certain asset. A `doubtful` asset is a plain word, used only if the text has no other
    asset.
    """

    named: Named
    after: int
    weak: bool = False
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Scan:
    """The unread tokens, and facts about the whole text."""

    reading: SentenceReader
    vocabulary: Vocabulary
    listing: Listing
    tokens: list[Token]
    all_caps: bool
    comparing: bool

    @classmethod
    def of(cls, reading: SentenceReader, vocabulary: Vocabulary, listing: Listing) -> "Scan":
        """Return a scan of the text that the reader has not read yet."""
        tokens = tokenise(reading.left)
        return cls(
            reading,
            vocabulary,
            listing,
            tokens,
            all_caps=reading.text.isupper() and sum(each.text in FILLER for each in tokens) >= _SHOUTING,
            comparing=_COMPARING.search(reading.left) is not None,
        )

    def text(self, place: int) -> str:
        """Return a token in lower case. Beyond either end it is empty."""
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def written(self, place: int) -> str:
        """Return a token in its original spelling."""
        return self.reading.text[self.tokens[place].start : self.tokens[place].end]

    def glued(self, place: int) -> bool:
        """Return True if no space separates a token from the previous one."""
        return 0 < place < len(self.tokens) and self.tokens[place - 1].end == self.tokens[place].start


def asset_at(scan: Scan, place: int) -> Asset | None:
    """Return the asset that starts at a token, or None."""
    token = scan.tokens[place]
    if token.text in {"$", "#"} and scan.glued(place + 1) and scan.text(place + 1).isalpha():
        # The service supports only ASCII tickers. Other alphabets stay unread, and the caller is asked for the market.
        return _cashtag(scan, place + 1) if scan.text(place + 1).isascii() else None
    if not (token.is_word or token.is_number) or (scan.glued(place) and scan.text(place - 1) in {".", ":", "'"}):
        return None
    named, after = scan.vocabulary.markets.at(scan.tokens, place) or (None, place + 1)
    if named is not None and after - place > 1:
        return Asset(named, after)
    if not token.is_word or (scan.glued(place) and scan.text(place - 1)[-1].isdigit()):
        return None
    if token.text == "sats" and scan.text(place - 1) not in CONNECTORS:
        other = "the token 1000SATS is used; write 'in sats' for a price in Bitcoin"
        return Asset(Named("coin", THOUSAND_SATS, other), place + 1)
    return _word(scan, place, named)


def _cashtag(scan: Scan, place: int) -> Asset:
    code = scan.text(place).upper()
    named = scan.vocabulary.markets.meaning(code.lower())
    if code not in scan.listing.bases and named is not None:
        return Asset(named, place + 1)
    pair = None if code in scan.listing.bases else scan.listing.split(code)
    return Asset(Named("coin", f"{pair[0]}/{pair[1]}" if pair else code), place + 1)


def _word(scan: Scan, place: int, named: Named | None) -> Asset | None:
    word = scan.text(place)
    code = word.upper()
    listed = code.isascii() and (code in scan.listing.bases or code in ASSET_NAMES)
    if (sure := _with_noun(scan, place, Named("coin", code) if listed else None, named)) is not None:
        return sure
    shouted = scan.written(place) == code and not scan.all_caps
    # In lower case "me" is never a market. "link" is one if the text names no other market.
    if word in FILLER and not shouted:
        return None
    if word in STOP_TICKERS:
        chosen = Named("coin", code) if listed else named
        return Asset(chosen, place + 1, doubtful=True, weak=shouted) if chosen else None
    if code in ASSET_NAMES or (code in RENAMED and not listed):
        named = Named("coin", code)
    if named is not None and not (listed and shouted and named.kind == "fixed"):
        return Asset(named, place + 1)
    if listed:
        return Asset(Named("coin", code), place + 1, weak=not shouted, doubtful=word in FILLER)
    return _pair(scan, place, code) if code.isascii() else None


def _with_noun(scan: Scan, place: int, coin: Named | None, named: Named | None) -> Asset | None:
    """Read "W token" or "V stock". The noun marks any word before it as a market."""
    noun = scan.text(place + 1)
    if coin is not None and noun in _COIN_WORDS:
        return Asset(coin, place + 2)
    if named is not None and named.kind == "fixed" and noun in _STOCK_WORDS:
        return Asset(named, place + 2)
    return None


def _pair(scan: Scan, place: int, code: str) -> Asset | None:
    if len(code) < _SHORTEST_PAIR:
        return None
    bare = code.removesuffix("PERP")
    mark = PERPETUAL if bare != code else ""
    base, quote = bare[:_CURRENCY], bare[_CURRENCY:]
    if base in {*FIAT_CODES, *METALS} and quote in FIAT_CODES:
        return Asset(Named("coin", f"{base}/{quote}"), place + 1)
    if mark and scan.listing.knows(bare):
        return Asset(Named("coin", f"{bare}{mark}"), place + 1)
    base, quote = scan.listing.split(bare) or ("", "")
    known = scan.listing.knows(base)
    # In lower case "country" ends in TRY. So an unlisted word is a pair only if its quote is a stablecoin.
    shaped = scan.written(place) == code or quote in STABLECOINS
    if not base or not (known or (shaped and quote != "USD")):
        return None
    return Asset(Named("coin", f"{base}/{quote}{mark}"), place + 1)
