// Shaded areas: between two plots, with two colours changing where they cross, and between two levels.

import { TEXTS } from './bars.js';

export class Bands {
  #chart;
  #isAttached = false;
  #redraw;
  #views = [{ zOrder: () => 'bottom', renderer: () => ({ draw: (target) => this.#draw(target) }) }];

  // Edges are series of plots on one scale: [{upper, lower, colours}].
  constructor(edges, history) {
    this.edges = edges;
    this.history = history;
  }

  attached({ chart, requestUpdate }) {
    this.#chart = chart;
    this.#redraw = requestUpdate;
    this.#isAttached = true;
  }

  detached() {
    this.#isAttached = false;
  }

  paneViews() {
    return this.#views;
  }

  changed() {
    if (this.#isAttached) this.#redraw();
  }

  #draw(target) {
    if (!this.#isAttached) return;
    target.useMediaCoordinateSpace(({ context }) => {
      for (const { upper, lower, colours } of this.edges) {
        for (const { isAbove, top, bottom } of slices(this.#points(upper, lower), colours.length > 1)) {
          context.fillStyle = isAbove ? colours[0] : colours[1] ?? colours[0];
          fill(context, [...top, ...bottom.reverse()]);
        }
      }
    });
  }

  // Pixels of every bar that is seen, and of those ahead: [x, y of the upper line, y of the lower one], null for a gap.
  #points(upper, lower) {
    const scale = this.#chart.timeScale();
    const seen = scale.getVisibleLogicalRange();
    if (!seen) return [];
    const ends = Math.max(this.history.rows.length, this.#textCount(upper));
    const first = Math.max(0, Math.floor(seen.from) - 1);
    const last = Math.min(ends - 1, Math.ceil(seen.to) + 1);
    const points = [];
    for (let bar = first; bar <= last; bar += 1) {
      const [high, low] = [upper, lower].map((edge) => this.#y(edge, bar));
      points.push(high === null || low === null ? null : [scale.logicalToCoordinate(bar), high, low]);
    }
    return points;
  }

  #textCount(edge) {
    return this.history.rows.length + (edge.plot.ahead ?? []).length;
  }

  #y(edge, bar) {
    const { rows } = this.history;
    const text = bar < rows.length ? rows[bar][TEXTS][edge.place] : edge.plot.ahead?.[bar - rows.length];
    return text === null || text === undefined ? null : edge.series.priceToCoordinate(edge.value(text));
  }
}

export class Shade {
  #series;
  #views = [{ zOrder: () => 'bottom', renderer: () => ({ draw: (target) => this.#draw(target) }) }];

  constructor(levels, colour) {
    this.levels = levels;
    this.colour = colour;
  }

  attached({ series }) {
    this.#series = series;
  }

  paneViews() {
    return this.#views;
  }

  #draw(target) {
    const [y0, y1] = this.levels.map((level) => this.#series.priceToCoordinate(level));
    if (y0 === null || y1 === null) return;
    target.useMediaCoordinateSpace(({ context, mediaSize }) => {
      context.fillStyle = this.colour;
      context.fillRect(0, Math.min(y0, y1), mediaSize.width, Math.abs(y1 - y0));
    });
  }
}

function slices(points, isSplit) {
  const found = [];
  let before = null;
  for (const point of points) {
    if (point) extend(found, before, point, isSplit);
    before = point;
  }
  return found;
}

function extend(found, before, [x, high, low], isSplit) {
  const isAbove = high <= low; // pixels grow downwards
  const current = found.at(-1);
  if (!before) {
    found.push({ isAbove, top: [], bottom: [] });
  } else if (isSplit && current.isAbove !== isAbove) {
    const cross = crossing(before, [x, high, low]);
    current.top.push(cross);
    current.bottom.push(cross);
    found.push({ isAbove, top: [cross], bottom: [cross] });
  }
  found.at(-1).top.push([x, high]);
  found.at(-1).bottom.push([x, low]);
}

function crossing([x0, high0, low0], [x1, high1, low1]) {
  const [before, now] = [high0 - low0, high1 - low1];
  const part = before === now ? 0.5 : before / (before - now);
  return [x0 + part * (x1 - x0), high0 + part * (high1 - high0)];
}

function fill(context, points) {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.closePath();
  context.fill();
}
