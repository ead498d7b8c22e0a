"""Value and profit of a paper account at the prices of its network, for the command `paper`."""

from contextlib import AbstractAsyncContextManager

import anyio

from mcp_binance_server.cli.trading.host import TradingHost
from mcp_binance_server.cli.trading.shown import result_lines
from mcp_binance_server.errors import AppError, SettingsError
from mcp_binance_server.services.account.minute_prices import MinutePrices
from mcp_binance_server.services.account.portfolio import AccountService
from mcp_binance_server.services.account.profit import ProfitService
from mcp_binance_server.services.trading.results import PaperPast, paper_result
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.paper.reads import PaperReads
from mcp_binance_server.upstream import Upstream, opened_upstream

LONGEST_SECS = 5.0


async def valued_result(host: TradingHost, reads: PaperReads, policy: Policy, past: PaperPast) -> str:
    """Return the result of a paper account with trades, or the reason why it has no value now."""
    try:
        with anyio.fail_after(LONGEST_SECS):
            async with _upstream(host) as upstream:
                accounts = AccountService(reads, upstream.client)
                prices = MinutePrices(upstream.client, upstream.caller.time)
                profits = ProfitService(reads, upstream.directory, prices)
                return result_lines(await paper_result(policy.paper_balances, past, accounts, profits))
    except (AppError, SettingsError) as error:
        return f"\nValue and profit are not known now: {error.message}"
    except TimeoutError:
        return f"\nValue and profit are not known now: no prices in {LONGEST_SECS:g} s."


def _upstream(host: TradingHost) -> AbstractAsyncContextManager[Upstream]:
    if not host.is_demo:
        return opened_upstream(host.settings)
    from mcp_binance_server.cli.offline import DEMO_SEED, offline_upstream  # noqa: PLC0415 - needed only with --demo

    return offline_upstream(host.settings, seed=DEMO_SEED)
