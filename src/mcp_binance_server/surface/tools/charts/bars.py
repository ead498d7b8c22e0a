"""Tool that gives the live chart's page its bars."""

from pydantic import ConfigDict

from mcp_binance_server.charts.config import MY_ORDERS
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.charts.arguments import ChartArguments
from mcp_binance_server.surface.tools.rows import optional
from mcp_binance_server.surface.views.markdown import instant

NOT_LIVE = "not_live: your orders are in the picture only."


class GetChartBars(ChartArguments):
    since: int | None = optional("Open time in ms: bars from there on")


class BarsAnswer(Answer):
    """Bars of a chart.

    Further members come from charts/render/bars.py. The schema omits them, because only the page reads them.
    """

    model_config = ConfigDict(extra="allow")

    as_of: str
    as_of_ms: int
    last_bar_closed: bool


async def get_chart_bars(context: Context, arguments: GetChartBars) -> ToolAnswer:
    # Imported late, so that a server without charts starts faster.
    from mcp_binance_server.charts.render.bars import live_members, whole_members  # noqa: PLC0415
    from mcp_binance_server.charts.render.spec import LegendRow  # noqa: PLC0415

    reading = await context.chart_bars.read(arguments.configuration)
    members = live_members(reading.request, arguments.since)
    if arguments.since is None:
        whole = whole_members(reading.request)
        own = [NOT_LIVE] if arguments.configuration.get(MY_ORDERS) else []
        members |= {**whole, "is_over": reading.is_over, "warnings": [*reading.warnings, *whole["warnings"], *own]}
    said = [LegendRow(**row).said for row in members["legend"]]
    told = f"{len(members['rows'])} bars for the chart's page as of {instant(reading.as_of_ms)}."
    answer = BarsAnswer(
        as_of=instant(reading.as_of_ms),
        as_of_ms=reading.as_of_ms,
        last_bar_closed=reading.last_bar_closed,
        **members,
    )
    return ToolAnswer("\n".join([told, *said]), answer)


GET_CHART_BARS = ToolSpec(
    name="get_chart_bars",
    title="Bars of the chart view",
    description="For the chart view only. Not for you: call generate_chart_image, get_klines or get_indicators.",
    arguments=GetChartBars,
    answer=None,
    run=get_chart_bars,
    loads=(
        "mcp_binance_server.charts.spec",
        "mcp_binance_server.charts.render.request",
        "mcp_binance_server.charts.render.bars",
    ),
    read_only=True,
    toolset="charts",
    for_view_only=True,
)
