// One series of the library for the price and one for every plot: how it looks, and the points it is given.

import {
  AreaSeries, BarSeries, BaselineSeries, CandlestickSeries, HistogramSeries, LineSeries, LineStyle,
} from 'lightweight-charts';
import { decimalsOf, numberFormat } from './axis.js';
import { Shade } from './bands.js';
import { BREAKS, CLOSE, HIGH, LOW, OPEN, TEXTS, TIME, TINTS } from './bars.js';

const STYLES = {
  candle: CandlestickSeries, hollowCandle: CandlestickSeries, heikinAshi: CandlestickSeries, bar: BarSeries,
  line: LineSeries, area: AreaSeries, baseline: BaselineSeries,
};
const CURVES = ['line', 'area', 'baseline'];
const KINDS = ['line', 'columns', 'dots'];
const SOURCES = {
  open: [OPEN], high: [HIGH], low: [LOW], hl2: [HIGH, LOW], hlc3: [HIGH, LOW, CLOSE], ohlc4: [OPEN, HIGH, LOW, CLOSE],
};
const TRANSPARENT = 'rgba(0, 0, 0, 0)';
const VOLUME_TOP = 0.82; // of the price pane

export const seconds = (ms) => ms / 1000;

// The library's range of a scale, so wide that values are in it too.
export function reaching(info, values) {
  if (!info?.priceRange) return info;
  const { minValue, maxValue } = info.priceRange;
  return { ...info, priceRange: { minValue: Math.min(minValue, ...values), maxValue: Math.max(maxValue, ...values) } };
}

export class PriceSeries {
  constructor(data, axis) {
    this.data = data;
    this.axis = axis;
    this.isKnown = data.style in STYLES;
    this.isCurve = CURVES.includes(data.style);
  }

  addTo(chart, colours) {
    this.series = chart.addSeries(STYLES[this.data.style] ?? CandlestickSeries, this.#options(colours));
  }

  look(colours) {
    this.series.applyOptions(this.#options(colours));
  }

  // What overrides say of the price goes before the theme.
  #options(colours) {
    const look = { ...colours, ...this.data.price };
    const { up, down, line } = look;
    const [upBody, downBody] = look.draw_body === false ? [TRANSPARENT, TRANSPARENT] : [up, down];
    this.colours = { up, down };
    return {
      priceFormat: this.axis.format, lineWidth: Math.min(4, Math.round(look.line_width ?? 2)),
      upColor: upBody, downColor: downBody, color: line, lineColor: line,
      borderUpColor: look.border_up ?? up, borderDownColor: look.border_down ?? down,
      wickUpColor: look.wick_up ?? up, wickDownColor: look.wick_down ?? down,
      borderVisible: look.draw_border ?? true, wickVisible: look.draw_wick ?? true,
      topColor: look.fill_top ?? `${line}52`, bottomColor: look.fill_bottom ?? `${line}05`,
      ...(this.data.style === 'baseline' ? this.#baseline(look) : {}),
    };
  }

  #baseline(look) {
    const lows = this.data.rows.map((row) => Number(row[LOW]));
    const highs = this.data.rows.map((row) => Number(row[HIGH]));
    const lowest = Math.min(...lows);
    const price = lowest + (look.base ?? 0.5) * (Math.max(...highs) - lowest);
    const [above, below] = [look.base_fill_up ?? `${look.up}33`, look.base_fill_down ?? `${look.down}33`];
    return {
      baseValue: { type: 'price', price: this.axis.of(price) },
      topLineColor: look.up, topFillColor1: above, topFillColor2: above,
      bottomLineColor: look.down, bottomFillColor1: below, bottomFillColor2: below,
    };
  }

  point(rows, place) {
    const row = rows[place];
    const time = seconds(row[TIME]);
    if (this.isCurve) return { time, value: this.axis.of(this.#curve(row)) };
    const [open, high, low, close] = [OPEN, HIGH, LOW, CLOSE].map((part) => this.axis.of(Number(row[part])));
    const bar = { time, open, high, low, close };
    return this.data.style === 'hollowCandle' ? { ...bar, ...this.#hollow(rows, place) } : bar;
  }

  #curve(row) {
    const parts = SOURCES[this.data.price?.source] ?? [CLOSE];
    return parts.reduce((sum, part) => sum + Number(row[part]), 0) / parts.length;
  }

  // A hollow candle says two things: filled or not by its own body, its colour by the close before.
  #hollow(rows, place) {
    const [row, before] = [rows[place], rows[place - 1]];
    const rose = Number(row[CLOSE]) >= Number(row[OPEN]);
    const isUp = before ? Number(row[CLOSE]) >= Number(before[CLOSE]) : rose;
    const ink = isUp ? this.colours.up : this.colours.down;
    return { color: rose ? TRANSPARENT : ink, borderColor: ink, wickColor: ink };
  }
}

export class PlotSeries {
  constructor(plot, place, data, axis) {
    this.plot = plot;
    this.place = place;
    this.data = data;
    this.axis = axis;
    this.isKnown = KINDS.includes(plot.kind);
    this.isPrice = plot.pane === 0 && !plot.is_volume;
  }

  addTo(chart) {
    const { plot } = this;
    const kind = plot.kind === 'columns' ? HistogramSeries : LineSeries;
    this.series = chart.addSeries(kind, this.#options(), plot.pane);
    if (plot.is_volume) this.series.priceScale().applyOptions({ scaleMargins: { top: VOLUME_TOP, bottom: 0 } });
    if (plot.levels?.length) this.#addLevels(plot.levels);
  }

  #addLevels(levels) {
    const values = levels.map(({ value }) => (this.isPrice ? this.axis.of(value) : value));
    levels.forEach(({ colour }, place) => {
      const look = { color: colour, lineWidth: 1, lineStyle: LineStyle.Dashed, axisLabelVisible: false };
      this.series.createPriceLine({ price: values[place], ...look });
    });
    if (!this.isPrice) this.series.applyOptions({ autoscaleInfoProvider: (own) => reaching(own(), values) });
    if (this.plot.shade) this.series.attachPrimitive(new Shade(values, this.plot.shade));
  }

  #options() {
    const { plot } = this;
    const options = {
      color: plot.colours[0], lineWidth: Math.min(4, Math.max(1, Math.round(plot.width))),
      priceLineVisible: false, lastValueVisible: false, crosshairMarkerVisible: false,
      priceFormat: this.#format(),
    };
    if (plot.is_volume) return { ...options, priceScaleId: 'volume' };
    if (plot.kind !== 'dots') return options;
    return { ...options, lineVisible: false, pointMarkersVisible: true, pointMarkersRadius: Math.max(1, plot.width) };
  }

  #format() {
    if (this.isPrice) return this.axis.format;
    const texts = this.data.rows.map((row) => row[TEXTS][this.place]).filter((text) => text !== null);
    const decimals = [...new Set(texts.map(decimalsOf))];
    // Volumes have as many digits as they have; other numbers have the same everywhere.
    return decimals.length > 1 || this.plot.is_volume ? { type: 'volume' } : numberFormat(decimals[0] ?? 0);
  }

  setAll(rows) {
    this.series.setData(this.#points(rows));
    this.#labelLast(rows);
  }

  put(rows, place, isOld) {
    this.series.update(this.point(rows, place), isOld || this.#reachesAhead);
    this.#labelLast(rows);
  }

  // On the axis stands what a line says of the last bar, not of an earlier or a later one.
  #labelLast(rows) {
    const text = rows.at(-1)[TEXTS][this.place];
    const lastValueVisible = !this.plot.is_volume && !this.#reachesAhead && text !== null;
    if (this.series.options().lastValueVisible !== lastValueVisible) this.series.applyOptions({ lastValueVisible });
  }

  // All points, those ahead of the last bar too.
  #points(rows) {
    const last = rows.at(-1)[TIME];
    const known = rows.map((_, place) => this.point(rows, place));
    const ahead = (this.plot.ahead ?? []).map((text, place) => {
      const time = seconds(last + (place + 1) * this.data.step_ms);
      return text === null ? { time } : { time, value: this.value(text) };
    });
    return [...known, ...ahead];
  }

  get #reachesAhead() {
    return (this.plot.ahead ?? []).length > 0;
  }

  point(rows, place) {
    const row = rows[place];
    const text = row[TEXTS][this.place];
    const time = seconds(row[TIME]);
    if (text === null || text === undefined) return { time }; // a gap, not a zero
    const color = this.#colour(row, rows[place + 1]);
    return { time, value: this.value(text), ...(color && { color }) };
  }

  value(text) {
    return this.isPrice ? this.axis.of(Number(text)) : Number(text);
  }

  // The library draws a line over a gap: the piece that leads into one, or to where it begins anew, is not seen.
  #colour(row, next) {
    const { colours, kind } = this.plot;
    const isCut = next && (next[TEXTS][this.place] === null || next[BREAKS][this.place]);
    if (kind === 'line' && isCut) return TRANSPARENT;
    return colours.length > 1 ? colours[row[TINTS][this.place] ?? 0] : undefined;
  }
}
