"""Construction of chart configurations from words, and their validation."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from mcp_binance_server.charts.catalogue import ChartCatalogue, bundled_catalogue
from mcp_binance_server.charts.chartimg.plan_memory import PlanInUse, PlanMemory
from mcp_binance_server.charts.dialect.symbol import is_binance_spot
from mcp_binance_server.charts.plans import PLANS, doubts, key_needed, usage_of
from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.domain.symbols import SymbolTable
from mcp_binance_server.errors import EngineUnavailable, ExchangeError, RateLimited
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.state.flight import Flights

if TYPE_CHECKING:
    from mcp_binance_server.charts.language.construct import Construction
    from mcp_binance_server.charts.language.preferences import Preferences
    from mcp_binance_server.charts.language.understanding import Knowledge
if TYPE_CHECKING:
    from mcp_binance_server.charts.validate import ConfigVerdict


LOG = logging.getLogger(__name__)
# Longest wait for the symbol list, in ms. Loading continues for later requests.
LONGEST_WAIT_MS: Final = 300


@dataclass
class ChartLanguageService:
    """Reader of chart descriptions. Its index of the exchange's symbols is cached until the symbols change."""

    directory: Directory
    time: ServerTime
    plans: PlanMemory
    flights: Flights[SymbolTable]
    catalogue: Callable[[], ChartCatalogue] = bundled_catalogue
    _arranged: "tuple[ChartCatalogue, SymbolTable | None, Knowledge] | None" = field(
        default=None, init=False, repr=False
    )

    async def construct(self, text: str, preferences: "Preferences | None" = None) -> "Construction":
        """Turn words into a chart's configuration.

        Raises:
            InvalidArguments: the text is empty, too long, or names no market.
        """
        # Imported lazily: a server without charts should not start slower.
        from mcp_binance_server.charts.language.construct import construct  # noqa: PLC0415

        knowledge = await self._knowledge(await self._symbols())
        now = moment_of(self.time.now_ms())
        in_use = self.plans.current()
        made = construct(text, now=now, knowledge=knowledge, preferences=preferences, plan=in_use.limit)
        made = replace(made, warnings=(*made.warnings, *self._obstacles(made.config, in_use)))
        LOG.debug("chart constructed: %s; %d warnings", made.reasoning, len(made.warnings))
        return made

    def _obstacles(self, config: Mapping[str, object], in_use: PlanInUse) -> tuple[str, ...]:
        """Return the reasons why a chart cannot be drawn, in the validator's words."""
        if not self.plans.has_key:
            symbol = config.get("symbol")
            return () if is_binance_spot(symbol) else (key_needed(str(symbol)),)
        return () if in_use.binds else doubts(usage_of(config, in_use.default_size), in_use.plan)

    async def _symbols(self) -> SymbolTable | None:
        # Words can be read without the symbol list. Then every pair is marked as unverified.
        clock, found = self.directory.clock, self.directory.loaded
        async with anyio.create_task_group() as waiting:

            async def load() -> None:
                nonlocal found
                with suppress(ExchangeError, RateLimited, EngineUnavailable):
                    found = await self.flights.join("symbols", self.directory.table, lock_ms=self._longest_ms)
                waiting.cancel_scope.cancel()

            waiting.start_soon(load)
            await clock.sleep_until_ms(clock.monotonic_ms() + LONGEST_WAIT_MS)
            waiting.cancel_scope.cancel()
        return found

    @property
    def _longest_ms(self) -> int:
        return self.directory.caller.longest_ms(EXCHANGE_INFO)

    async def _knowledge(self, table: SymbolTable | None) -> "Knowledge":
        from mcp_binance_server.charts.language.understanding import Knowledge  # noqa: PLC0415

        catalogue = self.catalogue()
        if self._arranged is None or self._arranged[0] is not catalogue or self._arranged[1] is not table:
            # This indexes thousands of names by all of their words. It runs in a thread, so that other requests do not
            # wait.
            known = await anyio.to_thread.run_sync(Knowledge.of, catalogue, table)
            self._arranged = (catalogue, table, known)
        return self._arranged[2]


@dataclass(frozen=True, slots=True)
class JudgedChart:
    """A verdict, and the chart-img.com plan that it is based on."""

    verdict: "ConfigVerdict"
    by: PlanInUse


@dataclass(frozen=True, slots=True)
class ChartValidationService:
    """Validation by the requested plan, or by this server's plan. The symbol list is used if it is loaded."""

    directory: Directory
    time: ServerTime
    plans: PlanMemory
    draws_jpeg: bool
    catalogue: Callable[[], ChartCatalogue] = bundled_catalogue

    def validate(self, config: Mapping[str, object], plan_level: str | None = None) -> JudgedChart:
        """Return the problems of a configuration with their fixes."""
        # Imported lazily: a server without charts should not start slower.
        from mcp_binance_server.charts.validate import Conditions, validate_chart  # noqa: PLC0415

        catalogue = self.catalogue()
        by = self.plans.current()
        if plan_level is not None:
            by = PlanInUse(catalogue.plans.get(plan_level) or PLANS[plan_level], "requested")
        conditions = Conditions(
            plan=by.plan,
            now=moment_of(self.time.now_ms()),
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
