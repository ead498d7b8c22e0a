"""Which plan of chart-img.com this server has: told by the user, learned from a refusal, or assumed."""

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_binance_server.charts.plans import PLANS, Plan, plan_of_limits
from mcp_binance_server.clock import Clock

PlanSource = Literal["requested", "configured", "learned", "assumed"]
KEPT_MS: Final = 24 * 60 * 60 * 1000
_RESOLUTION: Final = re.compile(r"Resolution Limit \((\d{2,5})x(\d{2,5})\)")
_PARAMETERS: Final = re.compile(r"Parameter Limit \((\d{1,4})\)")


@dataclass(frozen=True, slots=True)
class PlanInUse:
    """A plan, and how we know of it."""

    plan: Plan
    source: PlanSource


@dataclass
class PlanMemory:
    """Keeps for a day what a refusal said of the plan; the refusal knows better than the settings."""

    clock: Clock
    configured: Plan | None = None
    _size: tuple[int, int] | None = field(default=None, init=False)
    _parameters: int | None = field(default=None, init=False)
    _good_until_ms: float = field(default=0, init=False)

    def learn(self, refusal: str) -> bool:
        """Take the limit that a refusal names; tell whether it named one."""
        size, parameters = _RESOLUTION.search(refusal), _PARAMETERS.search(refusal)
        if size is None and parameters is None:
            return False
        self._forget_if_old()
        if size is not None:
            self._size = (int(size[1]), int(size[2]))
        if parameters is not None:
            self._parameters = int(parameters[1])
        self._good_until_ms = self.clock.monotonic_ms() + KEPT_MS
        return True

    def current(self) -> PlanInUse:
        """Return the plan to go by now."""
        self._forget_if_old()
        if self._size is not None or self._parameters is not None:
            width, height = self._size or (None, None)
            return PlanInUse(
                plan_of_limits(width, height, parameters=self._parameters, known=self.configured), "learned"
            )
        if self.configured is not None:
            return PlanInUse(self.configured, "configured")
        return PlanInUse(PLANS["BASIC"], "assumed")

    def _forget_if_old(self) -> None:
        if self.clock.monotonic_ms() >= self._good_until_ms:
            self._size = self._parameters = None
