"""Derived columns of pairs. They are read once per candle for all processes, and stored without the candles."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import msgspec

from mcp_binance_server.analytics.market.scan.column_table import INTERVAL_MS, ScanInterval
from mcp_binance_server.analytics.market.scan.columns import (
    DayColumns,
    InterestColumns,
    SeriesColumns,
    day_columns,
    interest_columns,
    series_columns,
)
from mcp_binance_server.analytics.market.scan.screen import PairColumns, ReadColumns, ScanStep
from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.domain.board import BoardMarket
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.exchange.allowance import Allowance
from mcp_binance_server.exchange.endpoints import host_of
from mcp_binance_server.exchange.futures.rest import FuturesClient
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.state.engine import Values

# One request. It has enough rows for an average of 200.
SERIES_ROWS = 250
SERIES_WEIGHT = 2
# Delay in ms after which a closed candle is final. It is not requested earlier.
SETTLING_MS = 3_000
INTEREST_MS = 300_000
INTEREST_HOURS = 30
# Maximum number of cached series. Up to 12,000 exist (3,000 pairs with four intervals), but never all of them are
# needed at once.
MOST_AT_HAND = 8_000
SeriesOutcome = Literal["fetched", "shared", "limited", "failed"]
"""Requested from the exchange; shared with an earlier request; over the limit of that minute; not answered."""
_SERIES = tuple(SeriesColumns.__dataclass_fields__)
_DAYS = tuple(DayColumns.__dataclass_fields__)


def pack_columns(columns: PairColumns) -> bytes:
    """Encode the numbers of a series without their names. The result has an eighth of a kilobyte."""
    days = columns.days
    written = [getattr(columns.series, name) for name in _SERIES]
    written += [] if days is None else [getattr(days, name) for name in _DAYS]
    return msgspec.msgpack.encode(written)


def open_columns(content: bytes) -> PairColumns:
    """Decode the output of `pack_columns`."""
    numbers = msgspec.msgpack.decode(content, type=list[int | float | None])
    series, days = numbers[: len(_SERIES)], numbers[len(_SERIES) :]
    return PairColumns(
        msgspec.convert(dict(zip(_SERIES, series, strict=True)), SeriesColumns),
        msgspec.convert(dict(zip(_DAYS, days, strict=True)), DayColumns) if days else None,
    )


@dataclass
class ColumnStore:
    """Columns by market, step and symbol. They are cached in this process, and loaded if missing."""

    spot: SpotClient
    futures: FuturesClient | None
    allowances: Mapping[BoardMarket, Allowance]
    engine: Values
    series: dict[SeriesOutcome, int] = field(
        default_factory=lambda: dict[SeriesOutcome, int].fromkeys(get_args(SeriesOutcome), 0), init=False
    )
    """Number of candle series since the start that were not in the cache, by outcome."""
    _at_hand: dict[tuple[BoardMarket, ScanStep, str], tuple[int, ReadColumns]] = field(
        default_factory=dict[tuple[BoardMarket, ScanStep, str], tuple[int, ReadColumns]], init=False, repr=False
    )

    def at_hand(self, market: BoardMarket, step: ScanStep, symbol: str) -> ReadColumns | None:
        """Return columns from the cache, or None if they are missing or outdated."""
        until_ms, columns = self._at_hand.get((market, step, symbol), (0, None))
        return columns if self.engine.now_ms() < until_ms else None

    async def load(self, market: BoardMarket, step: ScanStep, symbol: str) -> None:
        """Load columns into the cache, from another process or from the exchange.

        Requests to the exchange stay within the scans' allowance of weight.

        Raises:
            RateLimited: the allowance of this minute is used up.
            AppError: the exchange did not answer.
        """
        if self.at_hand(market, step, symbol) is None:
            columns, left_ms = await (
                self._interest(symbol) if step == "interest" else self._series(market, step, symbol)
            )
            self._keep((market, step, symbol), columns, self.engine.now_ms() + left_ms)

    async def _series(self, market: BoardMarket, interval: ScanInterval, symbol: str) -> tuple[PairColumns, int]:
        client, interval_ms = self._client(market), INTERVAL_MS[interval]
        settled_ms = client.caller.time.now_ms() - SETTLING_MS

        outcome: SeriesOutcome = "shared"

        async def produce() -> bytes:
            nonlocal outcome
            await self.allowances[market].spend(SERIES_WEIGHT, party=PARTY.get())
            rows = await client.closed_series(Symbol(symbol), interval, SERIES_ROWS)
            await client.pace.step()  # takes a millisecond, and eight answers can arrive at once
            days = day_columns(rows, settled_ms) if interval == "1d" else None
            outcome = "fetched"
            return pack_columns(PairColumns(series_columns(rows, settled_ms, interval_ms), days))

        left_ms = interval_ms - settled_ms % interval_ms
        try:
            content = await self.engine.single_flight(
                f"columns:{host_of(client.caller.network.rest_url)}:{interval}:{symbol}",
                produce,
                ttl_ms=left_ms,
                lock_ms=int(client.caller.total_secs * 1000) + SETTLING_MS,
            )
        except AppError as failure:
            self.series["limited" if isinstance(failure, RateLimited) else "failed"] += 1
            raise
        self.series[outcome] += 1
        return open_columns(content), left_ms

    async def _interest(self, symbol: str) -> tuple[InterestColumns, int]:
        client = self._contracts
        points = (await client.interest_hours(Symbol(symbol), INTEREST_HOURS)).value
        return interest_columns(points, client.caller.time.now_ms()), INTEREST_MS

    def _client(self, market: BoardMarket) -> SpotClient | FuturesClient:
        return self.spot if market == "spot" else self._contracts

    @property
    def _contracts(self) -> FuturesClient:
        if self.futures is None:
            raise TypeError("open interest needs a futures client")
        return self.futures

    def _keep(self, key: tuple[BoardMarket, ScanStep, str], columns: ReadColumns, until_ms: int) -> None:
        if len(self._at_hand) >= MOST_AT_HAND:
            now_ms = self.engine.now_ms()
            self._at_hand = {each: kept for each, kept in self._at_hand.items() if kept[0] > now_ms}
        while len(self._at_hand) >= MOST_AT_HAND:
            del self._at_hand[next(iter(self._at_hand))]
        self._at_hand.pop(key, None)
        self._at_hand[key] = until_ms, columns
