"""binance://account/{type}"""  # noqa: D415 - an address is its own sentence

from mcp_binance_server.errors import ResourceNotFound
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Page, ResourceSpec
from mcp_binance_server.surface.views.account import balances_page, positions_page
from mcp_binance_server.surface.views.index import account_index

# An order may change an account at any moment, so a client that wants to know asks again.
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
INDEX = ResourceSpec(
    uri="binance://account",
    name="Account",
    description="What account pages there are, and what the account is worth at a glance",
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
