"""Resources under binance:// and guide://."""

from mcp_binance_server.errors import ResourceNotFound
from mcp_binance_server.surface.answers import doubts_about
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Page, Picture, ResourceSpec, TemplateSpec
from mcp_binance_server.surface.uris import CHART_SCHEME
from mcp_binance_server.surface.views.book.levels import BookSummary, order_book_page
from mcp_binance_server.surface.views.derivatives.members import age_doubts, members
from mcp_binance_server.surface.views.derivatives.page import derivatives_page
from mcp_binance_server.surface.views.index import MARKET_ADDRESSES, account_index, orders_index
from mcp_binance_server.surface.views.market import market_page
from mcp_binance_server.surface.views.orders.history import history_page, open_orders_page
from mcp_binance_server.surface.views.overview import market_index
from mcp_binance_server.surface.views.portfolio.holdings import balances_page, positions_page

# Clients must not cache pages of an account, because an order can change it at any moment.
KEEP_MS = 0

BALANCES = ResourceSpec(
    uri="binance://account/balances",
    name="Account Balances",
    description="Current account balances for all assets (free and locked)",
)
POSITIONS = ResourceSpec(
    uri="binance://account/positions",
    name="Account Positions",
    description="Holdings that are not stablecoins, valued in USDT, with their share of the portfolio",
)
ACCOUNT_INDEX = ResourceSpec(
    uri="binance://account",
    name="Account",
    description="List of account pages, and the value of the account at a glance",
)

SVG, JPEG = ".svg", ".jpeg"
# Cacheable, because the address is a hash of the content. Private, because a picture may show the user's own levels.
PICTURE_KEEP_MS = 60 * 60 * 1000
SOURCE_KEY = "mcp-binance-server/source"

HELP = ResourceSpec(
    uri="guide://help",
    name="Guide URI Help",
    description="List of playbooks and their addresses",
)
COLLECTION = TemplateSpec(
    uri_template="guide://collection/{id}",
    name="Guide Collection",
    description="All documents of a collection, e.g. guide://collection/start",
    mime_type=None,
)
CATEGORY = TemplateSpec(
    uri_template="guide://category/{name}",
    name="Guide Category",
    description="The documents of a category, e.g. guide://category/risk",
    mime_type=None,
)
CATEGORY_DOCUMENT = TemplateSpec(
    uri_template="guide://category/{name}/{docId}",
    name="Guide Category Document",
    description="A document of a category, or all that a pattern matches, e.g. guide://category/risk/position*",
    mime_type=None,
)
DOCUMENT = TemplateSpec(
    uri_template="guide://document/{context}/{docId}",
    name="Guide Document",
    description="Exactly one document of a category or collection, e.g. guide://document/examples/intro.md",
)

JOURNAL_ROWS = 50
FRESH_MS = 1_000
BOOK = "orderbook"
BOOK_LEVELS = 20
# Equal to the cache lifetime of the market table that the page reads.
INDEX_KEEP_MS = 10_000
INDEX_QUOTE, INDEX_ROWS = "USDT", 5

BTCUSDT = ResourceSpec(
    uri="binance://market/btcusdt",
    name="BTCUSDT Market Data",
    description="Real-time 24-hour ticker statistics for Bitcoin/USDT trading pair",
)
ETHUSDT = ResourceSpec(
    uri="binance://market/ethusdt",
    name="ETHUSDT Market Data",
    description="Real-time 24-hour ticker statistics for Ethereum/USDT trading pair",
)
ANY_SYMBOL = TemplateSpec(
    uri_template="binance://market/{symbol}",
    name="Market Data",
    description="Real-time 24-hour ticker statistics for any trading pair, e.g. binance://market/solusdt",
)
ORDER_BOOK = TemplateSpec(
    uri_template="binance://market/{symbol}/orderbook",
    name="Order Book",
    description="Best bids and asks of any trading pair, e.g. binance://market/btcusdt/orderbook",
)
MARKET_INDEX = ResourceSpec(
    uri="binance://market",
    name="Markets",
    description="All pairs at a glance: share that rose, largest moves and volumes, funding; list of market pages",
)

DERIVATIVES = TemplateSpec(
    uri_template="binance://derivatives/{symbol}",
    name="Derivatives",
    description="Funding, open interest, basis and positioning of a perpetual, e.g. binance://derivatives/btcusdt",
)

OPEN_ORDERS = ResourceSpec(
    uri="binance://orders/open",
    name="Open Orders",
    description="All currently active orders (NEW, PARTIALLY_FILLED)",
)
ORDER_HISTORY = ResourceSpec(
    uri="binance://orders/history",
    name="Order History",
    description="Newest orders of every status, for symbols with an open order or a holding",
)
JOURNAL = ResourceSpec(
    uri="binance://orders/journal",
    name="Order Journal",
    description="The newest 50 orders placed by this server, each with status and approval",
)
ORDER_INDEX = ResourceSpec(
    uri="binance://orders",
    name="Orders",
    description="List of order pages, and the open orders at a glance",
)


async def read_account(context: Context, identifier: str) -> Page:
    if not identifier:
        valued = await context.account.valued()
        return _private(account_index(valued.portfolio, valued.venue, valued.as_of_ms))
    if identifier == "balances":
        return _private(balances_page(await context.account.account()))
    if identifier == "positions":
        valued = await context.account.valued()
        return _private(positions_page(valued.portfolio, valued.venue, valued.as_of_ms))
    raise ResourceNotFound(provided_uri=f"binance://account/{identifier}")


def _private(text: str) -> Page:
    return Page(text, keep_ms=KEEP_MS, shareable=False)


async def read_picture(context: Context, uri: str) -> Page | Picture:
    if not uri.startswith(CHART_SCHEME):
        raise ResourceNotFound(provided_uri=uri)
    data = await context.charting.picture(uri)
    if uri.endswith(SVG):
        return Page(data.decode(), keep_ms=PICTURE_KEEP_MS, shareable=False, mime_type="image/svg+xml")
    mime_type = "image/jpeg" if uri.endswith(JPEG) else "image/png"
    return Picture(data, keep_ms=PICTURE_KEEP_MS, shareable=False, mime_type=mime_type)


async def read_guide(context: Context, uri: str) -> Page:
    content = await context.guides.read(uri)
    # Mark text from the user's own files, so that a host treats it as data.
    meta = {SOURCE_KEY: "user"} if content.has_user_text else {SOURCE_KEY: "builtin"}
    framed = content.framed
    return Page(framed.text, keep_ms=KEEP_MS, shareable=True, mime_type=framed.mime_type, meta=meta)


async def read_market(context: Context, identifier: str) -> Page:
    symbol, _, part = identifier.rpartition("/")
    if symbol and part.lower() == BOOK:
        return await _book(context, symbol)
    if not identifier:
        return await _index(context)
    view = await context.market.ticker(identifier)
    return Page(market_page(view), keep_ms=FRESH_MS, shareable=True)


async def _book(context: Context, symbol: str) -> Page:
    seen = await context.market.book(symbol, BOOK_LEVELS)
    found = await doubts_about(context, symbol, quiet=BookSummary.of(seen.value).is_quiet)
    return Page(order_book_page(seen, found), keep_ms=FRESH_MS, shareable=True)


async def _index(context: Context) -> Page:
    overview = await context.overview.read(INDEX_QUOTE, INDEX_ROWS)
    listed, trading = len(await context.market.symbols("")), await context.market.trading_count()
    text = market_index(overview, MARKET_ADDRESSES, listed=listed, trading=trading)
    return Page(text, keep_ms=INDEX_KEEP_MS, shareable=True)


async def read_derivatives(context: Context, identifier: str) -> Page:
    if not identifier:
        raise ResourceNotFound(provided_uri="binance://derivatives")
    report = await context.derivatives.read(identifier)
    return Page(derivatives_page(members(report), age_doubts(report)), keep_ms=FRESH_MS, shareable=True)


async def read_orders(context: Context, identifier: str) -> Page:
    if not identifier:
        return _private(orders_index(await context.orders.open(), has_journal=context.trading is not None))
    if identifier == "open":
        return _private(open_orders_page(await context.orders.open()))
    if identifier == "history":
        return _private(history_page(await context.orders.history()))
    if identifier == "journal" and context.trading is not None:
        from mcp_binance_server.surface.views.trading.journal import journal_page  # noqa: PLC0415 - for trading only

        return _private(journal_page(await (await context.trading.opened()).journal(JOURNAL_ROWS)))
    raise ResourceNotFound(provided_uri=f"binance://orders/{identifier}")
