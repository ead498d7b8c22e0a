"""Parsing and spelling of binance:// addresses; guide://, chart:// and ui:// addresses are passed on whole."""

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
# The number is the version of the contract between page and get_chart_bars: hosts cache the page by address.
CHART_VIEW = "ui://mcp-binance-server/chart-1.html"
LONGEST_URI = 65_536


@dataclass(frozen=True, slots=True)
class ResourceUri:
    """A parsed address: a category and an identifier in it; an empty identifier is the category itself."""

    category: str
    identifier: str


def parse(uri: str) -> ResourceUri:
    """Split an address into category and identifier, percent-decoded once; scheme and category in any case.

    Raises:
        InvalidScheme: the scheme is none of the four schemes.
        ResourceNotFound: the address is not binance://{category} or binance://{category}/{identifier}.
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
    """Return a symbol in the spelling of addresses: its ASCII letters in lower case."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in symbol)
