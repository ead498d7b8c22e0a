"""Tool that draws a chart."""

import sys
from base64 import b64encode
from dataclasses import replace
from typing import Any, Literal

import msgspec
from mcp import types
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from mcp_binance_server.charts.config import MY_ORDERS
from mcp_binance_server.charts.dialect.symbol import binance_pair
from mcp_binance_server.domain.access import Scope
from mcp_binance_server.domain.money import written
from mcp_binance_server.services.charts.remote import ChartImage, ImageFormat
from mcp_binance_server.services.charts.service import OwnLine
from mcp_binance_server.surface.caller import reporting
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.charts.arguments import ChartArguments
from mcp_binance_server.surface.tools.charts.facts import CAMEL
from mcp_binance_server.surface.tools.rows import Row, omitted, optional
from mcp_binance_server.surface.uris import CHART_VIEW
from mcp_binance_server.surface.views.markdown import DOLLAR_LIKE, instant

CHART_KEY = "mcp-binance-server/chart"
MOST_META = 2_000  # bytes


class GenerateChartImage(ChartArguments):
    model_config = ConfigDict(alias_generator=to_camel)

    storage: bool = Field(default=False, description="Return a link, no picture")
    format: ImageFormat | None = optional("png if left out")
    include_data: bool = Field(default=False, description="Also imageData (base64), for programs")


class ImageMetadata(Row):
    model_config = CAMEL

    format: str
    resolution: str
    generated_at: str
    expires_at: str | None = omitted()
    renderer: Literal["chart-img", "local"]
    bars: int | None = omitted()
    last_bar_closed: bool | None = omitted()
    warnings: list[str]


class ApiResponse(Row):
    model_config = CAMEL

    status_code: int
    """0 if the service was not asked."""
    rate_limit_remaining: int | None = omitted()


class ImageAnswer(Answer):
    """Data about a picture, sent as text. Clients hide a picture from the model if its answer has structured data."""

    model_config = CAMEL

    image_url: str | None = omitted()
    image_data: str | None = omitted()
    metadata: ImageMetadata
    api_response: ApiResponse


def image_answer(image: ChartImage) -> ImageAnswer:
    return ImageAnswer(
        notes=list(image.notes),
        image_url=image.url,
        metadata=ImageMetadata(
            format=image.format.upper(),
            resolution=f"{image.width}x{image.height}",
            generated_at=instant(image.at_ms),
            expires_at=image.expires_at,
            renderer=image.renderer,
            bars=image.bars,
            last_bar_closed=image.last_bar_closed,
            warnings=list(image.warnings),
        ),
        api_response=ApiResponse(status_code=image.status, rate_limit_remaining=image.images_left),
    )


def attachments(image: ChartImage) -> tuple[types.ContentBlock, ...]:
    """Return links to a stored picture, or else the picture as content to show."""
    attached: list[types.ContentBlock] = []
    if image.data is not None and image.url is None:
        attached.append(types.ImageContent(data=base64_of(image.data), mime_type=f"image/{image.format}"))
    for uri, kind in ((image.url, f"image/{image.format}"), (image.svg_url, "image/svg+xml")):
        if uri is not None:
            attached.append(types.ResourceLink(uri=uri, name=uri.rpartition("/")[2], mime_type=kind))
    return tuple(attached)


def base64_of(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def chart_meta(image: ChartImage, config: dict[str, Any]) -> dict[str, Any]:
    """Return metadata for the live chart's page: the legend, and the configuration unless it is too long."""
    legend = [{"name": row.name, "values": row.values} for row in image.legend]
    facts: dict[str, Any] = {
        "renderer": image.renderer,
        "as_of_ms": image.at_ms if image.as_of_ms is None else image.as_of_ms,
        **({"legend": legend} if legend else {}),
        "config": config,
    }
    meta = {CHART_KEY: facts}
    if _size(meta) > MOST_META:
        del facts["config"]  # the page can read the configuration from the call
    while _size(meta) > MOST_META:
        legend.pop()
    return meta


def _size(meta: dict[str, Any]) -> int:
    try:
        return len(msgspec.json.encode(meta))
    except (TypeError, UnicodeEncodeError):
        return sys.maxsize


def scope_of_chart(arguments: ChartArguments) -> Scope:
    """Return the scope of a chart: with the caller's orders it reads an account."""
    return "account:read" if arguments.configuration.get(MY_ORDERS) else "market:read"


async def own_lines(context: Context, config: dict[str, Any]) -> list[OwnLine]:
    """Return the prices of the caller's open orders, and the average price of what is held."""
    pair = binance_pair(str(config.get("symbol")))
    rules = await context.market.rules(pair.symbol if pair else str(config.get("symbol")))
    orders, judged = (await context.orders.open(rules.symbol)).orders, await context.portfolio.judged()
    profit = await context.profit.of(judged.valued, [rules.symbol])
    lines: list[OwnLine] = []
    for each in orders:
        named = f"{each.side} {written(each.remaining)} {rules.base} {each.kind}"
        lines += [OwnLine(each.price, named)] if each.price else []
        lines += [OwnLine(each.stop_price, f"trigger of {named}")] if each.stop_price else []
    average = next((each.average_price for each in profit.assets if each.asset == rules.base), None)
    if average and rules.quote in DOLLAR_LIKE:
        lines.append(OwnLine(average, f"average price of your {rules.base}"))
    return lines


async def _drawn(context: Context, arguments: GenerateChartImage, *, is_kept: bool) -> ChartImage:
    config = arguments.configuration
    if not config.get(MY_ORDERS):
        return await context.charting.image(config, storage=is_kept, image_format=arguments.format)
    lines = await own_lines(context, config)
    image = await context.charting.with_own_lines(config, lines, image_format=arguments.format)
    notes = [*image.notes, *([] if lines else ["You have no open order and no average price on this pair."])]
    kept = ("not_kept: a picture with your orders gets no address",) if is_kept else ()
    return replace(image, notes=tuple(notes), warnings=(*image.warnings, *kept))


async def generate_chart_image(context: Context, arguments: GenerateChartImage) -> ToolAnswer:
    words_only = context.charting.sends_links and not arguments.include_data
    is_kept = arguments.storage or words_only
    image = await reporting(context.progress, "drawing the chart", lambda: _drawn(context, arguments, is_kept=is_kept))
    answer = image_answer(image)
    structured = None
    if arguments.include_data:
        data = None if image.data is None else base64_of(image.data)
        structured = answer.model_copy(update={"image_data": data})
    said = [row.said for row in image.legend]
    said += [] if image.as_of_ms is None else [f"as of {instant(image.as_of_ms)}"]
    said += [image.legend_note] if image.legend_note else []
    text = "\n".join([*said, answer.model_dump_json()])
    # Clients that pass pictures to the model as text also fail at links: the text has the address.
    attached = () if words_only else attachments(image)
    return ToolAnswer(text, structured, attached, meta=chart_meta(image, arguments.configuration))


GENERATE_CHART_IMAGE = ToolSpec(
    name="generate_chart_image",
    title="Draw a chart",
    description=(
        "Draws a chart: by chart-img.com, or locally for Binance spot pairs. Use it after construct_chart_config; "
        "show the user the warnings. Not for numbers (get_klines, get_indicators)."
    ),
    arguments=GenerateChartImage,
    answer=None,
    run=generate_chart_image,
    scope_of_call=scope_of_chart,
    loads=(
        "mcp_binance_server.charts.spec",
        "mcp_binance_server.charts.wire",
        "mcp_binance_server.charts.render.chart",
        "mcp_binance_server.charts.render.spec",
    ),
    read_only=True,
    toolset="charts",
    slow=True,
    view=CHART_VIEW,
)
