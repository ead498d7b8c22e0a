"""Which markets a text names: the certain ones, and a plain word only if nothing better is there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_binance_server.charts.language.listing import Listing
from mcp_binance_server.charts.language.markets import Wanted
from mcp_binance_server.charts.language.quotes import with_quote
from mcp_binance_server.charts.language.reading import Mention, SentenceReader, quoted
from mcp_binance_server.charts.language.scan import Asset, Scan
from mcp_binance_server.charts.language.tickers import asset_at
from mcp_binance_server.charts.language.vocabulary import Vocabulary

_ENUMERATING: Final = frozenset({"and", ",", ";", "/", "vs", "versus", "&", "+", "or"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A market that may be meant, and the tokens it was read from."""

    wanted: Wanted
    first: int
    after: int
    asset: Asset

    @property
    def is_certain(self) -> bool:
        return not self.asset.weak and not self.asset.doubtful


def find_symbols(reading: SentenceReader, vocabulary: Vocabulary, listing: Listing) -> list[Mention[Wanted]]:
    """Take the markets the text names, in its order."""
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
        # "link/eth" and "link usdt" can only be markets.
        if wanted.quote and "/" not in asset.named.code:
            asset = replace(asset, weak=False, doubtful=False)
        found.append(Candidate(wanted, place, after, asset))
        place = after
    return _priced_later(scan, found)


def _priced_later(scan: Scan, found: list[Candidate]) -> list[Candidate]:
    """Read "btc on kraken in euros": a currency after "in" is the quote of the coin before it."""
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
    doubt = f"{quoted(code)} may be a plain word here; write ${code.rpartition(':')[2]} if it is a market"
    return [replace(found[0], wanted=replace(found[0].wanted, doubt=doubt))]


def _stands_beside(scan: Scan, one: Candidate, others: Sequence[Candidate]) -> bool:
    def follows(left: Candidate, right: Candidate) -> bool:
        gap = right.first - left.after
        return gap == 0 or (gap == 1 and scan.text(left.after) in _ENUMERATING)

    return any(follows(one, other) or follows(other, one) for other in others)
