"""Profit of an account, computed from its trades. The limits below bound the number of trades that are read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from mcp_binance_server.analytics.portfolio.profit import (
    CASH,
    AccountProfit,
    OpenStop,
    needed_prices,
    open_stop,
    replay,
    settle,
)
from mcp_binance_server.domain.account_reader import AccountReader
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.orders import Fill
from mcp_binance_server.domain.symbols import Symbol, SymbolRules, SymbolTable
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.endpoints import KLINES, MY_TRADES, OPEN_ORDERS_ALL
from mcp_binance_server.services.account.minute_prices import AT_ONCE, MinutePrices
from mcp_binance_server.services.account.orders import QUOTES
from mcp_binance_server.services.account.portfolio import ValuedAccount
from mcp_binance_server.services.account.trade_pages import MOST_ROWS
from mcp_binance_server.services.gathering import gather_in_turns
from mcp_binance_server.trading.judgement.preview import USUAL

# Weight at most: 20 x 20 for the newest pages, 20 x 20 for older pages, 200 x 2 for prices: 1,200 of 6,000 a minute.
MOST_PAIRS = 20
MORE_PAGES = 20
PRICE_CALLS = 200
# Status of an exit whose entry is not filled.
WAITS_FOR_ENTRY = "PENDING_NEW"


@dataclass(frozen=True, slots=True)
class _PairHistory:
    """The trades of one pair, the calls made, and whether older trades are missing."""

    fills: tuple[Fill, ...]
    calls: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class AverageCost:
    """Average cost of a unit that is held, in dollars, and the quantity that trades of one pair explain.

    Fees of the purchases are included. `is_cut` means that older trades were not read.
    """

    symbol: Symbol
    price: Decimal
    quantity: Decimal
    is_cut: bool


@dataclass(frozen=True, slots=True)
class ProfitService:
    """Profit from the trades of one principal. All callers share the prices of past minutes."""

    client: AccountReader
    directory: Directory
    prices: MinutePrices

    async def of(self, valued: ValuedAccount, named: Sequence[str] = (), since_ms: int = 0) -> AccountProfit:
        """Return the profit of an account that was just valued.

        It is computed from the trades on the account's pairs and on the `named` pairs. With `since_ms`, earlier trades
        are left out.

        Raises:
            InvalidSymbol: a named pair does not exist.
            AppError: a pair did not answer; without its trades the profit would be wrong.
        """
        self.client.require_key()
        asked = [await self.directory.find(text) for text in named]
        table = await self.directory.table()
        held = [each.asset for each in (*valued.portfolio.holdings, *valued.portfolio.excluded)]
        pairs = {each.symbol: each for each in (*asked, *_pairs_of(held, table))}
        read, not_read = [*pairs][:MOST_PAIRS], [*pairs][MOST_PAIRS:]
        histories = await self._histories(read)
        fills = [fill for each in histories.values() for fill in each.fills if fill.time_ms >= since_ms]
        past = await self.prices.read(needed_prices(fills, pairs), table, PRICE_CALLS)
        ledger = replay(fills, pairs, past.at)
        holdings = (*valued.portfolio.holdings, *valued.portfolio.excluded)
        pages = sum(each.calls for each in histories.values())
        return AccountProfit(
            assets=settle(
                ledger,
                {each.asset: each.total for each in holdings},
                {each.asset: each.price for each in holdings},
            ),
            ledger=ledger,
            trades=len(fills),
            pairs=tuple(read),
            not_read=tuple(not_read),
            cut={symbol: min(fill.time_ms for fill in each.fills) for symbol, each in histories.items() if each.is_cut},
            prices_left=past.calls_left,
            calls=pages + past.calls,
            weight=pages * MY_TRADES.weight + past.calls * KLINES.weight,
        )

    async def with_stops(self, profit: AccountProfit, valued: ValuedAccount) -> AccountProfit:
        """Add the losses of the account's open stops that sell for dollars.

        Raises:
            AppError: the open orders cannot be read.
        """
        fee = (valued.commission or USUAL).taker
        table, orders = await self.directory.table(), (await self.client.open_orders()).value
        costs = {each.asset: each.average_price for each in profit.assets}
        stops: list[OpenStop] = []
        for each in orders:
            rules = table.find(each.symbol)
            is_live = each.side == "SELL" and each.kind.startswith("STOP_LOSS") and each.status != WAITS_FOR_ENTRY
            if rules is None or rules.quote not in CASH or not is_live:
                continue
            cost, now = costs.get(rules.base), valued.prices.get(each.symbol)
            stops.append(open_stop(each.symbol, each.remaining, each.stop_price, each.working_price, fee, cost, now))
        calls, weight = profit.calls + 1, profit.weight + OPEN_ORDERS_ALL.weight
        return replace(profit, fee=fee, stops=tuple(stops), calls=calls, weight=weight)

    async def average_cost(self, rules: SymbolRules, held: Quantity) -> AverageCost | None:
        """Return the average cost of a held quantity, from the trades of one pair.

        It is None if no trade explains any of it, or if the pair is not quoted in dollars.

        Raises:
            AppError: the trades cannot be read.
        """
        if rules.quote not in CASH:
            return None
        history = (await self._histories([rules.symbol]))[rules.symbol]
        pairs = {rules.symbol: rules}
        past = await self.prices.read(needed_prices(history.fills, pairs), await self.directory.table(), PRICE_CALLS)
        found = settle(replay(history.fills, pairs, past.at), {rules.base: held}, {})
        own = next((each for each in found if each.asset == rules.base), None)
        if own is None or own.average_price is None:
            return None
        return AverageCost(rules.symbol, own.average_price, own.quantity, history.is_cut)

    async def _histories(self, symbols: Sequence[Symbol]) -> dict[Symbol, _PairHistory]:
        reads = [partial(self.client.fills, symbol, MOST_ROWS) for symbol in symbols]
        parts = await gather_in_turns(reads, at_once=AT_ONCE)
        newest = {symbol: part.required().value for symbol, part in zip(symbols, parts, strict=True)}
        room = MORE_PAGES
        histories: dict[Symbol, _PairHistory] = {}
        for symbol, page in newest.items():
            histories[symbol] = await self._before(symbol, page, room)
            room -= histories[symbol].calls - 1
        return histories

    async def _before(self, symbol: Symbol, page: tuple[Fill, ...], room: int) -> _PairHistory:
        """Read the pages before a full page.

        Two pages share one millisecond; its trades are read twice and counted once.
        """
        known = {each.trade_id: each for each in page}
        calls = 1
        while len(page) >= MOST_ROWS and calls <= room:
            oldest_ms = min(each.time_ms for each in page)
            page = (await self.client.fills(symbol, MOST_ROWS, end_ms=oldest_ms)).value
            calls += 1
            before = len(known)
            known |= {each.trade_id: each for each in page}
            if len(known) == before:
                break
        return _PairHistory(tuple(known.values()), calls, len(page) >= MOST_ROWS)


def _pairs_of(assets: Iterable[str], table: SymbolTable) -> list[SymbolRules]:
    """Return the pairs on which the assets were likely bought.

    The likeliest pair of every asset comes before any second pair.
    """
    coins = [each for each in assets if each not in CASH]
    found = (table.find(f"{asset}{quote}") for quote in QUOTES for asset in coins)
    return [each for each in found if each is not None]
