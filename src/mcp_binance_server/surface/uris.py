"""binance:// addresses: how they are read and written; guide://, chart:// and ui:// ones are handed on whole."""

from dataclasses import dataclass
from urllib.parse import unquote

from mcp_binance_server.errors import InvalidScheme, ResourceNotFound

SCHEME = "binance://"
GUIDE_SCHEME = "guide://"
GUIDE = "guide"
CHART_SCHEME = "chart://"
CHARTS = "charts"
MARKET = "market"
ORDERS = "orders"
UI_SCHEME = "ui://"
# The number is that of the contract between the page and get_chart_bars: hosts keep the page by its address.
CHART_VIEW = "ui://mcp-binance-server/chart-1.html"
LONGEST_URI = 65_536


@dataclass(frozen=True, slots=True)
class ResourceUri:
    """A parsed address: which category, and what in it; the category itself where that is empty."""

    category: str
    identifier: str


def parse(uri: str) -> ResourceUri:
    """Split an address into category and identifier, percent-decoded once; scheme and category in any case.

    Raises:
        InvalidScheme: it is none of the four schemes.
        ResourceNotFound: it is not binance://{category} or binance://{category}/{identifier}.
    """
    scheme, separator, rest = uri[:LONGEST_URI].partition("://")
    scheme = f"{scheme.lower()}{separator}"
    if scheme == GUIDE_SCHEME:
        return ResourceUri(GUIDE, uri)
    if scheme in (CHART_SCHEME, UI_SCHEME):
        return ResourceUri(CHARTS, f"{scheme}{rest}")
    if scheme != SCHEME:
        raise InvalidScheme(provided_uri=uri)
    if len(uri) > LONGEST_URI:
        raise ResourceNotFound(provided_uri=uri)
    category, _, identifier = rest.partition("/")
    category = category.lower()
    try:
        decoded = unquote(identifier, errors="strict")
    except UnicodeDecodeError:
        raise ResourceNotFound(provided_uri=uri) from None
    if category in {"", GUIDE, CHARTS}:
        raise ResourceNotFound(provided_uri=uri)
    return ResourceUri(category, decoded)


def as_written(symbol: str) -> str:
    """Spell a symbol as addresses do: its ASCII letters in lower case."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in symbol)
