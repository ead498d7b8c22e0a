"""Holdings bought here without an exit, because their exit ended without selling.

Every later answer warns about them.
"""

from collections.abc import Iterable
from decimal import Decimal, localcontext

from mcp_binance_server.domain.money import EXACT_DIGITS, Quantity, floor_to_step
from mcp_binance_server.services.trading.answers import UnprotectedHolding
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.judgement.exposure import Holding, unclaimed
from mcp_binance_server.trading.judgement.intent import Touch

NOTHING = Decimal(0)
LEVELS = 5


async def unprotected_holdings(trading: TradingService) -> tuple[UnprotectedHolding, ...]:
    """Return the holdings at risk. A holding is listed until it has an exit or is sold.

    Raises: AppError: the journal, the account or a market could not be read.
    """
    if trading.trader.is_refused:
        return ()
    failed = await trading.situation_reader.reader.failed_exits(trading.trader.account)
    found = [await _holding(trading, asset, intents) for asset, intents in failed.items()]
    return tuple(each for each in found if each is not None)


async def _holding(trading: TradingService, asset: str, intents: Iterable[Intent]) -> UnprotectedHolding | None:
    at_risk, last = _at_risk(sorted(intents, key=_counts_from))
    if last is None or not at_risk:
        return None
    read_ms = trading.now_ms()
    balances = (await trading.trying.account.account()).value.balances
    balance = next((each for each in balances if each.asset == asset), None)
    if balance is None:
        return None
    holding = Holding(asset, balance.total, balance.locked, read_ms)
    orders = await trading.situation_reader.reader.orders_of(trading.trader.account, holding)
    rules = await trading.trying.directory.find(last.terms.symbol)
    quantity = floor_to_step(Quantity(min(at_risk, unclaimed(holding, orders))), rules.step)
    touch = Touch.of((await trading.situation_reader.market.depth(rules.symbol, LEVELS)).value)
    with localcontext(prec=EXACT_DIGITS):
        value = None if touch.bid is None else quantity * touch.bid
    is_dust = quantity < rules.min_quantity or (value is not None and value < rules.min_notional)
    return None if is_dust else UnprotectedHolding(rules, quantity, value, last.client_order_id)


def _counts_from(intent: Intent) -> int:
    return (intent.final_ms or intent.updated_ms) if intent.failed_exit else intent.prepared_ms


def _at_risk(intents: Iterable[Intent]) -> tuple[Decimal, Intent | None]:
    """Return the quantity that failed exits left, less later sales and open sales. Also return the last failed exit."""
    at_risk, last = NOTHING, None
    for each in intents:
        if each.failed_exit:
            at_risk, last = at_risk + each.failed_exit, each
        elif each.terms.side == "SELL":
            at_risk = max(NOTHING, at_risk - (each.quantity if each.final_ms is None else each.executed))
    return at_risk, last
