"""Approval page of an order that waits for a signature. The client or a local browser opens the page."""

from collections.abc import Awaitable, Callable

from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.surface.confirm import PageLink, Question
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.tools.trading.outcomes import trading_of
from mcp_binance_server.surface.views.trading.question import OPEN_PAGE
from mcp_binance_server.trading.errors import AskedTooOften, OrderDeclined
from mcp_binance_server.trading.judgement.terms import StoredPreview


async def shown_as_page(context: Context, kept: StoredPreview, question: Callable[[], Awaitable[Question]]) -> bool:
    """Return True if an approval page is open, or if the user agrees to open a page.

    Raises:
        OrderDeclined: the user has refused to open the page, which declines the order.
        AnswerNeeded: the client must repeat the call with the user's decision.
    """
    trading, asker = await trading_of(context), context.asker
    # The page is served on loopback, so only users of this machine can open it.
    if trading.pages is None or trading.trader.of is None or trading.trader.of.is_known:
        return False
    try:
        await trading.require_question_allowed()
    except AskedTooOften:  # After several refusals no page is offered. The order can be approved in a terminal.
        return False
    by_client = asker is not None and asker.able.pages
    page = await trading.pages.of(kept.preview_id, by_client=by_client)
    if page is None or page.is_shown or asker is None:
        return page is not None and page.is_shown
    message = f"{(await question()).message}\n{OPEN_PAGE}"
    decision = await asker.show(PageLink(kept.preview_id, message, page.address))
    if decision == "no":
        close_page(trading, kept)
        await trading.decline(kept)
        raise OrderDeclined
    page.is_shown = decision == "yes"
    return page.is_shown


def close_page(trading: TradingService, kept: StoredPreview) -> None:
    """Close the approval page of an order that no longer waits."""
    if trading.pages is not None:
        trading.pages.close(kept.preview_id)
