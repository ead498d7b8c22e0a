"""Where a market trades: "on Kraken", "not on Binance", perpetuals and swaps."""

import re
from typing import Final

from mcp_binance_server.charts.language.names import STOCK_EXCHANGES
from mcp_binance_server.charts.language.reading import Mention, SentenceReader, tokenise
from mcp_binance_server.charts.language.vocabulary import Vocabulary

_PERPETUAL: Final = re.compile(
    r"(?<!\w)(?:(?:usdt|usd|linear|perp(?:etual)?) )?(?:perps?|perpetuals?|swaps?|futures?)(?: contracts?)?(?!\w)"
)
_STOCK_EXCHANGE: Final = re.compile(rf"(?<!\w)(?:on|at) (?:the )?(?P<name>{'|'.join(STOCK_EXCHANGES)})(?! 100)(?!\w)")
_LEADS: Final = frozenset({"on", "at", "from", "via", "the", "in"})


def find_exchanges(reading: SentenceReader, vocabulary: Vocabulary) -> list[Mention[str]]:
    """Take the exchanges the text names, those of stocks last; one that is part of a longer name is none."""
    stocks = [
        reading.mention(STOCK_EXCHANGES[match["name"]], *match.span())
        for match in _STOCK_EXCHANGE.finditer(reading.left)
    ]
    tokens = tokenise(reading.left)
    found: list[Mention[str]] = []
    place = 0
    while place < len(tokens):
        named = vocabulary.exchanges.at(tokens, place)
        longer = vocabulary.markets.at(tokens, place)
        if named is None or (longer is not None and longer[1] >= named[1]):
            place += 1
            continue
        first = place
        while first > 0 and tokens[first - 1].text in _LEADS:
            first -= 1
        found.append(reading.mention(named[0], tokens[first].start, tokens[named[1] - 1].end))
        place = named[1]
    return [*found, *stocks]


def wants_perpetual(reading: SentenceReader) -> bool:
    """Take the words for perpetual contracts; whether one is wanted."""
    found = [reading.mention(None, *match.span()) for match in _PERPETUAL.finditer(reading.left)]
    return bool(reading.wanted(found))
