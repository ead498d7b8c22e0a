"""Markets named by a text, and their quote assets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_binance_server.charts.language.names import DOLLAR_FIRST, FIAT_CODES, QUOTE_WORDS, Listing, Named
from mcp_binance_server.charts.language.reading import Mention, SentenceReader, quoted
from mcp_binance_server.charts.language.tickers import CONNECTORS, METALS, PERPETUAL, Asset, Scan, Wanted, asset_at
from mcp_binance_server.charts.language.vocabulary import Vocabulary
from mcp_binance_server.charts.language.words import FILLER
from mcp_binance_server.domain.money import STABLECOINS

SEPARATORS: Final = frozenset({"/", "-", "_"})
_PRICED: Final = frozenset({"price", "prices", "priced", "chart", "quoted", "valued", "value"})
_VERSUS: Final = frozenset({"vs", "versus", "against"})
# Assets that are a quote if they directly follow another asset. Any other coin there is a second market.
_SIDE_BY_SIDE: Final = frozenset({*STABLECOINS, *FIAT_CODES, "BTC"})

_ENUMERATING: Final = frozenset({"and", ",", ";", "/", "vs", "versus", "&", "+", "or"})


def with_quote(scan: Scan, asset: Asset) -> tuple[Wanted, int]:
    """Return the market that starts with an asset, and the index after it."""
    named, after = asset.named, asset.after
    if (capital := _share_of_market(scan, named, after)) is not None:
        return capital
    wanted = _plain(named)
    if _is_perpetual(scan, after):
        return replace(wanted, perpetual=True), after + 2
    if wanted.full or wanted.quote:
        return wanted, after
    quote, end = _quote(scan, wanted, after)
    if quote and quote != wanted.base:
        perpetual = _is_perpetual(scan, end)
        return replace(wanted, quote=quote, perpetual=perpetual, assumed=""), end + 2 * perpetual
    return (_alone(named.code) if named.kind == "fiat" else wanted), after


def _share_of_market(scan: Scan, named: Named, after: int) -> tuple[Wanted, int] | None:
    if named.kind != "coin" or "/" in named.code:
        return None
    if scan.text(after) == "dominance":
        return Wanted(full=f"CRYPTOCAP:{named.code}.D"), after + 1
    if (scan.text(after), scan.text(after + 1)) == (".", "d") and scan.glued(after) and scan.glued(after + 1):
        return Wanted(full=f"CRYPTOCAP:{named.code}.D"), after + 2
    if (scan.text(after), scan.text(after + 1)) == ("market", "cap"):
        return Wanted(full=f"CRYPTOCAP:{named.code}"), after + 2
    return None


def _is_perpetual(scan: Scan, after: int) -> bool:
    sign, word = scan.text(after), scan.text(after + 1)
    glued = scan.glued(after) and scan.glued(after + 1)
    return glued and ((sign == "." and word == "p") or (sign in SEPARATORS and word == "perp"))


def _plain(named: Named) -> Wanted:
    if named.kind == "fixed":
        return Wanted(full=named.code, assumed=named.assumed)
    base, _, quote = named.code.removesuffix(PERPETUAL).partition("/")
    return Wanted(base=base, quote=quote, perpetual=named.code.endswith(PERPETUAL), assumed=named.assumed)


def _alone(code: str) -> Wanted:
    base, quote = ("USD", code) if code in DOLLAR_FIRST else (code, "USD")
    return Wanted(
        base=base, quote=quote, assumed=f"{base}/{quote} is used; name both currencies if you mean another pair"
    )


def _quote(scan: Scan, wanted: Wanted, after: int) -> tuple[str, int]:
    # An example is "the bitcoin price in euros".
    if scan.text(after) in _PRICED and scan.text(after + 1) == "in":
        after += 1
    word = scan.text(after)
    pairs = word == "/" or (word in SEPARATORS and scan.glued(after) and scan.glued(after + 1))
    joined = pairs or word in CONNECTORS
    cursor = after + joined
    if joined and scan.text(cursor) == "the":
        cursor += 1
    code, end = _quote_code(scan, cursor, joined=joined)
    if not code:
        return "", after
    money = code in {*STABLECOINS, *FIAT_CODES}
    listed = scan.listing.lists(wanted.base, code)
    if pairs or word in {"in", "per"}:
        fits = True
    elif joined:
        inverse = code in scan.listing.quotes and scan.listing.lists(code, wanted.base)
        # "eth vs btc" is the pair ETHBTC. "btc vs eth" compares: no pair has this order.
        known = money or listed or (inverse and word == "against") or wanted.base in METALS | FIAT_CODES
        fits = word in _VERSUS and known and not scan.comparing
    else:
        fits = code in _SIDE_BY_SIDE and (money or listed) and not scan.comparing
    return (code, end) if fits else ("", after)


def _quote_code(scan: Scan, place: int, *, joined: bool) -> tuple[str, int]:
    word = scan.text(place)
    if joined and (code := QUOTE_WORDS.get(f"{word} {scan.text(place + 1)}")):
        return code, place + 2
    if joined and word in QUOTE_WORDS:
        return QUOTE_WORDS[word], place + 1
    if not word or word in FILLER:
        return "", place
    named, after = scan.vocabulary.markets.at(scan.tokens, place) or (None, place)
    if named and "/" not in named.code and (named.kind == "fiat" or (joined and named.kind == "coin")):
        return named.code, after
    code = word.upper()
    is_quote = code in scan.listing.quotes or code in STABLECOINS or (joined and scan.listing.knows(code))
    return (code, place + 1) if is_quote or word == "usd" else ("", place)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible market and its tokens."""

    wanted: Wanted
    first: int
    after: int
    asset: Asset

    @property
    def is_certain(self) -> bool:
        return not self.asset.weak and not self.asset.doubtful


def find_symbols(reading: SentenceReader, vocabulary: Vocabulary, listing: Listing) -> list[Mention[Wanted]]:
    """Extract the markets named by the text, in order."""
    scan = Scan.of(reading, vocabulary, listing)
    found = _candidates(scan)
    certain = [each for each in found if each.is_certain]
    if certain:
        kept = [each for each in found if each.is_certain or (each.asset.weak and _stands_beside(scan, each, certain))]
    else:
        kept = [each for each in found if each.asset.weak] or _lone_word(found)
    return [
        reading.mention(each.wanted, scan.tokens[each.first].start, scan.tokens[each.after - 1].end) for each in kept
    ]


def _candidates(scan: Scan) -> list[Candidate]:
    found: list[Candidate] = []
    place = 0
    while place < len(scan.tokens):
        asset = asset_at(scan, place)
        if asset is None:
            place += 1
            continue
        wanted, after = with_quote(scan, asset)
        # "link/eth" and "link usdt" are certainly markets.
        if wanted.quote and "/" not in asset.named.code:
            asset = replace(asset, weak=False, doubtful=False)
        found.append(Candidate(wanted, place, after, asset))
        place = after
    return _priced_later(scan, found)


def _priced_later(scan: Scan, found: list[Candidate]) -> list[Candidate]:
    """Read "btc on kraken in euros". A currency after "in" is the quote of the coin before it."""
    kept: list[Candidate] = []
    for each in found:
        bare = kept and kept[-1].asset.named.kind == "coin" and not (kept[-1].wanted.quote or kept[-1].wanted.full)
        if bare and each.asset.named.kind == "fiat" and scan.text(each.first - 1) == "in":
            scan.reading.take(scan.tokens[each.first].start, scan.tokens[each.after - 1].end)
            kept[-1] = replace(kept[-1], wanted=replace(kept[-1].wanted, quote=each.asset.named.code))
        else:
            kept.append(each)
    return kept


def _lone_word(found: Sequence[Candidate]) -> list[Candidate]:
    codes = {each.wanted.base or each.wanted.full for each in found}
    if len(codes) != 1:
        return []
    (code,) = codes
    doubt = f"{quoted(code)} may be a plain word; write ${code.rpartition(':')[2]} if it is a market"
    return [replace(found[0], wanted=replace(found[0].wanted, doubt=doubt))]


def _stands_beside(scan: Scan, one: Candidate, others: Sequence[Candidate]) -> bool:
    def follows(left: Candidate, right: Candidate) -> bool:
        gap = right.first - left.after
        return gap == 0 or (gap == 1 and scan.text(left.after) in _ENUMERATING)

    return any(follows(one, other) or follows(other, one) for other in others)
