"""One simulated exchange: its market, accounts, limits and faults."""

from dataclasses import dataclass
from pathlib import Path

from binance_simulator.account import DemoAccount, KeyRights, WeightMeter
from binance_simulator.chartimg.service import SimulatedChartImg
from binance_simulator.clock import Clock
from binance_simulator.faults import Faults
from binance_simulator.futures.service import SimulatedFutures
from binance_simulator.market.book import Top
from binance_simulator.market.crowd import FEW_LEVELS, MOST_LEVELS, build_crowd
from binance_simulator.market.listing import Listing, Symbol
from binance_simulator.market.portfolio import Portfolio
from binance_simulator.market.prices import Course
from binance_simulator.market.recording import read_recordings
from binance_simulator.market.replay import Replay, anchors
from binance_simulator.market.scenario import SCENARIOS, Stage
from binance_simulator.market.source import Changes, Depth, Said, Sources, Span
from binance_simulator.orders.accounts import Account
from binance_simulator.orders.desk import OrderDesk
from binance_simulator.orders.list_desk import ListDesk
from binance_simulator.orders.shown import Shown, lay_changes, lay_depth, lay_top
from binance_simulator.visits import Hub, ReceivedRequest

WEIGHT_LIMIT = 6000
REMEMBERED_REQUESTS = 20_000
REMEMBERED_EVENTS = 6_000  # encoded events of the last buckets, enough for the largest crowd
LARGEST_CROWD = 1_500


@dataclass(frozen=True, slots=True)
class Guest:
    """An additional account with its own keys and balances."""

    account: DemoAccount
    portfolio: Portfolio


class SimulatedExchange:
    """A simulated exchange with the state that all requests share. Its market depends only on seed and time.

    `crowd` is the number of additional symbols for load tests. Each of their depth events changes `crowd_levels`
    levels or a few more. `contracts` is the number of additional perpetuals. `replay` is a folder of recordings that
    replace the symbols in them.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        seed: int = 7,
        scenario: str = "market",
        crowd: int = 0,
        crowd_levels: int = FEW_LEVELS,
        contracts: int = 0,
        replay: Path | None = None,
        replay_speed: float = 1,
    ) -> None:
        self.clock = clock
        self.seed = seed
        self.skew_ms = 0
        self.account = DemoAccount(seed)
        self.guests: list[Guest] = []
        self.rights = KeyRights()
        self.faults = Faults()
        self.hub = Hub()
        self.meter = WeightMeter(WEIGHT_LIMIT)
        self.requests: list[ReceivedRequest] = []
        self.listing = Listing()
        self.orders = OrderDesk(self.listing)
        self.order_lists = ListDesk(self.orders)
        self.executions = self.orders.records.executions
        self.executions.listeners.append(lambda _: self.hub.wake())
        self.said = Said(REMEMBERED_EVENTS)
        self._crowd = Sources()
        self._replays = Sources()
        self._anchors = dict[str, Course]()
        self.charts = SimulatedChartImg(clock, seed)
        self.futures = SimulatedFutures(self.listing, seed, self.now_ms())
        self.stage: Stage
        self.scenario: str
        self.set_scenario(scenario)
        if crowd:
            self.set_crowd(crowd, crowd_levels)
        if contracts:
            self.set_contracts(contracts)
        if replay is not None:
            self.set_replay(replay, replay_speed)

    @property
    def weight_limit(self) -> int:
        return self.meter.limit

    @weight_limit.setter
    def weight_limit(self, limit: int) -> None:
        self.meter.limit = limit

    def holder(self, key: str) -> DemoAccount:
        """Return the account of a key. For an unknown key, return the first account, which will refuse the key."""
        return next((guest.account for guest in self.guests if guest.account.knows(key)), self.account)

    def portfolio(self, key: str) -> Portfolio:
        """Return the current portfolio of a key's account."""
        return self.orders.portfolio(self.holder(key).api_key, self._first_portfolio(key), self.now_ms())

    def order_account(self, key: str) -> Account:
        """Return the trading account of a key."""
        return self.orders.records.account(self.holder(key).api_key, self._first_portfolio(key))

    def _first_portfolio(self, key: str) -> Portfolio:
        return next((guest.portfolio for guest in self.guests if guest.account.knows(key)), self.stage.portfolio)

    def depth(self, symbol: Symbol, limit: int, now_ms: int) -> Depth:
        """Return up to `limit` levels per side, including the accounts' orders."""
        depth = self.stage.market.depth(symbol, limit, now_ms)
        shown = self._shown(symbol, now_ms)
        return lay_depth(depth, shown, limit) if shown else depth

    def top(self, symbol: Symbol, now_ms: int) -> Top | None:
        """Return the best bid and ask, including the accounts' orders."""
        top = self.stage.market.top(symbol, now_ms)
        shown = self._shown(symbol, now_ms)
        return lay_top(top, shown) if shown and top is not None else top

    def changes(self, symbol: Symbol, span: Span) -> Changes | None:
        """Return the changes to a symbol's book, including those of the accounts' orders.

        Return None if nothing changed.
        """
        market, shown = self.stage.market, self._shown(symbol, span.end_ms)
        changes, touched = market.changes(symbol, *span), self.orders.engine.shown.touched(symbol, span)
        self.orders.engine.shown.told(symbol, span.end_ms)
        if not shown and not touched:
            return changes
        if changes is None:
            ids = market.update_id(symbol, span.start_ms) + 1, market.update_id(symbol, span.end_ms)
            changes = Changes(*ids, {}, {})
        laid = lay_changes(changes, shown, touched, lambda price: market.level(symbol, price, span.end_ms))
        return laid if laid.bids or laid.asks else None

    def _shown(self, symbol: Symbol, now_ms: int) -> Shown:
        self.orders.engine.settle(now_ms)
        return self.orders.engine.shown.at(symbol, now_ms)

    def now_ms(self) -> int:
        """Return the exchange's time, including its offset."""
        return self.clock.now_ms() + self.skew_ms

    def set_scenario(self, name: str) -> None:
        """Change the scenario. Orders are deleted; requests, weights and faults stay.

        Raises:
            ValueError: the scenario is unknown.
        """
        if name not in SCENARIOS:
            raise ValueError(f"Unknown scenario {name!r}; scenarios: {', '.join(SCENARIOS)}.")
        self.stage = SCENARIOS[name](self.listing, self.seed, self.now_ms(), self._anchors)
        self.orders.follow(self.stage.market)
        self.scenario = name
        self._set_sources()

    def set_crowd(self, count: int, levels: int = FEW_LEVELS) -> None:
        """List `count` additional cheap markets instead of the previous ones.

        Open connections cannot subscribe to them.

        Raises:
            ValueError: the number is out of range.
        """
        if not 0 <= count <= LARGEST_CROWD:
            raise ValueError(f"A crowd must have 0 to {LARGEST_CROWD} members, not {count}.")
        if not FEW_LEVELS <= levels <= MOST_LEVELS:
            raise ValueError(f"A crowd's depth event must have {FEW_LEVELS} to {MOST_LEVELS} levels, not {levels}.")
        members = self.listing.set_crowd(count)
        self._crowd = Sources(build_crowd(members, self.seed, levels))
        self.set_scenario(self.scenario)

    def set_contracts(self, count: int) -> None:
        """List `count` additional cheap perpetuals instead of the previous ones.

        Raises:
            ValueError: the number is out of range.
        """
        self.futures.set_crowd(count)

    def set_replay(self, folder: Path | None, speed: float = 1) -> list[str]:
        """Replay the recordings of a folder at `speed` times their original speed. None ends the replay.

        The price history of a recorded asset leads to its first recorded trade. Orders are deleted.

        Raises:
            ValueError: the recordings cannot be replayed.
        """
        if not speed > 0:
            raise ValueError(f"The speed of a replay must be above 0, not {speed}.")
        recordings = {} if folder is None else read_recordings(folder, self.listing.symbols)
        begun_ms, symbols = self.now_ms(), self.listing.symbols
        self._anchors = anchors({symbols[name]: recording for name, recording in recordings.items()}, begun_ms)
        self._replays = {
            name: Replay(symbols[name], recording, begun_ms, speed) for name, recording in recordings.items()
        }
        self.set_scenario(self.scenario)
        return list(self._replays)

    def _set_sources(self) -> None:
        self.stage.market.sources = self._crowd | self._replays
        self.futures.follow(self.stage.market, wild=self.stage.wild)
        self.said = Said(REMEMBERED_EVENTS)

    def record(self, request: ReceivedRequest) -> None:
        """Add a request to the log. A full log drops its older half."""
        self.requests.append(request)
        if len(self.requests) > REMEMBERED_REQUESTS:
            del self.requests[: REMEMBERED_REQUESTS // 2]
