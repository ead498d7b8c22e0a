"""The simulated exchange: one seed, one clock, one account, and a scenario on stage."""

from dataclasses import dataclass

from mcp_binance_server.clock import Clock
from mcp_binance_server.simulator.account import DemoAccount
from mcp_binance_server.simulator.faults import Faults
from mcp_binance_server.simulator.hub import Hub
from mcp_binance_server.simulator.limits import WeightMeter
from mcp_binance_server.simulator.listing import Listing
from mcp_binance_server.simulator.scenario import SCENARIOS, Stage

WEIGHT_LIMIT = 6000
REMEMBERED_REQUESTS = 20_000


@dataclass(slots=True)
class ReceivedRequest:
    """One API request as it arrived, and how it was answered; status 0 while there is no answer."""

    method: str
    path: str
    params: dict[str, str]
    signed: bool
    at_ms: int
    status: int = 0
    weight: int = 0


class SimulatedExchange:
    """State shared by all requests; the market itself is a function of seed and time."""

    def __init__(self, clock: Clock, *, seed: int = 7, scenario: str = "market") -> None:
        self.clock = clock
        self.seed = seed
        self.skew_ms = 0
        self.account = DemoAccount(seed)
        self.faults = Faults()
        self.hub = Hub()
        self.meter = WeightMeter(WEIGHT_LIMIT)
        self.requests: list[ReceivedRequest] = []
        self.listing = Listing()
        self.stage: Stage
        self.scenario: str
        self.set_scenario(scenario)

    @property
    def weight_limit(self) -> int:
        return self.meter.limit

    @weight_limit.setter
    def weight_limit(self, limit: int) -> None:
        self.meter.limit = limit

    def now_ms(self) -> int:
        """Return the exchange's time, which may be skewed."""
        return self.clock.now_ms() + self.skew_ms

    def set_scenario(self, name: str) -> None:
        """Change the stage; requests, weights and faults stay.

        Raises:
            ValueError: there is no such scenario.
        """
        if name not in SCENARIOS:
            raise ValueError(f"There is no scenario {name!r}; there are {', '.join(SCENARIOS)}.")
        self.stage = SCENARIOS[name](self.listing, self.seed, self.now_ms())
        self.scenario = name

    def record(self, request: ReceivedRequest) -> None:
        """Remember a request; the oldest are forgotten when there are very many."""
        self.requests.append(request)
        if len(self.requests) > REMEMBERED_REQUESTS:
            del self.requests[: REMEMBERED_REQUESTS // 2]
