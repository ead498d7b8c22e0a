"""Charts judged before they are drawn; nothing here asks the network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from mcp_binance_server.charts.catalogue import ChartCatalogue, bundled_catalogue
from mcp_binance_server.charts.plan_memory import PlanInUse, PlanMemory
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.exchange.directory import Directory
from mcp_binance_server.exchange.server_time import ServerTime

if TYPE_CHECKING:
    from mcp_binance_server.charts.validate import ConfigVerdict

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class JudgedChart:
    """A verdict, and the plan it was reached by."""

    verdict: "ConfigVerdict"
    by: PlanInUse


@dataclass(frozen=True, slots=True)
class ChartValidationService:
    """Judges by the plan a caller names or this server has, and by the symbol list if it happens to be loaded."""

    directory: Directory
    time: ServerTime
    plans: PlanMemory
    draws_jpeg: bool
    catalogue: Callable[[], ChartCatalogue] = bundled_catalogue

    def validate(self, config: Mapping[str, object], plan_level: str | None = None) -> JudgedChart:
        """Say what is wrong with a configuration and what would mend it."""
        # Loaded late: a server whose user draws nothing should not start slower for it.
        from mcp_binance_server.charts.validate import Conditions, validate_chart  # noqa: PLC0415

        catalogue = self.catalogue()
        by = self.plans.current()
        if plan_level is not None:
            by = PlanInUse(catalogue.plans.get(plan_level) or PLANS[plan_level], "requested")
        conditions = Conditions(
            plan=by.plan,
            now=_EPOCH + timedelta(milliseconds=self.time.now_ms()),
            asked=plan_level is not None,
            binds=by.binds,
            drawn_here=not self.plans.has_key,
            draws_jpeg=self.draws_jpeg,
            is_listed=self._is_listed,
        )
        return JudgedChart(validate_chart(config, catalogue=catalogue, conditions=conditions), by)

    def _is_listed(self, pair: str) -> bool | None:
        table = self.directory.loaded
        return None if table is None else table.find(pair) is not None
