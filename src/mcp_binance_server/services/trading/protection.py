"""Holdings bought here without an exit, because their exit ended without selling.

Every later answer warns about them.
"""

from collections.abc import Iterable
from decimal import localcontext

from mcp_binance_server.domain.money import EXACT_DIGITS, Quantity, floor_to_step
from mcp_binance_server.services.trading.answers import UnprotectedHolding
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.trading.journal.at_risk import at_risk
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.judgement.exposure import Holding, unclaimed
from mcp_binance_server.trading.judgement.intent import Touch

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
    bare, last = at_risk(intents)
    if last is None or not bare:
        return None
    read_ms = trading.now_ms()
    balances = (await trading.trying.account.account()).value.balances
    balance = next((each for each in balances if each.asset == asset), None)
    if balance is None:
        return None
    holding = Holding(asset, balance.total, balance.locked, read_ms)
    orders = await trading.situation_reader.reader.orders_of(trading.trader.account, holding)
    rules = await trading.trying.directory.find(last.terms.symbol)
    quantity = floor_to_step(Quantity(min(bare, unclaimed(holding, orders))), rules.step)
    touch = Touch.of((await trading.situation_reader.market.depth(rules.symbol, LEVELS)).value)
    with localcontext(prec=EXACT_DIGITS):
        value = None if touch.bid is None else quantity * touch.bid
    is_dust = quantity < rules.min_quantity or (value is not None and value < rules.min_notional)
    return None if is_dust else UnprotectedHolding(rules, quantity, value, last.client_order_id)
