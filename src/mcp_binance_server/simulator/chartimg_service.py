"""The state of the simulated chart-img: its key, the plan of that key, what it used, and what it stored."""

import hashlib
import string
from functools import cached_property

from mcp_binance_server.clock import Clock
from mcp_binance_server.simulator.chartimg_facts import Facts, PlanFact, read_facts
from mcp_binance_server.simulator.chartimg_page import documentation
from mcp_binance_server.simulator.noise import draws

DAY_MS = 86_400_000
ALPHABET = string.ascii_letters + string.digits
STORED_IMAGES = 64


class ChartImgRefusal(Exception):
    """A request answered with a status and a message, or a list of problems."""

    def __init__(self, status: int, body: object) -> None:
        super().__init__(str(body))
        self.status = status
        self.body = body


def refusal(status: int, message: str) -> ChartImgRefusal:
    return ChartImgRefusal(status, {"message": message})


class SimulatedChartImg:
    """One key on one plan; `page` replaces the documentation, `tells_remaining` adds a header nobody documents."""

    def __init__(self, clock: Clock, seed: int) -> None:
        self.clock = clock
        self.seed = seed
        self.api_key = "".join(ALPHABET[draw % len(ALPHABET)] for draw in draws(40, seed, "chart-img key"))
        self.plan_name = "PRO"
        self.daily_limit: int | None = None
        self.page: str | None = None
        self.tells_remaining = False
        self.bodies: list[dict[str, object]] = []
        self.stored: dict[str, tuple[bytes, str]] = {}
        self._day: int = 0
        self._used_today = 0
        self._tokens = 0.0
        self._counted_at_ms: float | None = None

    @cached_property
    def facts(self) -> Facts:
        return read_facts()

    @cached_property
    def documentation(self) -> str:
        return documentation(self.facts)

    @property
    def plan(self) -> PlanFact:
        return self.facts.plans[self.plan_name]

    @property
    def remaining(self) -> int:
        """Return how many images today still allows."""
        self._turn_day()
        return max(0, (self.plan.daily_max if self.daily_limit is None else self.daily_limit) - self._used_today)

    def admit(self, key: str) -> None:
        """Let a request in.

        Raises:
            ChartImgRefusal: the key is wrong, or requests come too fast.
        """
        if key != self.api_key:
            raise refusal(401, "Invalid Request")
        now_ms = self.clock.monotonic_ms()
        full = float(self.plan.burst)
        if self._counted_at_ms is None:
            self._tokens = full
        else:
            passed_secs = (now_ms - self._counted_at_ms) / 1000
            self._tokens = min(full, self._tokens + passed_secs * self.plan.requests_per_second)
        self._counted_at_ms = now_ms
        if self._tokens < 1:
            raise refusal(429, "Too Many Requests")
        self._tokens -= 1

    def count_image(self) -> None:
        """Book one image of the day.

        Raises:
            ChartImgRefusal: the day is used up.
        """
        if self.remaining < 1:
            raise refusal(429, "Limit Exceeded")
        self._used_today += 1

    def store(self, image: bytes, content_type: str) -> tuple[str, str]:
        """Keep an image; return its name and its etag."""
        etag = hashlib.sha256(image).hexdigest()[:32]
        name = f"{etag}.{content_type.removeprefix('image/')}"
        self.stored[name] = (image, content_type)
        if len(self.stored) > STORED_IMAGES:
            del self.stored[next(iter(self.stored))]
        return name, etag

    def _turn_day(self) -> None:
        day = self.clock.now_ms() // DAY_MS
        if day != self._day:
            self._day, self._used_today = day, 0
