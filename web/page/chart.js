// Draws what the server computed: no indicator and no price text is made here.

import { createChart, CrosshairMode } from 'lightweight-charts';
import { PriceAxis } from './axis.js';
import { Bands } from './bands.js';
import { CLOSE, TIME } from './bars.js';
import { PlotSeries, PriceSeries, reaching, seconds } from './series.js';
import { Shapes } from './shapes.js';

const NARROWEST = 3.5; // pixels of a bar that can be read
const FREE_BARS = 4; // right of the last one
const OWN_PANE = 0.24; // of the height, as in the picture
const ALL_PANES = 0.6;
const BELOW = 0.08;
const BELOW_WITH_VOLUME = 0.22;
const MOST_ABOVE = 0.45; // of a pane for its legend
const LEAST_ABOVE = 0.06;
const REACH = 1; // drawings this many ranges away are still brought into view

export class Chart {
  #element;
  #onHover;
  #chart;
  #price;
  #plots = [];
  #bands = [];
  #shapes = [];
  #ground = { paper: '', above: 0 };
  #cursor;
  #above = new Map();
  #isFitted = true; // until somebody looks elsewhere

  constructor(element, onHover) {
    this.#element = element;
    this.#onHover = onHover;
    for (const kind of ['wheel', 'pointerdown']) {
      element.addEventListener(kind, () => this.#lookElsewhere(), { capture: true, passive: true });
    }
  }

  #lookElsewhere() {
    this.#isFitted = false;
  }

  get isDrawn() {
    return this.#chart !== undefined;
  }

  // The same chart with a newer past keeps its series and what is looked at.
  load(data, history, themeName) {
    const isSame = this.isDrawn && outline(this.data) === outline(data);
    const wasNewest = this.history?.last?.[TIME];
    this.data = data;
    this.history = history;
    this.themeName = themeName;
    if (isSame) {
      this.#renew(wasNewest);
      return;
    }
    this.remove();
    this.#build();
    this.fit();
  }

  #build() {
    const { data } = this;
    this.axis = new PriceAxis(data);
    this.#chart = createChart(this.#element, { autoSize: true, ...this.#look() });
    this.#price = new PriceSeries(data, this.axis);
    this.#price.addTo(this.#chart, this.#colours);
    this.#plots = data.plots.map((plot, place) => new PlotSeries(plot, place, data, this.axis));
    for (const plot of this.#plots) plot.addTo(this.#chart);
    this.#sharePanes();
    this.#setAll();
    this.#addBands();
    this.#addDrawings();
    this.#chart.subscribeCrosshairMove(({ time }) => {
      this.#onHover(time === undefined ? null : this.history.rowAt(time * 1000));
    });
    // Its width is known when it is laid out, another when the frame is, and used by the library a moment later.
    this.#chart.timeScale().subscribeSizeChange(() => requestAnimationFrame(() => {
      if (this.#isFitted) this.fit();
    }));
  }

  #renew(wasNewest) {
    const scale = this.#chart.timeScale();
    const seen = scale.getVisibleLogicalRange();
    const moved = this.history.rows.length - 1 - this.history.placeOf(wasNewest);
    this.data.plots.forEach((plot, place) => Object.assign(this.#plots[place], { plot, data: this.data }));
    for (const bands of this.#bands) bands.history = this.history;
    this.#setAll();
    this.#addDrawings();
    const isAtEnd = seen && seen.to >= this.history.rows.length - 1 - moved;
    const by = isAtEnd ? 0 : -moved;
    if (seen) scale.setVisibleLogicalRange({ from: seen.from + by, to: seen.to + by });
  }

  // What changed, by place; the library must be told of a bar that is not its last one.
  draw({ places, isCut }) {
    if (isCut) this.#setAll();
    else for (const { place, isOld } of places) this.#put(place, isOld);
    for (const bands of this.#bands) bands.changed();
  }

  theme(name) {
    this.themeName = name;
    if (!this.isDrawn) return;
    this.#chart.applyOptions(this.#look());
    this.#price.look(this.#colours);
    this.#setAll();
  }

  // What the page must say because it is not seen.
  get warnings() {
    const found = this.#plots.filter((plot) => !plot.isKnown).map((plot) => `${plot.plot.label}: ${plot.plot.kind}`);
    if (!this.#price.isKnown) found.push(`style ${this.data.style} (drawn as candles)`);
    if (!this.axis.isKnown) found.push(`scale ${this.data.scale} (drawn as regular)`);
    found.push(...this.#shapes.flatMap((shapes) => shapes.unknown));
    return found.map((what) => `not_live: this view cannot draw ${what}`);
  }

  // All bars, or the newest that are wide enough to be read.
  fit() {
    if (!this.isDrawn) return;
    this.#isFitted = true;
    const scale = this.#chart.timeScale();
    const ahead = Math.max(FREE_BARS, this.data.future ?? 0);
    const count = this.history.rows.length;
    const room = Math.floor(scale.width() / NARROWEST) || count;
    scale.setVisibleLogicalRange({ from: Math.max(0, count + ahead - room) - 0.5, to: count - 0.5 + ahead });
  }

  // Elements of the panes from above: the price, then those of the studies.
  get panes() {
    return this.isDrawn ? this.#chart.panes().map((pane) => pane.getHTMLElement()).filter(Boolean) : [];
  }

  // Keeps what is drawn below the words in a pane's corner.
  keepFree(pane, height) {
    const whole = this.panes[pane]?.clientHeight;
    if (!whole) return;
    if (pane === 0) this.#ground.above = height;
    const top = Math.min(MOST_ABOVE, Math.max(LEAST_ABOVE, (height + 6) / whole));
    if (Math.abs(top - (this.#above.get(pane) ?? 0)) < 0.01) return;
    this.#above.set(pane, top);
    this.#chart.priceScale('right', pane).applyOptions({ scaleMargins: { top, bottom: this.#below(pane) } });
  }

  #below(pane) {
    const hasVolume = pane === 0 && this.data.plots.some((plot) => plot.is_volume);
    return hasVolume ? BELOW_WITH_VOLUME : BELOW;
  }

  // The keyboard's crosshair.
  step(by) {
    if (!this.isDrawn) return null;
    const { rows } = this.history;
    const from = this.#cursor === undefined ? rows.length : rows.findLastIndex((row) => row[TIME] <= this.#cursor);
    const row = rows[Math.max(0, Math.min(rows.length - 1, from + by))];
    this.#cursor = row[TIME];
    const value = this.axis.of(Number(row[CLOSE]));
    this.#chart.setCrosshairPosition(value, seconds(row[TIME]), this.#price.series);
    this.#onHover(row);
    return row;
  }

  leave() {
    const wasThere = this.#cursor !== undefined;
    this.#cursor = undefined;
    this.#chart?.clearCrosshairPosition();
    this.#onHover(null);
    return wasThere;
  }

  zoom(factor) {
    this.#lookElsewhere();
    const scale = this.#chart?.timeScale();
    const seen = scale?.getVisibleLogicalRange();
    if (seen) scale.setVisibleLogicalRange({ from: seen.to - (seen.to - seen.from) * factor, to: seen.to });
  }

  remove() {
    this.#chart?.remove();
    this.#chart = undefined;
    this.#plots = [];
    this.#bands = [];
    this.#shapes = [];
    this.#cursor = undefined;
    this.#above.clear();
  }

  get #colours() {
    return this.data.themes[this.themeName];
  }

  #look() {
    const { paper, text, grid, axis, strong } = this.#colours;
    this.#ground.paper = paper;
    const crosshair = { color: text, labelBackgroundColor: axis };
    return {
      // The logo is a link that the library's licence asks for: it is never off.
      layout: {
        background: { color: paper }, textColor: text, fontSize: 11, attributionLogo: true,
        panes: { separatorColor: axis, separatorHoverColor: `${strong}22`, enableResize: true },
      },
      crosshair: { mode: CrosshairMode.Normal, vertLine: crosshair, horzLine: crosshair },
      grid: { vertLines: { color: grid }, horzLines: { color: grid } },
      rightPriceScale: { borderColor: axis, mode: this.axis.mode, entireTextOnly: true },
      timeScale: {
        borderColor: axis, timeVisible: true, secondsVisible: this.data.step_ms < 60_000, rightOffset: FREE_BARS,
      },
    };
  }

  #sharePanes() {
    const panes = this.#chart.panes();
    const own = panes.length - 1;
    const share = own <= 2 ? OWN_PANE : ALL_PANES / own;
    panes.forEach((pane, place) => pane.setStretchFactor(place ? share : 1 - own * share));
  }

  #setAll() {
    const { rows } = this.history;
    this.#price.series.setData(rows.map((_, place) => this.#price.point(rows, place)));
    for (const plot of this.#plots) plot.setAll(rows);
    for (const bands of this.#bands) bands.changed();
  }

  #put(place, isOld) {
    const { rows } = this.history;
    this.#price.series.update(this.#price.point(rows, place), isOld);
    for (const plot of this.#plots) plot.put(rows, place, isOld);
  }

  #addBands() {
    const edge = (study, key) => this.#plots.find(({ plot }) => plot.study === study && plot.key === key);
    this.#bands = this.#plots.filter(({ plot }) => plot.bands?.length).map((owner) => {
      const { study, bands } = owner.plot;
      const edges = bands.map((band) => ({
        upper: edge(study, band.upper), lower: edge(study, band.lower), colours: band.colours,
      }));
      const made = new Bands(edges.filter(({ upper, lower }) => upper && lower), this.history);
      owner.series.attachPrimitive(made);
      return made;
    });
  }

  #addDrawings() {
    const { drawings = [] } = this.data;
    const behind = drawings.filter((drawing) => drawing.behind);
    const above = drawings.filter((drawing) => !drawing.behind);
    for (const shapes of this.#shapes) this.#price.series.detachPrimitive(shapes);
    this.#shapes = [
      new Shapes(behind, this.history, this.axis, { zOrder: 'bottom', ground: this.#ground }),
      new Shapes(above, this.history, this.axis, { zOrder: 'top', ground: this.#ground }),
    ];
    for (const shapes of this.#shapes) this.#price.series.attachPrimitive(shapes);
    const values = this.#shapes.flatMap((shapes) => shapes.values);
    this.#price.series.applyOptions({ autoscaleInfoProvider: (own) => widened(own(), values) });
  }
}

// Levels that are not far away belong into the picture.
function widened(info, values) {
  if (!info?.priceRange) return info;
  const { minValue, maxValue } = info.priceRange;
  const reach = (maxValue - minValue) * REACH;
  return reaching(info, values.filter((value) => value > minValue - reach && value < maxValue + reach));
}

// What makes two answers the same chart: all but numbers and drawings.
function outline({ symbol, interval, style, scale, plots }) {
  const kept = plots.map(({ ahead, ...plot }) => plot);
  return JSON.stringify([symbol, interval, style, scale, kept]);
}
