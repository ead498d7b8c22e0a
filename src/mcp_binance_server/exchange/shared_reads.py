"""Shared reads: equal concurrent reads cause one request, and its answer is decoded once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

import msgspec
from anyio.lowlevel import checkpoint

from mcp_binance_server.domain.market import ClockCheck, Origin, Sourced
from mcp_binance_server.exchange.attempt import Params
from mcp_binance_server.exchange.board_part import BoardColumns, BoardPart, BoardRowWire, read_rows
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.endpoints import RestCall, host_of
from mcp_binance_server.exchange.signing import rest_query
from mcp_binance_server.exchange.wire import TimeWire
from mcp_binance_server.state.engine import StateEngine
from mcp_binance_server.state.pace import LoopPace, LoopWatch

WireT = TypeVar("WireT")
ValueT = TypeVar("ValueT")

# Number of cached answers; a thousand decoded candles take about one MiB.
MOST_RECENT = 16
# Decoding these rows takes less than a millisecond.
ROWS_AT_A_TIME = 100


@dataclass(slots=True)
class ReadCount:
    """Counters: reads requested by callers, and requests sent for them."""

    asked: int = 0
    sent: int = 0
    dropped: int = 0
    """Rows of answers that made no sense and were left out."""


@dataclass(slots=True)
class _Answer:
    """A cached answer: its bytes, its wire structs, and the domain objects made from them on first use."""

    packed: bytes
    decoded: object
    meaning: object = None


class Recent:
    """Cache of recent answers, so that an answer shared by several callers is decoded once."""

    def __init__(self, most: int = MOST_RECENT) -> None:
        self._most = most
        self._kept: dict[str, _Answer] = {}

    def keep(self, key: str, packed: bytes, decoded: object) -> _Answer:
        self._kept.pop(key, None)
        kept = self._kept[key] = _Answer(packed, decoded)
        while len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return kept

    def meaning(self, key: str, packed: bytes, shape: type[WireT], read: Callable[[WireT], ValueT]) -> ValueT:
        """Return the domain objects of an answer; one key must always have the same `shape` and `read`."""
        kept = self._kept.get(key)
        if kept is None or kept.packed != packed:
            _, _, content = packed.partition(b"\n")
            kept = self.keep(key, packed, msgspec.json.decode(content, type=shape))
        if kept.meaning is None:
            kept.meaning, kept.decoded = read(cast("WireT", kept.decoded)), None
        return cast("ValueT", kept.meaning)


@dataclass(frozen=True, slots=True)
class SharedReads:
    """Reads that share the answer of an equal read in flight, or just finished. The result names the host."""

    caller: ExchangeCaller
    engine: StateEngine
    pace: LoopPace = field(repr=False)
    reads: ReadCount = field(default_factory=ReadCount)
    recent: Recent = field(default_factory=Recent, repr=False)

    async def shared(
        self, endpoint: RestCall, params: Params, shape: type[WireT], read: Callable[[WireT], ValueT]
    ) -> Sourced[ValueT]:
        async def produce() -> bytes:
            self.reads.sent += 1
            asked_ms = self.engine.now_ms()
            body = await self.caller.read(endpoint, params, shape)
            packed = f"{body.host} {body.at_ms} {asked_ms}\n".encode() + body.content
            self.recent.keep(key, packed, body.value)
            return packed

        self.reads.asked += 1
        configured = host_of(self.caller.network.rest_url)
        key = f"answer:{configured}:{endpoint.name}?{rest_query(params)}"
        watch = LoopWatch()
        kept = await self.engine.single_flight(
            key,
            produce,
            ttl_ms=endpoint.shared_ms,
            lock_ms=self.caller.longest_ms(endpoint),
            or_alone=True,
        )
        if watch.has_gone_round():
            await self.pace.step()  # the answer woke all waiting callers at once: spread their work
        answered, at_ms, asked_ms = kept[: kept.index(b"\n")].decode().split(" ")
        value = self.recent.meaning(key, kept, shape, read)
        # Another process may have sent the request. The engine's clock is common to all processes and gives the
        # answer's age.
        as_of_ms = self.caller.time.dated(int(at_ms), ago_ms=self.engine.now_ms() - int(asked_ms))
        return Sourced(value, answered, self.origin_of(answered), as_of_ms)

    async def shared_rows(
        self, endpoint: RestCall, params: Params, shape: type[WireT], read: Callable[[WireT], ValueT]
    ) -> Sourced[tuple[ValueT, ...]]:
        """Share an answer that is a list; unreadable rows are left out and counted."""

        def read_all(rows: list[msgspec.Raw]) -> tuple[ValueT, ...]:
            found = read_rows(rows, shape)
            self.reads.dropped += found.dropped
            return tuple(map(read, found.rows))

        return await self.shared(endpoint, params, list[msgspec.Raw], read_all)

    async def board_part(self, endpoint: RestCall, params: Params, shape: type[BoardRowWire]) -> BoardPart:
        """Request all symbols, and return their fields as columns; unreadable rows are left out.

        The answer is not cached: it is too large to share between processes.
        """
        self.reads.asked += 1
        self.reads.sent += 1
        body = await self.caller.read(endpoint, params, list[msgspec.Raw])
        await checkpoint()  # decoding has used this turn of the event loop; the rows are processed in later turns
        laid_out = BoardColumns(shape)
        for start in range(0, len(body.value), ROWS_AT_A_TIME):
            await self.pace.step(goes_on=start > 0)
            laid_out.add(body.value[start : start + ROWS_AT_A_TIME])
        self.reads.dropped += laid_out.dropped
        columns = laid_out.columns()
        return BoardPart(body.host, self.origin_of(body.host), body.at_ms, columns, laid_out.dropped)

    async def clock_check(self) -> Sourced[ClockCheck]:
        """Compare the machine's clock with the exchange's, by one request.

        The exchange's time is assumed to be the middle of the round trip.
        """
        clock = self.caller.clock
        asked_at = clock.monotonic_ms()
        body = await self.caller.read(self.caller.attempts.time_call, {}, TimeWire)
        round_trip_ms = clock.monotonic_ms() - asked_at
        server_ms = body.value.server_time
        check = ClockCheck(round(server_ms + round_trip_ms / 2), clock.now_ms(), round(round_trip_ms))
        return Sourced(check, body.host, self.origin_of(body.host), body.at_ms)

    def origin_of(self, answered: str) -> Origin:
        if self.caller.network.simulated:
            return "simulated"
        return "configured" if answered == host_of(self.caller.network.rest_url) else "rerouted"
