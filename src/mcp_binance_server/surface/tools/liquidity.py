"""Tools for volume by price, and for price ranges with little trading."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from mcp_binance_server.analytics.liquidity.low_volume import LowVolumeRange
from mcp_binance_server.analytics.liquidity.report import ThinRangeReport
from mcp_binance_server.analytics.liquidity.stops import StopSide
from mcp_binance_server.analytics.liquidity.thin_ranges import SHUFFLES, ThinRange
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.analytics.metric import Basis, Metric
from mcp_binance_server.analytics.score_history import base_rate
from mcp_binance_server.analytics.tuning import plain_number
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.price_reading import PriceReading
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.errors import InvalidArguments
from mcp_binance_server.surface.arguments import Arguments, DecimalText
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import MeasuredAnswer, Pair, measured, optional
from mcp_binance_server.surface.views.liquidity import chance_rule, profile_line, standing_metric, thin_line
from mcp_binance_server.surface.views.markdown import exact, exact_average, instant, span, volume

A_TENTH = 0.1
HOUR_MS = 3_600_000


class GetVolumeProfile(Arguments):
    symbol: Pair
    duration_hours: Annotated[int, Field(ge=1, le=168)] = 24
    tick_size: DecimalText | None = optional("Price range of one bin, e.g. '50'; by the range if left out")
    rows: Literal[1, 2] | None = optional("Rows that each step adds to the value area; default 1 unless configured")


def profile_metrics(report: ProfileReport) -> dict[str, Metric]:
    """Return the levels and bins of a volume profile, lowest price first."""
    profile, tick, why = report.profile, report.rules.tick, report.profile.why_null
    bins = [
        {"low": exact(each.low, tick), "high": exact(each.high, tick), "volume": volume(each.volume)}
        for each in profile.bins
    ]
    away = report.percent_from_poc

    def level(price: Price | None, method: str | None = None) -> Metric:
        return Metric(value=None if price is None else exact(price, tick), unit="quote", why_null=why, method=method)

    return {
        **_price_metrics(report.rules, report.reading),
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


def _price_metrics(rules: SymbolRules, reading: PriceReading | None) -> dict[str, Metric]:
    """Return the reference price for distances. If it is the mid price, also return the last trade."""
    if reading is None:
        return {"price": Metric(value=None, unit="quote", why_null="no_trades")}
    now = exact_average(reading.price, rules.tick)
    if not reading.is_mid:
        return {"price": Metric(value=now, unit="quote", method="last_trade")}
    at = {} if reading.last_ms is None else {"at": instant(reading.last_ms)}
    last = {"price": exact(reading.last, rules.tick), **at}
    return {"price": Metric(value=now, unit="quote", method="mid"), "last_trade": Metric(value=last, unit="quote")}


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
        "levels of hours to a week. Not for open orders (get_order_book)."
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
        "Also list low-volume ranges: bins below this percentile, not tested for chance"
    )
    side: StopSide = Field("long", description="short: a buy-back price above")
    horizon_hours: Annotated[int, Field(ge=1, le=168)] = Field(24, description="Horizon of the stop")
    chance: Annotated[int, Field(ge=1, le=50)] | None = optional("Touches by noise, percent")


def thin_range_metrics(report: ThinRangeReport, percentile: int | None) -> dict[str, Metric]:
    """Return the thinly traded ranges, nearest first.

    Also return whether the price is inside one, and a stop price outside of the noise.
    """
    found, price = report.found, report.price
    inside = None if found.found is None or price is None else report.around is not None
    widest = None
    if found.widest is not None:
        widest = {"sigmas": round(found.widest, 4), "shuffles": found.shuffles, "as_wide": found.as_wide}
    metrics = {
        **_price_metrics(report.rules, report.reading),
        "thin_ranges": Metric(
            value=None if found.found is None else [_thin(report, each) for each in report.nearest_first],
            why_null=found.why_null,
            method=_rule(report),
            p=found.p,
            base_rate=base_rate(0, SHUFFLES) if found.found else None,
        ),
        "widest_run": Metric(value=widest, why_null=found.why_null),
        "inside_thin_range": Metric(value=inside, why_null=(found.why_null or "no_trades") if inside is None else None),
    }
    if percentile is not None:
        metrics["low_volume_ranges"] = Metric(
            value=[_low_volume(report, each) for each in report.low_volume or ()],
            method=f"below_percentile_{percentile}",
        )
    return {**metrics, "standing_size": standing_metric(report.rules, report.standing), **_stop_metrics(report)}


def _thin(report: ThinRangeReport, each: ThinRange) -> dict[str, object]:
    return {
        "low": exact(each.low, report.rules.tick),
        "high": exact(each.high, report.rules.tick),
        "width_sigmas": round(each.deviations, 4),
        "width_spreads": None if each.spreads is None else round(each.spreads, 1),
        "volume": volume(Decimal(repr(each.volume))),
        "of_median": round(each.of_median, 4),
        "distance_pct": None if report.price is None else round(each.distance_percent(report.price), 3),
    }


def _low_volume(report: ThinRangeReport, each: LowVolumeRange) -> dict[str, object]:
    low, high = exact(each.low, report.rules.tick), exact(each.high, report.rules.tick)
    return {"low": low, "high": high, "of_median": None if each.of_median is None else round(each.of_median, 4)}


def _stop_metrics(report: ThinRangeReport) -> dict[str, Metric]:
    stop, noise, tick, why = report.stop.stop, report.stop.noise, report.rules.tick, report.stop.why_null
    if stop is None or noise is None:
        return {"stop_guidance": Metric(value=None, unit="quote", why_null=why)}
    shown = {
        "price": exact(stop.price, tick),
        "from": stop.origin,
        "edge": None if stop.edge is None else exact(stop.edge, tick),
        "distance_pct": round(stop.distance_percent, 3),
        "noise_chance": round(stop.chance, 4),
        "horizon_hours": stop.horizon_ms // HOUR_MS,
    }
    return {
        "stop_guidance": Metric(
            value={"long" if stop.side == "long" else "buy_back_reference": shown},
            unit="quote",
            method="usual move in the horizon, or the distance of chance; at least 3 ticks and 2 spreads; moved "
            f"beyond an obstacle near that distance; noise chance: {chance_rule(noise)}",
        ),
        "usual_move": Metric(
            value=round(noise.over(stop.horizon_ms) * 100, 3),
            unit="percent",
            method=f"Garman-Klass, {noise.bars} bars of {span(noise.bar_ms)}, over {stop.horizon_ms // HOUR_MS} h",
        ),
    }


def _rule(report: ThinRangeReport) -> str:
    fraction = report.thresholds.vacuum_fraction
    named = "a tenth" if fraction == A_TENTH else plain_number(fraction)
    return f"below {named} of the median bin, wider than in {SHUFFLES} shuffles"


async def get_liquidity_vacuums(context: Context, arguments: GetLiquidityVacuums) -> ToolAnswer:
    report = await context.liquidity.thin_ranges(
        arguments.symbol,
        arguments.lookback_minutes,
        arguments.percentile,
        side=arguments.side,
        horizon_ms=arguments.horizon_hours * HOUR_MS,
        chance=None if arguments.chance is None else arguments.chance / 100,
    )
    basis = Basis(
        window=report.window,
        requested_ms=report.requested_ms,
        n={"trades": report.trades, "bins": report.found.bins},
        coverage=report.coverage,
        source=(report.source,),
        as_of_ms=report.window.to_ms,
        age_ms=max(0, report.now_ms - report.window.to_ms),
    )
    return measured(context, report.rules, basis, thin_range_metrics(report, arguments.percentile), thin_line(report))


GET_LIQUIDITY_VACUUMS = ToolSpec(
    name="get_liquidity_vacuums",
    title="Thin traded ranges",
    description=(
        "Price ranges of one pair with hardly any trading, wider than by chance, and a stop outside the noise. "
        "Use it before placing a stop. Not for the cost of an order now (estimate_slippage)."
    ),
    arguments=GetLiquidityVacuums,
    answer=MeasuredAnswer,
    run=get_liquidity_vacuums,
    read_only=True,
    toolset="analysis",
    live=True,
)
