"""Loss and gain of a previewed order's exits, measured from its entry, or from the cost of the coins it sells."""

from contextlib import suppress

from mcp_binance_server.domain.account_reader import AccountReader
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.errors import AppError
from mcp_binance_server.services.account.amounts import CostReader
from mcp_binance_server.services.account.profit import AverageCost
from mcp_binance_server.trading.judgement.preview import PreviewedOrder
from mcp_binance_server.trading.judgement.sizing import ExitPrices, ExitResult, entry_result, holding_result
from mcp_binance_server.trading.judgement.terms import Terms


async def result_of(
    tried: PreviewedOrder, terms: Terms, account: AccountReader, cost: CostReader | None
) -> ExitResult | None:
    """Return the results of an order's exits; None if it has none, or if nothing is known to measure them from."""
    shown, exits, fee = tried.preview, terms.exits, max(tried.commission.maker, tried.commission.taker)
    tick = shown.rules.tick
    if exits is not None and exits.has_entry:
        entry = shown.order.price or (shown.fill.average if shown.fill else None)
        prices = ExitPrices(exits.take_profit, exits.stop_limit)
        return None if entry is None else entry_result(entry, terms.price, terms.quantity, prices, fee, tick)
    found = _exit_prices(terms)
    if found is None:
        return None
    known = None if cost is None else await _cost(tried, account, cost)
    if known is not None:
        return holding_result("average cost", Price(known.price), terms.quantity, found, fee, tick)
    bid = shown.touch.bid
    return None if bid is None else holding_result("best bid", bid, terms.quantity, found, fee, tick)


def _exit_prices(terms: Terms) -> ExitPrices | None:
    if terms.exits is not None:
        return ExitPrices(terms.exits.take_profit, terms.exits.stop_limit)
    if terms.side != "SELL" or terms.stop_price is None:
        return None
    is_stop = terms.kind == "STOP_LOSS_LIMIT"
    return ExitPrices(stop_limit=terms.price) if is_stop else ExitPrices(target=terms.price)


async def _cost(tried: PreviewedOrder, account: AccountReader, cost: CostReader) -> AverageCost | None:
    """Return the average cost of the coins, or None if it cannot be read: an exit does not fail for it."""
    rules = tried.preview.rules
    with suppress(AppError):
        balances = (await account.account()).value.balances
        held = next((each.total for each in balances if each.asset == rules.base), None)
        return await cost(rules, Quantity(held)) if held else None
    return None
