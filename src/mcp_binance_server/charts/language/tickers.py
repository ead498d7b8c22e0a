"""Which asset a word is: a ticker, a name, a cashtag, a pair in one word; and how sure that is."""

from typing import Final

from mcp_binance_server.charts.language.markets import METALS
from mcp_binance_server.charts.language.names import FIAT_CODES, RENAMED, THOUSAND_SATS, Named
from mcp_binance_server.charts.language.scan import Asset, Scan
from mcp_binance_server.charts.language.words import FILLER, STOP_TICKERS
from mcp_binance_server.domain.assets import ASSET_NAMES, STABLECOINS

CONNECTORS: Final = frozenset({"in", "against", "vs", "versus", "per", "to", "over"})
# Behind the code of a coin: it is a perpetual contract. Never seen outside this package.
PERPETUAL: Final = "!"
_COIN_WORDS: Final = frozenset({"coin", "token", "coins", "tokens"})
_STOCK_WORDS: Final = frozenset({"stock", "stocks", "share", "shares"})
_SHORTEST_PAIR: Final = 5
_CURRENCY: Final = 3


def asset_at(scan: Scan, place: int) -> Asset | None:
    """Read the asset that begins at a token, if one does."""
    token = scan.tokens[place]
    if token.text in {"$", "#"} and scan.glued(place + 1) and scan.text(place + 1).isalpha():
        # The service knows no other letters; a market named in them is asked for again.
        return _cashtag(scan, place + 1) if scan.text(place + 1).isascii() else None
    if not (token.is_word or token.is_number) or (scan.glued(place) and scan.text(place - 1) in {".", ":", "'"}):
        return None
    named, after = scan.vocabulary.markets.at(scan.tokens, place) or (None, place + 1)
    if named is not None and after - place > 1:
        return Asset(named, after)
    if not token.is_word or (scan.glued(place) and scan.text(place - 1)[-1].isdigit()):
        return None
    if token.text == "sats" and scan.text(place - 1) not in CONNECTORS:
        other = "the token 1000SATS is taken; 'in sats' would be a price in Bitcoin"
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
    # A word like "me" is never a market in lower case; one like "link" may be, if nothing else is.
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
    """Read "W token" and "V stock": the noun makes any word a market."""
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
    # In lower case "country" ends in TRY; only a stable quote makes an unlisted word a pair.
    shaped = scan.written(place) == code or quote in STABLECOINS
    if not base or not (known or (shaped and quote != "USD")):
        return None
    return Asset(Named("coin", f"{base}/{quote}{mark}"), place + 1)
