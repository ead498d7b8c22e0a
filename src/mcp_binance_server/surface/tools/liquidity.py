"""Tools that read where volume was traded, and where hardly any was."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from mcp_binance_server.analytics.envelope import Basis, Metric
from mcp_binance_server.analytics.liquidity.report import StopPrice, VacuumReport
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.analytics.tuning import plain_number
from mcp_binance_server.domain.money import Price
from mcp_binance_server.errors import InvalidArguments
from mcp_binance_server.surface.arguments import Arguments, DecimalText
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import MeasuredAnswer, Pair, measured, optional
from mcp_binance_server.surface.views.liquidity import profile_line, vacuum_line
from mcp_binance_server.surface.views.markdown import exact, volume

A_TENTH = 0.1


class GetVolumeProfile(Arguments):
    symbol: Pair
    duration_hours: Annotated[int, Field(ge=1, le=168)] = 24
    tick_size: DecimalText | None = optional("Price range of one bin, e.g. '50'; by the range if left out")
    rows: Literal[1, 2] | None = optional("Rows by which the value area grows; one, unless it is set otherwise")


def profile_metrics(report: ProfileReport) -> dict[str, Metric]:
    """Return the profile's levels and its bins, lowest first."""
    profile, tick, why = report.profile, report.rules.tick, report.profile.why_null
    bins = [
        {"low": exact(each.low, tick), "high": exact(each.high, tick), "volume": volume(each.volume)}
        for each in profile.bins
    ]
    away = report.percent_from_poc

    def level(price: Price | None, method: str | None = None) -> Metric:
        return Metric(value=None if price is None else exact(price, tick), unit="quote", why_null=why, method=method)

    return {
        "poc": level(profile.poc, profile.source),
        "vah": level(profile.vah, profile.method),
        "val": level(profile.val, profile.method),
        "value_area_share": Metric(
            value=None if profile.area_share is None else round(profile.area_share, 4), unit="ratio", why_null=why
        ),
        "bin_size": level(profile.bin_size),
        "current_vs_poc_pct": Metric(
            value=None if away is None else round(away, 3),
            unit="percent",
            why_null="no_trades" if away is None else None,
        ),
        "place": Metric(value=report.place, why_null="no_trades" if report.place is None else None),
        "bins": Metric(value=bins or None, unit="base", why_null=why),
    }


async def get_volume_profile(context: Context, arguments: GetVolumeProfile) -> ToolAnswer:
    bin_size = None if arguments.tick_size is None else Price(Decimal(arguments.tick_size))
    if bin_size is not None and not bin_size:
        problem = {"argument": "tick_size", "problem": "must be more than 0"}
        raise InvalidArguments(summary="Invalid arguments for get_volume_profile: tick_size", errors=(problem,))
    report = await context.profiles.profile(
        arguments.symbol, arguments.duration_hours, bin_size=bin_size, rows=arguments.rows
    )
    basis = Basis(
        window=report.window,
        requested_ms=report.requested_ms,
        n={"trades" if report.source == "aggTrades" else "bars": report.profile.n},
        coverage=report.coverage,
        source=(report.source,),
        as_of_ms=report.window.to_ms,
        age_ms=max(0, report.now_ms - report.window.to_ms),
    )
    return measured(context, report.rules, basis, profile_metrics(report), profile_line(report))


GET_VOLUME_PROFILE = ToolSpec(
    name="get_volume_profile",
    title="Volume profile",
    description=(
        "Traded volume of one pair by price: the busiest price (POC) and the value area (VAL to VAH). Use it for "
        "levels of hours to a week. Not for orders that still stand (get_order_book)."
    ),
    arguments=GetVolumeProfile,
    answer=MeasuredAnswer,
    run=get_volume_profile,
    read_only=True,
    toolset="analysis",
    live=True,
)


class GetLiquidityVacuums(Arguments):
    symbol: Pair
    lookback_minutes: Annotated[int, Field(ge=5, le=1440)] = 30
    percentile: Annotated[int, Field(ge=1, le=50)] | None = optional(
        "Call bins below this percentile thin, not those far below the median"
    )


def _rule(report: VacuumReport) -> str:
    fraction = report.thresholds.vacuum_fraction
    named = "a_tenth" if fraction == A_TENTH else plain_number(fraction)
    return f"below_{named}_of_the_median_bin"


def vacuum_metrics(report: VacuumReport, percentile: int | None) -> dict[str, Metric]:
    """Return the vacuums, low to high, whether the price is in one, and where stops are out of the way."""
    tick, found, price, around = report.rules.tick, report.found, report.price, report.around
    vacuums = None
    if found.vacuums is not None:
        vacuums = [
            {
                "low": exact(each.low, tick),
                "high": exact(each.high, tick),
                "severity": each.severity,
                "deficit": round(each.deficit, 4),
                "distance_pct": None if price is None else round(each.distance_percent(price), 3),
            }
            for each in found.vacuums
        ]
    rule = _rule(report) if percentile is None else f"below_percentile_{percentile}"
    inside = None if vacuums is None or price is None else around is not None
    stops = report.stops
    return {
        "vacuums": Metric(value=vacuums, why_null=found.why_null, method=rule),
        "inside_vacuum": Metric(value=inside, why_null=(found.why_null or "no_trades") if inside is None else None),
        "stop_guidance": Metric(
            value=None if stops is None else {"long": _stop(stops.long, tick), "short": _stop(stops.short, tick)},
            unit="quote",
            why_null="no_trades" if stops is None else None,
            method="0.2 % beyond the nearest vacuum or wall, else 2 %",
        ),
    }


def _stop(stop: StopPrice, tick: Price) -> dict[str, str | None]:
    edge = None if stop.edge is None else exact(stop.edge, tick)
    return {"price": exact(stop.price, tick), "from": stop.origin, "edge": edge}


async def get_liquidity_vacuums(context: Context, arguments: GetLiquidityVacuums) -> ToolAnswer:
    report = await context.liquidity.vacuums(arguments.symbol, arguments.lookback_minutes, arguments.percentile)
    basis = Basis(
        window=report.window,
        requested_ms=report.requested_ms,
        n={"trades": report.trades, "bins": report.found.bins},
        coverage=report.coverage,
        source=(report.source,),
        as_of_ms=report.window.to_ms,
        age_ms=max(0, report.now_ms - report.window.to_ms),
    )
    return measured(context, report.rules, basis, vacuum_metrics(report, arguments.percentile), vacuum_line(report))


GET_LIQUIDITY_VACUUMS = ToolSpec(
    name="get_liquidity_vacuums",
    title="Liquidity vacuums",
    description=(
        "Price ranges of one pair where hardly anything was traded, and stops that stay out of them. Use it before "
        "placing a stop. Not for the cost of an order now (estimate_slippage)."
    ),
    arguments=GetLiquidityVacuums,
    answer=MeasuredAnswer,
    run=get_liquidity_vacuums,
    read_only=True,
    toolset="analysis",
    live=True,
)
