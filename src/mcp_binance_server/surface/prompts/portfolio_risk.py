"""The prompt portfolio_risk."""

from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Arguments, PromptSpec
from mcp_binance_server.surface.views.portfolio import portfolio_page


class PortfolioRiskArguments(Arguments):
    """It takes none: the account is the one whose key is configured."""


async def portfolio_risk(context: Context, _arguments: PortfolioRiskArguments) -> str:
    return portfolio_page(await context.portfolio.risk())


PORTFOLIO_RISK = PromptSpec(
    name="portfolio_risk",
    description="Assess portfolio risk and provide diversification recommendations based on current holdings",
    arguments=PortfolioRiskArguments,
    render=portfolio_risk,
    scope="account:read",
)
