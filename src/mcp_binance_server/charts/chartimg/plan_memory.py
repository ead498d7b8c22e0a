"""The chart-img.com plan in use: configured, learned from answers, or assumed."""

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_binance_server.charts.config import DEFAULT_SIZE
from mcp_binance_server.charts.plans import PLANS, Plan, Usage, cheapest_plan, plan_of_limits
from mcp_binance_server.clock import Clock

PlanSource = Literal["requested", "configured", "learned", "assumed"]
KEPT_MS: Final = 24 * 60 * 60 * 1000
_RESOLUTION: Final = re.compile(r"Resolution Limit \((\d{2,5})x(\d{2,5})\)")
_PARAMETERS: Final = re.compile(r"Parameter Limit \((\d{1,4})\)")


@dataclass(frozen=True, slots=True)
class PlanInUse:
    """A plan and its source.

    A plan with `binds` is known to be the key's plan. Otherwise it is a lower bound: chart-img.com may allow more.
    """

    plan: Plan
    source: PlanSource
    binds: bool = True

    @property
    def default_size(self) -> tuple[int, int]:
        """Default size of a chart in pixels."""
        return self.plan.default_size(DEFAULT_SIZE) if self.binds else DEFAULT_SIZE

    @property
    def limit(self) -> Plan | None:
        """The plan as a hard limit, or None if it is only a lower bound."""
        return self.plan if self.binds else None


@dataclass
class PlanMemory:
    """Plan limits learned from the service's answers and kept for a day.

    Learned limits override the settings. Without a key no plan limit applies.
    """

    clock: Clock
    configured: Plan | None = None
    has_key: bool = True
    _size: tuple[int, int] | None = field(default=None, init=False)
    _parameters: int | None = field(default=None, init=False)
    _drawn: Usage | None = field(default=None, init=False)
    _good_until_ms: float = field(default=0, init=False)

    def learn(self, refusal: str) -> bool:
        """Learn the limit named by a refusal. Return False if the refusal names no limit."""
        size, parameters = _RESOLUTION.search(refusal), _PARAMETERS.search(refusal)
        if size is None and parameters is None:
            return False
        self._forget_if_old()
        self._drawn = None
        if size is not None:
            self._size = (int(size[1]), int(size[2]))
        if parameters is not None:
            self._parameters = int(parameters[1])
        self._good_until_ms = self.clock.monotonic_ms() + KEPT_MS
        return True

    def learn_drawn(self, drawn: Usage) -> None:
        """Raise the known lower bound of the plan's limits if the service has drawn a larger chart."""
        self._forget_if_old()
        if not self.current().plan.exceeded_by(drawn):
            return
        before = self._drawn or drawn
        most = (max(pair) for pair in zip(_measures(before), _measures(drawn), strict=True))
        self._drawn = Usage(*most, drawings=0)
        self._size = self._parameters = None
        self._good_until_ms = self.clock.monotonic_ms() + KEPT_MS

    def current(self) -> PlanInUse:
        """Return the plan in use now."""
        self._forget_if_old()
        if self._drawn is not None:
            return PlanInUse(cheapest_plan(self._drawn) or PLANS["ENTERPRISE"], "learned", binds=False)
        if self._size is not None or self._parameters is not None:
            width, height = self._size or (None, None)
            return PlanInUse(
                plan_of_limits(width, height, parameters=self._parameters, known=self.configured), "learned"
            )
        if self.configured is not None:
            return PlanInUse(self.configured, "configured", binds=self.has_key)
        return PlanInUse(PLANS["BASIC"], "assumed", binds=False)

    def _forget_if_old(self) -> None:
        if self.clock.monotonic_ms() >= self._good_until_ms:
            self._size = self._parameters = self._drawn = None


def _measures(usage: Usage) -> tuple[int, int, int]:
    return usage.width, usage.height, usage.count
