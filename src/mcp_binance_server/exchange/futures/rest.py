"""REST client for public data of USDⓈ-M futures: one method per call; equal reads are shared."""

from dataclasses import dataclass

from mcp_binance_server.domain.derivatives import (
    BasisPoint,
    FundingPayment,
    FuturesQuote,
    InterestPoint,
    OpenInterest,
    PremiumIndex,
    ShareKind,
    SharePoint,
    TakerPoint,
)
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.periods import Candle, Interval
from mcp_binance_server.exchange.attempt import Params
from mcp_binance_server.exchange.board_part import BoardPart
from mcp_binance_server.exchange.futures.endpoints import (
    ALL_DAYS,
    ALL_PREMIUMS,
    ALL_QUOTES,
    BASIS_HISTORY,
    FUNDING_PAYMENTS,
    INTEREST_HISTORY,
    OPEN_INTEREST,
    PREMIUM,
    QUOTE,
    SHARE_HISTORIES,
    TAKER_HISTORY,
    klines_call,
)
from mcp_binance_server.exchange.futures.wire import (
    BasisPointWire,
    FundingPaymentWire,
    FuturesQuoteWire,
    InterestPointWire,
    OpenInterestWire,
    PremiumWire,
    SharePointWire,
    TakerPointWire,
)
from mcp_binance_server.exchange.series import SeriesRow, read_series
from mcp_binance_server.exchange.shared_reads import SharedReads
from mcp_binance_server.exchange.wire import DayRowWire, KlineWire

HOURLY = "1h"
MOST_PAYMENTS = 1_000
MOST_INTEREST_HOURS, USUAL_HOURS = 500, 480


@dataclass(frozen=True, slots=True)
class FuturesClient(SharedReads):
    """Public data of futures contracts; this client has no API key and cannot send one."""

    async def all_days(self) -> BoardPart:
        """Return the 24-hour statistics of every contract as texts, including contracts that do not trade."""
        return await self.board_part(ALL_DAYS, {}, DayRowWire)

    async def all_premiums(self) -> BoardPart:
        """Return mark price, index price and estimated funding of every contract.

        Delivery contracts have no funding.
        """
        return await self.board_part(ALL_PREMIUMS, {}, PremiumWire)

    async def all_quotes(self) -> BoardPart:
        """Return the best bid and ask of every contract."""
        return await self.board_part(ALL_QUOTES, {}, FuturesQuoteWire)

    async def premium(self, symbol: str) -> Sourced[PremiumIndex]:
        """Return mark price, index price and the estimated next funding of one contract."""
        return await self.shared(PREMIUM, {"symbol": symbol}, PremiumWire, PremiumWire.to_domain)

    async def quote(self, symbol: str) -> Sourced[FuturesQuote]:
        return await self.shared(QUOTE, {"symbol": symbol}, FuturesQuoteWire, FuturesQuoteWire.to_domain)

    async def open_interest(self, symbol: str) -> Sourced[OpenInterest]:
        return await self.shared(OPEN_INTEREST, {"symbol": symbol}, OpenInterestWire, OpenInterestWire.to_domain)

    async def funding_payments(self, symbol: str) -> Sourced[tuple[FundingPayment, ...]]:
        """Return the newest funding settlements, oldest first.

        Some settlements of an equity contract are marked as not funding.
        """
        params: Params = {"symbol": symbol, "limit": MOST_PAYMENTS}
        return await self.shared_rows(FUNDING_PAYMENTS, params, FundingPaymentWire, FundingPaymentWire.to_domain)

    async def interest_hours(self, symbol: str, limit: int = MOST_INTEREST_HOURS) -> Sourced[tuple[InterestPoint, ...]]:
        """Return open interest at the end of each hour, oldest first; the exchange has at most one month."""
        params = _hourly("symbol", symbol, limit)
        return await self.shared_rows(INTEREST_HISTORY, params, InterestPointWire, InterestPointWire.to_domain)

    async def shares(self, symbol: str, kind: ShareKind, limit: int = USUAL_HOURS) -> Sourced[tuple[SharePoint, ...]]:
        """Return the share of long positions at the end of each hour, oldest first."""
        params = _hourly("symbol", symbol, limit)
        return await self.shared_rows(SHARE_HISTORIES[kind], params, SharePointWire, SharePointWire.to_domain)

    async def taker_hours(self, symbol: str, limit: int = USUAL_HOURS) -> Sourced[tuple[TakerPoint, ...]]:
        """Return the taker volume bought and sold in each hour, oldest first; each hour is dated by its start."""
        params = _hourly("symbol", symbol, limit)
        return await self.shared_rows(TAKER_HISTORY, params, TakerPointWire, TakerPointWire.to_domain)

    async def basis_hours(self, pair: str, limit: int = USUAL_HOURS) -> Sourced[tuple[BasisPoint, ...]]:
        """Return the hourly basis between a pair's perpetual and its index, oldest first."""
        params: Params = {**_hourly("pair", pair, limit), "contractType": "PERPETUAL"}
        return await self.shared_rows(BASIS_HISTORY, params, BasisPointWire, BasisPointWire.to_domain)

    async def candles(self, symbol: str, interval: Interval, limit: int) -> Sourced[tuple[Candle, ...]]:
        """Return the newest candles, oldest first; the last one may be unfinished."""
        params: Params = {"symbol": symbol, "interval": interval, "limit": limit}
        return await self.shared_rows(klines_call(limit), params, KlineWire, KlineWire.to_domain)

    async def closed_series(self, symbol: str, interval: Interval, limit: int) -> list[SeriesRow]:
        """Return the newest candles as plain numbers, oldest first, by a background call.

        The last candle may be unfinished.
        """
        params: Params = {"symbol": symbol, "interval": interval, "limit": limit}
        call = klines_call(limit, in_background=True)
        return read_series((await self.caller.read(call, params, list[KlineWire])).value)


def _hourly(name: str, of: str, limit: int) -> Params:
    return {name: of, "period": HOURLY, "limit": limit}
