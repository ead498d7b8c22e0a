"""Pictures drawn by chart-img.com."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_binance_server.charts.catalogue import ChartCatalogue, bundled_catalogue
from mcp_binance_server.charts.chartimg.client import ChartImgClient
from mcp_binance_server.charts.errors import InvalidChartConfig
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.state.flight import Flights

if TYPE_CHECKING:
    from mcp_binance_server.charts.render.spec import LegendRow

ImageFormat = Literal["png", "jpeg"]

MINUTE_MS: Final = 60_000
# Half a minute for the requested size and half a minute for a size that fits the plan, with a margin, in ms.
LONGEST_MS: Final = 70_000


@dataclass(frozen=True, slots=True)
class ChartOrder:
    """A configuration in either dialect, the storage option, and the time of the request."""

    config: Mapping[str, object]
    storage: bool
    format: ImageFormat | None
    now: datetime

    @property
    def wants_jpeg(self) -> bool:
        """Whether the `format` argument, or else the configuration, asks for a JPEG."""
        return str(self.format or self.config.get("format")).casefold() in {"jpeg", "jpg"}


@dataclass(frozen=True, slots=True)
class ChartImage:
    """An image or its URL, its renderer, and warnings for the user. A warning is a "code: sentence".

    The legend in words has the time of its candles. `legend_note` names the sources of a legend and a picture that
    differ. `status` is chart-img.com's HTTP status. It is 0 without a request or an answer.
    """

    renderer: Literal["chart-img", "local"]
    format: ImageFormat
    width: int
    height: int
    at_ms: int
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()
    data: bytes | None = field(default=None, repr=False)
    url: str | None = None
    svg_url: str | None = None
    expires_at: str | None = None
    status: int = 0
    images_left: int | None = None
    bars: int | None = None
    last_bar_closed: bool | None = None
    legend: "tuple[LegendRow, ...]" = ()
    legend_note: str = ""
    as_of_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Translated:
    """The request body, and notes about it for the user."""

    body: Mapping[str, object]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemoteCharts:
    """Drawing by chart-img.com."""

    client: ChartImgClient
    time: ServerTime
    flights: Flights[ChartImage]
    catalogue: Callable[[], ChartCatalogue] = bundled_catalogue

    @property
    def has_key(self) -> bool:
        return self.client.has_key

    def translated(self, order: ChartOrder) -> Translated | InvalidChartConfig:
        """Return the request body, or all problems of the configuration."""
        # Imported lazily: a server without charts should not start slower.
        from mcp_binance_server.charts.wire import to_wire  # noqa: PLC0415

        try:
            wire = to_wire(
                order.config,
                catalogue=self.catalogue(),
                now=order.now,
                image_format=order.format,
                default_size=self.client.plans.current().default_size,
            )
        except InvalidChartConfig as problem:
            return problem
        return Translated(wire.body, wire.notes)

    def over_plan(self, order: ChartOrder) -> str | None:
        """Return by how much the chart exceeds the key's plan.

        Return None if it does not, or if the key may allow more than the plan.
        """
        from mcp_binance_server.charts.plans import usage_of  # noqa: PLC0415

        in_use = self.client.plans.current()
        usage = usage_of(order.config, in_use.default_size)
        if not in_use.binds or not in_use.plan.exceeded_by(usage):
            return None
        return f"{usage.resolution} with {usage.count} studies and drawings exceeds the {in_use.plan.name} plan"

    async def draw(self, order: ChartOrder, asked: Translated) -> ChartImage:
        """Draw the chart at chart-img.com. Concurrent equal requests share one image.

        Raises:
            ChartServiceError: chart-img.com did not draw the chart.
            InvalidChartConfig: chart-img.com rejected the configuration.
        """
        # A range that ends now has a different end in every request. So the key has the range as requested.
        same = {**asked.body, "range": order.config.get("range"), "storage": order.storage}
        key = f"{self.time.now_ms() // MINUTE_MS} {msgspec.json.encode(same, order='deterministic').decode()}"
        post = self._stored if order.storage else self._drawn
        image = await self.flights.join(key, lambda: post(asked.body), lock_ms=LONGEST_MS)
        return replace(image, warnings=(*asked.notes, *image.warnings))

    async def _drawn(self, body: Mapping[str, object]) -> ChartImage:
        drawn = await self.client.draw(body)
        return ChartImage(
            renderer="chart-img",
            format=drawn.image.format,
            width=drawn.image.width,
            height=drawn.image.height,
            at_ms=self.time.now_ms(),
            warnings=drawn.warnings,
            data=drawn.data,
            status=drawn.status,
            images_left=drawn.images_left,
        )

    async def _stored(self, body: Mapping[str, object]) -> ChartImage:
        stored = await self.client.store(body)
        return ChartImage(
            renderer="chart-img",
            format="jpeg" if body["format"] == "jpeg" else "png",
            width=stored.width,
            height=stored.height,
            at_ms=self.time.now_ms(),
            warnings=stored.warnings,
            url=stored.url,
            expires_at=stored.expires_at,
            status=stored.status,
            images_left=stored.images_left,
        )
