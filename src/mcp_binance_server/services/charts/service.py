"""Chart images: from chart-img.com if key, plan and symbol allow it, otherwise drawn locally."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import msgspec

from mcp_binance_server.charts.errors import ChartKeyRefused, ChartServiceError, InvalidChartConfig
from mcp_binance_server.charts.pictures import KEPT_MS, MISSING, JpegEncoder, Pictures
from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.errors import AppError, EngineUnavailable, ExchangeError, RateLimited
from mcp_binance_server.services.charts.bars import ChartBars
from mcp_binance_server.services.charts.local import LocalCharts
from mcp_binance_server.services.charts.remote import ChartImage, ChartOrder, ImageFormat, RemoteCharts, Translated

if TYPE_CHECKING:
    from mcp_binance_server.charts.spec import LocalChart

LOG = logging.getLogger(__name__)

# Fields that the local renderer can refuse while chart-img.com accepts them.
_SERVICE_ONLY: Final = frozenset({"symbol", "interval"})
# Longest wait for the legend of a picture that is already drawn.
_LEGEND_SECS: Final = 5.0
OUR_VALUES: Final = (
    "Picture drawn by chart-img.com from TradingView's data; values computed by this server from Binance's candles."
)
NO_VALUES: Final = "Picture drawn by chart-img.com from TradingView's data; this server has no values for it."


# Dashed, so that they differ from drawn levels.
OWN_LOOKS: Final = {"lineStyle": 2, "horzLabelAlign": "left"}


@dataclass(frozen=True, slots=True)
class OwnLine:
    """A price of the caller's account: an open order, its trigger, or the average price."""

    price: Decimal
    text: str


@dataclass(frozen=True, slots=True)
class ChartingService:
    """Choice between the two renderers. The answer names the renderer and the reason."""

    remote: RemoteCharts
    local: LocalCharts
    pictures: Pictures
    jpeg: JpegEncoder | None
    bars: ChartBars
    sends_links: bool = False
    """Whether a client gets the address of a picture, and the picture itself only if it asks for its data."""

    async def image(
        self, config: Mapping[str, object], *, storage: bool = False, image_format: ImageFormat | None = None
    ) -> ChartImage:
        """Draw a configuration.

        Raises:
            InvalidChartConfig: no renderer can draw the configuration.
            InvalidSymbol: the chart is drawn locally, and Binance does not list the pair.
            ChartServiceError: only chart-img.com could draw the chart, and it failed.
            ChartNotDrawn: the local renderer failed.
        """
        order = ChartOrder(config, storage, image_format, moment_of(self._now_ms()))
        there, here = self.remote.translated(order), self._drawable(order)
        if isinstance(here, InvalidChartConfig):
            return await self._drawn_there_only(order, there, here)
        if not self.remote.has_key:
            return await self._drawn_here(order, here, "no CHART_IMG_API_KEY is set")
        if isinstance(there, InvalidChartConfig):
            return await self._drawn_here(order, here, f"chart-img.com would reject it: {_told(there)}")
        if reason := self.remote.over_plan(order):
            return await self._drawn_here(order, here, reason)
        try:
            return await self._drawn_there(order, there, here)
        except (ChartServiceError, InvalidChartConfig) as failure:
            return await self._drawn_instead(order, here, failure)

    async def with_own_lines(
        self, config: Mapping[str, object], lines: Sequence[OwnLine], *, image_format: ImageFormat | None = None
    ) -> ChartImage:
        """Draw a configuration with lines of the caller's account.

        The picture is drawn locally, shared with no other caller, and not stored.

        Raises:
            InvalidChartConfig: the local renderer cannot draw the configuration.
        """
        from mcp_binance_server.charts.render.spec import Anchor, DrawingSpec  # noqa: PLC0415 - as in `_drawable`

        order = ChartOrder(config, storage=False, format=image_format, now=moment_of(self._now_ms()))
        chart = self._drawable(order)
        if isinstance(chart, InvalidChartConfig):
            raise chart
        drawn = [
            DrawingSpec("Horizontal Line", (Anchor(price=float(each.price)),), each.text, override=OWN_LOOKS)
            for each in lines
        ]
        spec = replace(chart.spec, drawings=(*chart.spec.drawings, *drawn))
        own = "your orders are not sent to others"
        return await self._drawn_here(order, replace(chart, spec=spec), own, is_private=True)

    async def picture(self, uri: str) -> bytes:
        """Return a stored picture.

        Raises:
            PictureGone: the picture is not stored any more.
        """
        return await self.pictures.read(uri)

    def _drawable(self, order: ChartOrder) -> "LocalChart | InvalidChartConfig":
        # Imported lazily: a server without charts should not start slower.
        from mcp_binance_server.charts.spec import to_spec  # noqa: PLC0415

        try:
            return to_spec(order.config, catalogue=self.remote.catalogue(), now=order.now)
        except InvalidChartConfig as problem:
            return problem

    async def _drawn_there_only(
        self, order: ChartOrder, there: Translated | InvalidChartConfig, here: InvalidChartConfig
    ) -> ChartImage:
        if isinstance(there, InvalidChartConfig):
            raise there
        if self.remote.has_key:
            return await self._drawn_there(order, there, None)
        if {each["field"] for each in here.details} <= _SERVICE_ONLY:
            raise ChartKeyRefused(details=here.details)
        raise here

    async def _drawn_there(self, order: ChartOrder, asked: Translated, here: "LocalChart | None") -> ChartImage:
        image = await self.remote.draw(order, asked)
        network = self.local.network.source
        if network == "mainnet" or not str(asked.body["symbol"]).startswith("BINANCE:"):
            return await self._worded(image, order, asked, here)
        warning = f"other_market: chart-img.com draws the real market; all other data of this server is from {network}"
        return await self._worded(replace(image, warnings=(*image.warnings, warning)), order, asked, None)

    async def _worded(
        self, image: ChartImage, order: ChartOrder, asked: Translated, here: "LocalChart | None"
    ) -> ChartImage:
        """Add a legend to a picture of chart-img.com, with values from Binance's candles if it has them."""
        # Imported lazily, as in `_drawable`.
        from mcp_binance_server.charts.render.legend import legend_rows  # noqa: PLC0415
        from mcp_binance_server.charts.render.spec import LegendRow  # noqa: PLC0415

        if here is not None:
            try:
                with anyio.fail_after(_LEGEND_SECS):
                    reading = await self.bars.read(order.config)
            except (AppError, TimeoutError) as failure:
                LOG.info("no values for a chart of chart-img: %s", type(failure).__name__)
            else:
                known = {each.name for each in here.spec.studies}
                others = (LegendRow(each, "") for each in _labels(asked.body, known))
                rows = (*legend_rows(reading.request), *others)
                return replace(image, legend=rows, legend_note=OUR_VALUES, as_of_ms=reading.as_of_ms)
        labels = (f"{asked.body['symbol']} {asked.body.get('interval', '')}".rstrip(), *_labels(asked.body))
        return replace(image, legend=tuple(LegendRow(each, "") for each in labels), legend_note=NO_VALUES)

    async def _drawn_instead(
        self, order: ChartOrder, chart: "LocalChart", failure: ChartServiceError | InvalidChartConfig
    ) -> ChartImage:
        # A rejection is final unless it concerns the symbol: the service does not know every Binance pair.
        if isinstance(failure, InvalidChartConfig) and {each["field"] for each in failure.details} != {"symbol"}:
            raise failure
        if order.wants_jpeg and self.jpeg is None:
            raise failure
        LOG.info("chart drawn locally, not by chart-img: %s", failure.error_type)
        try:
            image = await self._drawn_here(order, chart, f"chart-img.com did not draw it: {_told(failure)}")
        except (ExchangeError, RateLimited):
            raise failure from None
        status = 422 if isinstance(failure, InvalidChartConfig) else failure.http_status
        return replace(image, status=status or 0)

    async def _drawn_here(
        self, order: ChartOrder, chart: "LocalChart", reason: str, *, is_private: bool = False
    ) -> ChartImage:
        if order.wants_jpeg and self.jpeg is None:
            raise InvalidChartConfig(details=({"field": "format", "message": MISSING},))
        picture = await self.local.draw(chart, is_private=is_private)
        rendered, meta = picture.rendered, picture.rendered.meta
        data = rendered.png
        if order.wants_jpeg and self.jpeg is not None:
            data = await anyio.to_thread.run_sync(self.jpeg, data, limiter=self.local.composing)
        image = ChartImage(
            renderer="local",
            format="jpeg" if order.wants_jpeg else "png",
            width=meta.width,
            height=meta.height,
            at_ms=picture.at_ms,
            warnings=(*chart.warnings, *rendered.warnings),
            notes=(f"Drawn by this server: {reason}.",),
            data=data,
            bars=meta.bars,
            last_bar_closed=meta.last_bar_closed,
            legend=meta.legend,
            as_of_ms=meta.as_of_ms,
        )
        return await self._kept(image, rendered.svg.encode()) if order.storage else image

    async def _kept(self, image: ChartImage, svg: bytes) -> ChartImage:
        data = image.data or b""
        if not (self.pictures.takes(data) and self.pictures.takes(svg)):
            return _not_kept(image, "it is too large; ask for a smaller one")
        try:
            url, svg_url = await self.pictures.keep(data, image.format), await self.pictures.keep(svg, "svg")
        except EngineUnavailable as failure:
            return _not_kept(image, failure.message)
        expires = moment_of(self._now_ms() + KEPT_MS)
        return replace(
            image,
            url=url,
            svg_url=svg_url,
            expires_at=f"{expires.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z",
            warnings=(
                *image.warnings,
                "kept_here: imageUrl is not a web address: this server keeps the picture for an hour as a resource",
            ),
        )

    def _now_ms(self) -> int:
        return self.remote.time.now_ms()


def _labels(body: Mapping[str, object], known: Collection[str] = ()) -> Iterator[str]:
    """Yield the names of a body's studies with their inputs, except the known ones."""
    from mcp_binance_server.charts.spec import BodyStudy  # noqa: PLC0415 - as in `_drawable`

    for each in msgspec.convert(body.get("studies", ()), tuple[BodyStudy, ...]):
        if each.name not in known:
            yield " ".join([each.name, *map(str, each.input.values())])


def _not_kept(image: ChartImage, reason: str) -> ChartImage:
    return replace(image, warnings=(*image.warnings, f"not_kept: the picture has no address: {reason}"))


def _told(failure: ChartServiceError | InvalidChartConfig) -> str:
    said = failure.data()["explanation"] if isinstance(failure, InvalidChartConfig) else failure.message
    return str(said).rstrip(".")
