"""Parsing and formatting of binance:// URIs. URIs of other schemes are not split."""

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
# The number is the version of the interface between the page and get_chart_bars. Hosts cache pages by URI.
CHART_VIEW = "ui://mcp-binance-server/chart-1.html"
LONGEST_URI = 65_536


@dataclass(frozen=True, slots=True)
class ResourceUri:
    """A parsed URI: a category and an identifier. The identifier is empty for the category itself."""

    category: str
    identifier: str


def parse(uri: str) -> ResourceUri:
    """Split a URI into category and percent-decoded identifier. The case of scheme and category is ignored.

    Raises:
        InvalidScheme: the server has no such scheme.
        ResourceNotFound: the URI is not binance://{category} or binance://{category}/{identifier}.
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
    """Return a symbol as it is written in URIs: ASCII letters in lower case."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in symbol)
