"""Painting order of a chart: background, legends, grids, series, axes, tags, and the notes of drawings."""

from collections.abc import Sequence
from datetime import UTC, tzinfo

from mcp_binance_server.charts.render.canvas import Canvas, width_of
from mcp_binance_server.charts.render.crosses import cross_sketch
from mcp_binance_server.charts.render.drawings.plans import draw, out_of_view
from mcp_binance_server.charts.render.layout import Box, Layout, lay_out, text_scale
from mcp_binance_server.charts.render.legend import Row, draw_legend, height_of, last_value, price_legend, study_row
from mcp_binance_server.charts.render.marks import (
    Strip,
    Tag,
    draw_corner,
    draw_grid,
    draw_note,
    draw_numbers,
    draw_tags,
    draw_time_tag,
    draw_times,
)
from mcp_binance_server.charts.render.request import Request
from mcp_binance_server.charts.render.scale import TimeLabel, moment, moment_words, time_labels, zone_label, zone_of
from mcp_binance_server.charts.render.scaling import (
    VOLUME,
    AxisSpan,
    price_axis,
    price_span,
    price_ticks,
    study_axis,
    study_span,
    study_ticks,
)  # fmt: skip
from mcp_binance_server.charts.render.series.plots import draw_levels, draw_study, draw_volume
from mcp_binance_server.charts.render.series.price import CURVES, draw_price
from mcp_binance_server.charts.render.series.volume_profile import draw_profile
from mcp_binance_server.charts.render.stage import Sketch, Stage
from mcp_binance_server.charts.render.study_look import StudyView

PRICE_LINE = "2 3"
TIME_SPACING = 8.0  # multiple of the font size
FONT_SIZE = 12  # of the scales, unless another one is asked for
MOST_LACKING = 20  # characters named in a warning


class Painter:
    """Painter of a chart, from back to front: background, legends, grids, panes, axes, tags, notes."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.warnings: list[str] = []
        spec = request.spec
        self.canvas = Canvas(spec.width, spec.height)
        self._scale = text_scale(spec.width)
        self._size = spec.looks.font_size * (self._scale if spec.looks.font_size == FONT_SIZE else 1.0)
        self._span = price_span(request)
        self._study_spans = [study_span(view, request.decimals) for view in request.panes]
        self._layout = self._laid_out()
        zone = zone_of(spec.timezone)
        if zone is None:
            self.warnings.append(f"unknown_timezone: {spec.timezone} is unknown; times are in UTC.")
        self._zone: tzinfo = zone or UTC
        spacing = max(95.0, self._size * TIME_SPACING)
        grid = self._layout.grid
        if grid.slot < 1 and spec.style not in CURVES:
            self.warnings.append(
                f"dense_bars: {len(request.bars)} bars share {len(set(grid.centres))} pixel columns; to see each bar,"
                " use a wider picture, a longer interval or style line."
            )
        self._times: list[TimeLabel] = time_labels(request.bars.times, grid.centres, self._zone, spacing)

    def paint(self) -> None:
        theme, spec = self.request.theme, self.request.spec
        self.canvas.rects([(0, 0, spec.width, spec.height)], theme.paper)
        if spec.looks.symbol_watermark:
            self._watermark()
        tags, sketches = self._price_pane()
        pane_tags = [self._study_pane(index) for index in range(len(self.request.panes))]
        self._borders()
        self._axis(0, tags)
        for index, study_tags in enumerate(pane_tags):
            self._axis(index + 1, study_tags)
        self._time_axis(sketches)
        self._notes(sketches)
        if lacking := "".join(self.canvas.lacking):
            shown = lacking[:MOST_LACKING]
            self.warnings.append(f"no_glyph: the picture's typeface has no {shown}; each is shown as ?.")

    def _laid_out(self) -> Layout:
        spec, request = self.request.spec, self.request
        labels = [label for span in (self._span, *self._study_spans) for label in span.labels]
        return lay_out(
            spec.width, spec.height, axis_width=max(width_of(label, self._size) for label in labels) + 18,
            axis_height=round(self._size + 14), bars=len(request.bars), future=request.future,
            panes=len(request.panes), main_height=spec.looks.main_pane_height,
        )  # fmt: skip

    def _price_pane(self) -> tuple[list[Tag], list[Sketch]]:
        request, looks, canvas = self.request, self.request.spec.looks, self.canvas
        pane = self._layout.panes[0]
        rows, unnamed = price_legend(request, pane)
        if unnamed:
            self.warnings.append(f"no_room: the legend has no room for {', '.join(unnamed)}; use a taller picture.")
        area, boxes = self._legend(pane, rows)
        axis = price_axis(request, self._span, pane, area)
        stage = Stage(canvas, request.theme, self._layout.grid, request.bars, axis, area)
        self._main = stage
        self._ticks = [(axis, price_ticks(request, axis, area), self._span)]
        self._grid(pane, stage, self._ticks[0][1], boxes)
        behind = [drawing for drawing in request.spec.drawings if not drawing.on_top]
        above = [drawing for drawing in request.spec.drawings if drawing.on_top]
        self.warnings += [
            f"drawing_out_of_view: the {drawing.name} is outside the prices or times shown."
            for drawing in request.spec.drawings
            if out_of_view(drawing, stage)
        ]
        canvas.clip(area)
        sketches, remarks = draw(stage, behind, self._span.write)
        self.warnings += remarks
        if request.volume and request.volume.plots[0].visible:
            draw_volume(stage, request.volume.plots[0], pane.height * VOLUME)
        if request.profile:
            draw_profile(stage, request.profile)
        draw_price(stage, request.spec.style, request.price)
        for view in (*request.overlays, *request.compared):
            draw_study(stage, view)
        crossed = cross_sketch(stage, request)
        last = request.real.closes[-1]
        tone = request.price.body[not request.real.rose(-1)]
        if looks.price_line:
            row = axis.row(last) + 0.5
            canvas.lines([(area.left, row, area.right, row)], tone, 1, PRICE_LINE)
        more, remarks = draw(stage, above, self._span.write)
        canvas.unclip()
        self.warnings += remarks
        sketches += [*more, crossed]
        tags = [tag for sketch in sketches for tag in sketch.tags]
        if looks.series_last_value:
            tags.append(Tag(axis.y(last), self._span.write(last), tone, rank=0))
        busiest = request.profile.poc if request.profile else None
        if looks.study_last_value and request.profile and busiest is not None:
            tags.append(Tag(axis.y(busiest), self._span.write(busiest), request.profile.poc_ink, rank=3))
        if looks.study_last_value:
            tags += self._study_tags((*request.overlays, *request.compared), stage, self._span)
        return tags, sketches

    def _study_pane(self, index: int) -> list[Tag]:
        request, view, span = self.request, self.request.panes[index], self._study_spans[index]
        pane = self._layout.panes[index + 1]
        rows = [study_row(request, view, pane.width - 24)] if request.spec.looks.legend else []
        area, boxes = self._legend(pane, rows)
        axis = study_axis(span, area)
        stage = Stage(self.canvas, request.theme, self._layout.grid, request.bars, axis, area)
        ticks = study_ticks(view, span, area, self._size)
        self._ticks.append((axis, ticks, span))
        self._grid(pane, stage, [] if view.levels else ticks, boxes)
        self.canvas.clip(area)
        draw_levels(stage, view)
        draw_study(stage, view)
        self.canvas.unclip()
        return self._study_tags([view], stage, span) if request.spec.looks.study_last_value else []

    def _legend(self, pane: Box, rows: Sequence[Row]) -> tuple[Box, list[Box]]:
        boxes = draw_legend(self.canvas, rows, pane.top, pane.width - 24)
        top = pane.top + height_of(rows) if pane is self._layout.panes[0] else pane.top + 24 * self._scale * bool(rows)
        return Box(pane.left, top, pane.right, pane.bottom), boxes

    def _grid(self, pane: Box, stage: Stage, ticks: Sequence[float], boxes: Sequence[Box]) -> None:
        looks = self.request.spec.looks
        rows = [round(stage.axis.y(tick)) + 0.5 for tick in ticks] if looks.horizontal_grid else []
        columns = [stage.grid.centres[label.bar] for label in self._times] if looks.vertical_grid else []
        draw_grid(self.canvas, self.request.theme.grid, pane, rows=rows, columns=columns, legend=boxes)

    def _study_tags(self, views: Sequence[StudyView], stage: Stage, span: AxisSpan) -> list[Tag]:
        return [
            Tag(stage.axis.y(value), span.write(value), look.ink, rank=3)
            for view in views
            for look in view.plots
            if look.visible and look.kind == "line"
            and (value := last_value(view, look, len(self.request.bars))) is not None
        ]  # fmt: skip

    def _borders(self) -> None:
        layout, spec, theme = self._layout, self.request.spec, self.request.theme
        self.canvas.rects(
            [
                (layout.plot_right, 0, 1, layout.axis_top),
                (0, layout.axis_top, spec.width, 1),
                *((0, pane.top - 1, spec.width, 1) for pane in layout.panes[1:]),
            ],
            theme.axis,
        )

    def _axis(self, index: int, tags: Sequence[Tag]) -> None:
        pane = self._layout.panes[index]
        box = Box(self._layout.plot_right, pane.top, self.request.spec.width, pane.bottom)
        if left_out := draw_tags(self.canvas, tags, box, self._size):
            self.warnings.append(f"no_room: the axis has no room for the values {', '.join(left_out)}.")
        axis, ticks, span = self._ticks[index]
        draw_numbers(Strip(self.canvas, self.request.theme, box, self._size), axis, ticks, span.write)

    def _time_axis(self, sketches: Sequence[Sketch]) -> None:
        layout, spec, theme = self._layout, self.request.spec, self.request.theme
        below = Box(0, layout.axis_top + 1, layout.plot_right, spec.height)
        strip = Strip(self.canvas, theme, below, self._size)
        for sketch in sketches:
            for x, time_ms, ink in sketch.time_tags:
                draw_time_tag(strip, x, moment_words(time_ms, self._zone), ink)
        draw_times(strip, self._times, layout.grid.centres)
        last = self.request.bars.times[-1]
        corner = Box(layout.plot_right, layout.axis_top + 1, spec.width, spec.height)
        text = f"{moment(last, self._zone).year} · {zone_label(self._zone, last)}"
        draw_corner(Strip(self.canvas, theme, corner, min(self._size, 11.0 * self._scale)), text)

    def _notes(self, sketches: Sequence[Sketch]) -> None:
        for sketch in sketches:
            for note in sketch.notes:
                if not draw_note(self.canvas, note, self._main.area):
                    self.warnings.append(f"no_room: the text {note.text!r} had no free place and was left out.")

    def _watermark(self) -> None:
        pane, text = self._layout.panes[0], f"{self.request.spec.symbol}, {self.request.spec.interval}"
        size = min(64.0, pane.width / max(1.0, width_of(text, 1.0, bold=True)) * 0.6)
        middle = (pane.left + pane.right) / 2
        self.canvas.watermark(middle, pane.bottom / 2 + size / 3, text, size, self.request.theme.level.faded(0.15))
