"""Scans of a whole market in stages: first by the board, then by the candles of the pairs that pass."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import anyio

from mcp_binance_server.analytics.market.scan.report import ScanReport, report_on, shown_places
from mcp_binance_server.analytics.market.scan.screen import BoardNumbers, ScanQuestion, ScanStep, Screen
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.domain.board import Board, BoardMarket, BoardView
from mcp_binance_server.errors import AppError, InvalidArguments, RateLimited, echo
from mcp_binance_server.services.market.board import BoardService
from mcp_binance_server.services.market.scan_columns import ColumnStore
from mcp_binance_server.state.fair_turns import FairTurns
from mcp_binance_server.state.flight import Flights

# Time limit of an answer in ms. Chat clients cut long calls.
ANSWER_MS = 8_000
# Time in ms after which a scan is dropped if no client polls it.
WANTED_MS = 60_000
AT_A_TIME = 8
# Maximum number of running scans of one party. One more scan drops the party's oldest scan.
MOST_UNDER_WAY = 4
LONGEST_TURN_SECS = 30.0
LONGEST_MS = 24 * 60 * 60 * 1000
DOLLARS = frozenset({"USDT", "USDC", "FDUSD", "TUSD", "DAI", "USD1", "BUSD", "USD"})
DOLLAR_VOLUME = 1_000_000.0
MOST_NAMED = 8
# Maximum number of cached reports. Clients often send equal questions. More entries would only serve one client with
# many different questions.
MOST_MOVERS = 16


@dataclass(eq=False)
class _UnderWay:
    """A scan. Its missing data is read while clients poll it."""

    party: str
    screen: Screen
    limit: int
    wanted_until_ms: float
    is_complete: anyio.Event = field(default_factory=anyio.Event)


@dataclass
class ScanService:
    """Market scans, answered within seconds. Missing data is read in the background for the next poll."""

    boards: BoardService
    store: ColumnStore
    clock: Clock
    turns: FairTurns = field(init=False, repr=False)
    flights: Flights[None] = field(init=False, repr=False)
    _numbers: dict[BoardMarket, BoardNumbers] = field(
        default_factory=dict[BoardMarket, BoardNumbers], init=False, repr=False
    )
    _movers: dict[ScanQuestion, ScanReport] = field(
        default_factory=dict[ScanQuestion, ScanReport], init=False, repr=False
    )
    _under_way: dict[str, _UnderWay] = field(default_factory=dict[str, _UnderWay], init=False, repr=False)

    def __post_init__(self) -> None:
        self.turns = FairTurns(self.clock, at_a_time=AT_A_TIME)
        self.flights = Flights(self.clock)

    @property
    def waiting(self) -> int:
        """Number of scans whose data is still being read."""
        return len(self._under_way)

    async def scan(self, question: ScanQuestion) -> ScanReport:
        """Judge the pairs of a question: as many as eight seconds and the weight limit of scans allow.

        Raises:
            InvalidArguments: no pair is traded against that asset.
            AppError: the board cannot be read.
        """
        view = await self.boards.read(question.market)
        kept = self._movers.get(question)
        if kept is not None and kept.view.board is view.board and kept.view.failure == view.failure:
            return kept
        screen = Screen(question, self.numbers_of(view), partial(self.store.at_hand, question.market))
        if not screen.listed:
            raise no_such_quote(question.market, question.quote, view.board)
        if not screen.is_on_the_board and self._to_read(screen, question.limit):
            await self._read_on(screen, question)
        report = report_on(screen, view)
        if question.is_about_movers and not question.show and not report.waiting:
            self._keep_movers(question, report)
        return report

    def numbers_of(self, view: BoardView) -> BoardNumbers:
        """Return the numbers of a board, computed once for all questions."""
        kept = self._numbers.get(view.board.market)
        if kept is None or kept.board is not view.board:
            kept = self._numbers[view.board.market] = BoardNumbers(view.board)
        return kept

    def _keep_movers(self, question: ScanQuestion, report: ScanReport) -> None:
        kept = {each: made for each, made in self._movers.items() if made.view.board is self._board(each.market)}
        while len(kept) >= MOST_MOVERS:
            del kept[next(iter(kept))]
        self._movers = kept | {question: report}

    def _board(self, market: BoardMarket) -> object:
        numbers = self._numbers.get(market)
        return None if numbers is None else numbers.board

    async def _read_on(self, screen: Screen, question: ScanQuestion) -> None:
        """Fetch missing data for at most eight seconds, or wait for an identical scan of the same client."""
        now_ms, party = self.clock.monotonic_ms(), PARTY.get()
        key = f"{party} {replace(question, limit=0)!r}"
        under_way = self._under_way.get(key)
        if under_way is None:
            self._give_up_oldest(party)
            under_way = self._under_way[key] = _UnderWay(party, screen, question.limit, now_ms + WANTED_MS)
            self.flights.begin(key, lambda: self._pursue(key, under_way), lock_ms=LONGEST_MS)
        else:
            under_way.wanted_until_ms = now_ms + WANTED_MS
            under_way.limit = max(under_way.limit, question.limit)
            if under_way.screen.numbers.board is screen.numbers.board:
                screen.failures = under_way.screen.failures
            else:
                under_way.screen = screen
        async with anyio.create_task_group() as group:

            async def give_up() -> None:
                await self.clock.sleep_until_ms(now_ms + ANSWER_MS)
                group.cancel_scope.cancel()

            group.start_soon(give_up)
            await under_way.is_complete.wait()
            group.cancel_scope.cancel()

    def _give_up_oldest(self, party: str) -> None:
        own = [each for each in self._under_way.values() if each.party == party]
        for each in sorted(own, key=lambda each: each.wanted_until_ms)[: len(own) + 1 - MOST_UNDER_WAY]:
            each.wanted_until_ms = 0.0

    async def _pursue(self, key: str, under_way: _UnderWay) -> None:
        try:
            while self._is_wanted(under_way) and (left := self._to_read(under_way.screen, under_way.limit)):
                screen, queue = under_way.screen, iter(left)
                async with anyio.create_task_group() as group:
                    for _ in range(AT_A_TIME):
                        group.start_soon(self._work, under_way, screen, queue)
        finally:
            del self._under_way[key]
            under_way.is_complete.set()

    def _is_wanted(self, under_way: _UnderWay) -> bool:
        return self.clock.monotonic_ms() < under_way.wanted_until_ms

    async def _work(self, under_way: _UnderWay, screen: Screen, queue: Iterator[tuple[int, ScanStep]]) -> None:
        for place, first in queue:
            step: ScanStep | None = first
            while step is not None:
                if under_way.screen is not screen or not self._is_wanted(under_way):
                    return
                step = await self._read(under_way, screen, place, step)

    async def _read(self, under_way: _UnderWay, screen: Screen, place: int, step: ScanStep) -> ScanStep | None:
        """Read one step of a pair in this party's turn. Return the next step, or None."""
        market, symbol = screen.question.market, screen.numbers.symbols[place]
        try:
            turn = self.turns.ask(f"{market} {step} {symbol}")
            await self.turns.wait(turn, LONGEST_TURN_SECS)
            try:
                await self.store.load(market, step, symbol)
            finally:
                self.turns.end(turn)
        except TimeoutError:
            return step
        except RateLimited as limited:
            # Wait for the rate limit, then try the step again.
            again_ms = self.clock.monotonic_ms() + limited.retry_after_secs * 1000
            await self.clock.sleep_until_ms(min(again_ms, under_way.wanted_until_ms))
            return step
        except AppError as failure:
            screen.failures[step, symbol] = failure.message
            return None
        return screen.further(place)

    def _to_read(self, screen: Screen, limit: int) -> list[tuple[int, ScanStep]]:
        judgement = screen.judged()
        if judgement.to_read:
            return judgement.to_read
        rows, losers = shown_places(screen, judgement.matched, limit)
        return screen.missing([*rows, *losers])


def least_volume(quote: str) -> float:
    """Return the default minimum of daily volume: a million for dollar assets, otherwise zero."""
    return DOLLAR_VOLUME if quote in DOLLARS else 0.0


def no_such_quote(market: BoardMarket, quote: str, board: Board) -> InvalidArguments:
    """Return the error for an asset without pairs. It names the most common quote assets."""
    quotes = Counter(board.texts("quote"))
    shown = ", ".join(name for name, _ in quotes.most_common(MOST_NAMED))
    problem = f"no {market} pair of that kind is traded against {echo(quote)}; most are against {shown}"
    return InvalidArguments(
        summary=f"Invalid screen: quote: {problem}", errors=({"argument": "quote", "problem": problem},)
    )
