"""Snapshot of every pair of a market. It is read on request, shared by all requests, and cached for seconds."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.domain.board import Board, BoardMarket, BoardView
from mcp_binance_server.domain.market import Origin
from mcp_binance_server.errors import AppError, ExchangeUnavailable, RateLimited
from mcp_binance_server.exchange.board_part import BoardPart
from mcp_binance_server.exchange.endpoints import host_of
from mcp_binance_server.exchange.futures.side import FuturesSide, offered
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.services.market.board_parts import OpenBoard, packed, perpetual_board, spot_board, unpacked
from mcp_binance_server.state.engine import Values
from mcp_binance_server.state.flight import Flights

# Longest time between three answers that form one snapshot, in ms.
APART_MS = 2_000
ROUNDS = 2
# A board up to this age in ms is better than an error, because the answer states its age.
OLDEST_MS = 120_000
# Longest wait for a new board if an old one exists, in seconds. It is shorter than the deadline of a call.
PATIENCE_SECS = 5.0
# Two rounds of calls, each within its own deadline, in ms.
LONGEST_MS = 45_000

Made = tuple[Board, Origin]
Make = Callable[[], Awaitable[Made]]


@dataclass
class BoardService:
    """Boards by market. Each process caches the unpacked board, and asks the engine when the board is too old.

    There is no background task, so without requests nothing is sent.
    """

    client: SpotClient
    directory: Directory
    futures: FuturesSide | None
    missing_setting: str
    """Name of the missing setting if futures are not offered."""
    engine: Values
    clock: Clock
    fresh_ms: int
    reads: Counter[BoardMarket] = field(default_factory=Counter[BoardMarket], init=False)
    fetches: Counter[BoardMarket] = field(default_factory=Counter[BoardMarket], init=False)
    flights: Flights[OpenBoard] = field(init=False, repr=False)
    _kept: dict[BoardMarket, OpenBoard] = field(default_factory=dict[BoardMarket, OpenBoard], init=False, repr=False)
    _made: dict[BoardMarket, tuple[bytes, OpenBoard]] = field(
        default_factory=dict[BoardMarket, tuple[bytes, OpenBoard]], init=False, repr=False
    )

    def __post_init__(self) -> None:
        self.flights = Flights(self.clock)

    async def read(self, market: BoardMarket) -> BoardView:
        """Return a fresh board. If the exchange fails, return an older board with the reason.

        Raises:
            FuturesNotOffered: the server has no futures, so no board of perpetuals.
            AppError: the exchange has failed for minutes, or the rate limit was hit.
        """
        if market == "perpetual":
            offered(self.futures, self.missing_setting)
        self.reads[market] += 1
        kept = self._kept.get(market)
        now_ms = self.engine.now_ms()
        if kept is not None and now_ms < kept.made_ms + self.fresh_ms:
            return self._view(kept)
        if kept is None or now_ms - kept.asked_ms > OLDEST_MS:
            return self._view(await self._renewed(market))
        try:
            with anyio.fail_after(PATIENCE_SECS):
                return self._view(await self._renewed(market))
        except RateLimited:
            raise
        except TimeoutError:
            return self._view(kept, f"no answer within {PATIENCE_SECS:g} s")
        except AppError as failure:
            return self._view(kept, failure.message)

    def made(self, market: BoardMarket) -> OpenBoard | None:
        """Return the cached board, regardless of its age."""
        return self._kept.get(market)

    def ages_secs(self) -> dict[BoardMarket, float]:
        """Return the age of each cached board in seconds."""
        now_ms = self.engine.now_ms()
        return {market: max(0, now_ms - kept.asked_ms) / 1000 for market, kept in self._kept.items()}

    def _view(self, kept: OpenBoard, failure: str | None = None) -> BoardView:
        return BoardView(kept.board, kept.origin, max(0, self.engine.now_ms() - kept.asked_ms), failure)

    async def _renewed(self, market: BoardMarket) -> OpenBoard:
        # Concurrent requests unpack the board once.
        return await self.flights.join(market, lambda: self._renew(market), lock_ms=LONGEST_MS)

    async def _renew(self, market: BoardMarket) -> OpenBoard:
        # The board is shared, so no party is charged for it.
        with acting_for(""):
            make = await (self._spot() if market == "spot" else self._perpetual())
            content = await self.engine.single_flight(
                self._key(market), lambda: self._produce(market, make), ttl_ms=self.fresh_ms, lock_ms=LONGEST_MS
            )
        made = self._made.pop(market, None)
        opened = made[1] if made is not None and made[0] == content else await unpacked(content)
        self._kept[market] = opened
        return opened

    async def _produce(self, market: BoardMarket, make: Make) -> bytes:
        self.fetches[market] += 1
        asked_ms = self.engine.now_ms()
        board, origin = await make()
        opened = OpenBoard(board, origin, asked_ms, self.engine.now_ms())
        content = await packed(opened)
        self._made[market] = content, opened
        return content

    async def _spot(self) -> Make:
        table = await self.directory.table()

        async def make() -> Made:
            part = await self.client.all_days()
            return await anyio.to_thread.run_sync(spot_board, part, table), part.origin

        return make

    async def _perpetual(self) -> Make:
        side = offered(self.futures, self.missing_setting)
        client, contracts = side.client, side.contracts
        table, rules = await contracts.table(), await contracts.rules()

        async def make() -> Made:
            for _ in range(ROUNDS):
                read = await gather(client.all_days, client.all_premiums, client.all_quotes)
                days, premiums, quotes = (part.required() for part in read)
                if _apart_ms(days, premiums, quotes) <= APART_MS:
                    # This takes ten milliseconds. It runs in a thread, so that other requests do not wait.
                    made = await anyio.to_thread.run_sync(perpetual_board, days, premiums, quotes, table, rules)
                    return made, days.origin
            raise ExchangeUnavailable(reason=f"the exchange's lists were read more than {APART_MS // 1000} s apart")

        return make

    def _key(self, market: BoardMarket) -> str:
        network = self.client.caller.network
        url = network.rest_url if market == "spot" else network.futures_rest_url
        return f"board:{host_of(url or '')}:{market}"


def _apart_ms(*parts: BoardPart) -> int:
    moments = [_moment_ms(part) for part in parts]
    return max(moments) - min(moments)


def _moment_ms(part: BoardPart) -> int:
    """Return the time of an answer from its newest row. The answer may be a copy that is some seconds old."""
    told = part.columns.get("marked_ms") or part.columns.get("closed_ms")
    return max(map(int, told), default=part.at_ms) if told else part.at_ms
