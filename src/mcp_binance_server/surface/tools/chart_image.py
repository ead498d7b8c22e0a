"""The tool that draws a chart."""

import json
from base64 import b64encode
from typing import Any, Literal

from mcp import types
from pydantic import ConfigDict, Field

from mcp_binance_server.services.chart_image import ChartImage, ImageFormat
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.progress import reporting
from mcp_binance_server.surface.spec import Answer, Arguments, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.chart_facts import CAMEL
from mcp_binance_server.surface.tools.rows import Row, omitted, optional
from mcp_binance_server.surface.views.markdown import instant


class GenerateChartImage(Arguments):
    config: dict[str, Any] = Field(description="Chart config")
    storage: bool = Field(default=False, description="Return a URL")
    format: ImageFormat | None = optional("png if left out")


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

    status_code: int = Field(description="0: not asked")
    rate_limit_remaining: int | None = omitted()


def _failure_too(schema: dict[str, Any]) -> None:
    schema["properties"]["error"] = {"type": "string"}


class ImageAnswer(Answer):
    model_config = CAMEL | ConfigDict(json_schema_extra=_failure_too)

    image_url: str | None = omitted()
    image_data: str | None = omitted()
    metadata: ImageMetadata
    api_response: ApiResponse


def image_answer(image: ChartImage) -> ImageAnswer:
    has_data = image.url is None and image.data is not None
    return ImageAnswer(
        image_url=image.url,
        image_data=b64encode(image.data or b"").decode("ascii") if has_data else None,
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
    """Return the picture for whoever looks, and links to those kept here for whoever fetches them later."""
    attached: list[types.ContentBlock] = []
    if image.data is not None:
        data = b64encode(image.data).decode("ascii")
        attached.append(types.ImageContent(data=data, mime_type=f"image/{image.format}"))
    if image.url is not None and image.svg_url is not None:
        for uri, kind in ((image.url, "image/png"), (image.svg_url, "image/svg+xml")):
            attached.append(types.ResourceLink(uri=uri, name=uri.rpartition("/")[2], mime_type=kind))
    return tuple(attached)


async def generate_chart_image(context: Context, arguments: GenerateChartImage) -> ToolAnswer:
    image = await reporting(
        context.progress,
        "drawing the chart",
        lambda: context.charting.image(arguments.config, storage=arguments.storage, image_format=arguments.format),
    )
    answer = image_answer(image)
    # The image block carries the picture: in words it would only fill a model's context.
    said = answer.model_dump(mode="json", exclude={"image_data"})
    return ToolAnswer(json.dumps(said, separators=(",", ":"), ensure_ascii=False), answer, attachments(image))


GENERATE_CHART_IMAGE = ToolSpec(
    name="generate_chart_image",
    title="Draw a chart",
    description=(
        "Draws a chart: by chart-img.com, or here for Binance spot pairs. Use it after construct_chart_config; tell "
        "the user the warnings. Not for numbers (get_klines, get_indicators)."
    ),
    arguments=GenerateChartImage,
    answer=ImageAnswer,
    run=generate_chart_image,
    read_only=True,
    toolset="charts",
    slow=True,
)
