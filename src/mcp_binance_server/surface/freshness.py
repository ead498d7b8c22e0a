"""The staleness of a market for every tool and prompt: looked up where something is odd, said in both channels."""

from dataclasses import replace

from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ToolAnswer
from mcp_binance_server.surface.views.freshness import doubt_lines, doubts, status_doubts


async def doubts_about(context: Context, symbol: str, *, quiet: bool) -> list[str]:
    """Say what speaks against a market's numbers; one that trades is asked about only if its data looked quiet.

    Raises:
        RateLimited: nothing more may be asked now.
    """
    rules = await context.market.rules(symbol)
    if rules.is_trading and not quiet:
        return []
    try:
        return doubts(await context.market.ticker(symbol))
    except RateLimited:
        raise
    except AppError:
        return status_doubts(rules)


async def doubted(context: Context, symbol: str, answer: ToolAnswer) -> ToolAnswer:
    """Return a tool's answer with what speaks against it, unless it says so itself."""
    if answer.warnings:
        return answer
    return replace(answer, warnings=tuple(await doubts_about(context, symbol, quiet=answer.quiet)))


def warned_text(answer: ToolAnswer) -> str:
    """Return the text of an answer with its warnings below its first line; a page may have a place of its own."""
    if not answer.warnings:
        return answer.text
    lines = [line for line in doubt_lines(answer.warnings) if line not in answer.text]
    first, *rest = answer.text.split("\n")
    return "\n".join([first, *lines, *rest])
