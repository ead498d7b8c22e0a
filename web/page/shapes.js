// Drawings: lines, boxes, labels, marks and tags at times and prices, as the server resolved them.

const FONT = 12; // pixels
const AROUND = 6; // pixels of a plate above and below its words, together
const AWAY = 4; // pixels between a point and its words
const HALO = 4; // pixels of paper around words, so that bars do not strike them through
const FAR = 10_000; // pixels beyond every pane
const HEAD = { length: 12, angle: 0.42 };
const ARROW = [[0, 0], [7, 8], [3, 8], [3, 16], [-3, 16], [-3, 8], [-7, 8]];
const KNOWN = ['line', 'box', 'label', 'mark', 'tag'];

export class Shapes {
  #chart;
  #series;
  #axis;
  #shapes;
  #tags;
  #views;

  // They stand at the top or at the bottom: over the bars or behind them. On their ground `paper` is behind words without
  // a plate, and what is `above` is kept for the pane's own words.
  constructor(drawings, history, axis, { zOrder, ground }) {
    this.history = history;
    this.ground = ground;
    this.#shapes = drawings.flatMap((drawing) => drawing.shapes);
    this.#axis = axis;
    this.#views = [{ zOrder: () => zOrder, renderer: () => ({ draw: (target) => this.#draw(target) }) }];
    this.#tags = this.#shapes.filter((shape) => shape.is === 'tag').map((tag) => this.#axisView(tag));
  }

  get unknown() {
    return [...new Set(this.#shapes.map((shape) => shape.is))].filter((kind) => !KNOWN.includes(kind));
  }

  // Every price a drawing stands at, on the axis.
  get values() {
    const prices = this.#shapes.flatMap(({ from, to, at, price }) => [from?.[1], to?.[1], at?.[1], price]);
    return prices.filter((each) => Number.isFinite(each)).map((price) => this.#axis.of(price));
  }

  attached({ chart, series }) {
    this.#chart = chart;
    this.#series = series;
  }

  detached() {
    this.#chart = undefined;
  }

  paneViews() {
    return this.#views;
  }

  priceAxisViews() {
    return this.#tags;
  }

  #axisView({ price, text, colour }) {
    return {
      coordinate: () => this.#y(price) ?? -FAR,
      text: () => text,
      textColor: () => inkOn(colour),
      backColor: () => colour,
    };
  }

  #y(price) {
    return this.#series?.priceToCoordinate(this.#axis.of(price)) ?? null;
  }

  #x(timeMs) {
    const place = this.history.placeOf(timeMs);
    const bar = Math.floor(place);
    const scale = this.#chart.timeScale();
    const [left, right] = [scale.logicalToCoordinate(bar), scale.logicalToCoordinate(bar + 1)];
    return left + (place - bar) * (right - left);
  }

  #draw(target) {
    if (!this.#chart) return;
    target.useMediaCoordinateSpace(({ context, mediaSize }) => {
      const pane = { width: mediaSize.width, height: mediaSize.height, ...this.ground };
      for (const shape of this.#shapes) {
        context.save();
        this.#one(context, shape, pane);
        context.restore();
      }
    });
  }

  #one(context, shape, pane) {
    if (shape.is === 'line') this.#line(context, shape, pane);
    else if (shape.is === 'box') this.#box(context, shape, pane);
    else if (shape.is === 'label') this.#label(context, shape, pane);
    else if (shape.is === 'mark') this.#mark(context, shape, pane);
  }

  // No time is an edge of the pane, left for a beginning and right for an end; no price is its top or its bottom.
  #ends({ from, to }, pane) {
    return [
      [from[0] === null ? 0 : this.#x(from[0]), from[1] === null ? 0 : this.#y(from[1])],
      [to[0] === null ? pane.width : this.#x(to[0]), to[1] === null ? pane.height : this.#y(to[1])],
    ];
  }

  #line(context, shape, pane) {
    const { colour, width = 1, dash = [], head, extend } = shape;
    let [start, end] = this.#ends(shape, pane);
    if (start[1] === null || end[1] === null) return;
    const [first, last] = [start, end];
    if (extend === 'left' || extend === 'both') start = beyond(last, first);
    if (extend === 'right' || extend === 'both') end = beyond(first, last);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(...sharp(start, end, width));
    context.lineTo(...sharp(end, start, width));
    context.stroke();
    if (head) arrowHead(context, start, end, colour);
  }

  #box(context, shape, pane) {
    const { fill, colour, width = 1 } = shape;
    const [[x0, y0], [x1, y1]] = this.#ends(shape, pane);
    const left = Math.round(Math.min(x0, x1)) + 0.5;
    const top = Math.round(Math.min(y0, y1)) + 0.5;
    const sides = [left, top, Math.round(Math.abs(x1 - x0)), Math.round(Math.abs(y1 - y0))];
    if (fill) {
      context.fillStyle = fill;
      context.fillRect(...sides);
    }
    if (colour) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(...sides);
    }
  }

  #label(context, { at, text, colour, plate, side, size }, pane) {
    const [edgeX, edgeY] = edgeOf(side, pane);
    const x = at[0] === null ? edgeX : this.#x(at[0]);
    const y = at[1] === null ? edgeY : this.#y(at[1]);
    const isSeen = y !== null && x >= 0 && x <= pane.width;
    const isBeside = at[1] === null && !plate; // of an upright line, which would strike it through
    if (isSeen) words(context, text, [x, y], { colour, plate, side, size, pane, isBeside });
  }

  #mark(context, { at, up, colour, text, text_colour: ink = colour }, pane) {
    const [x, y] = [this.#x(at[0]), this.#y(at[1])];
    if (y === null || x < 0 || x > pane.width) return;
    const away = up ? 1 : -1;
    const tip = y + 3 * away;
    context.fillStyle = colour;
    context.beginPath();
    for (const [dx, dy] of ARROW) context.lineTo(x + dx, tip + dy * away);
    context.closePath();
    context.fill();
    const below = [x, tip + 16 * away];
    if (text) words(context, text, below, { colour: ink, side: up ? 'below' : 'above', pane });
  }
}

// Where words without a time or a price stand: at the edge from which they reach into the pane.
function edgeOf(side, { width, height, above }) {
  const x = { left: width, right: 0 }[side] ?? width / 2;
  return [x, side === 'above' ? height : above];
}

function beyond([x0, y0], [x1, y1]) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  return length ? [x1 + ((x1 - x0) / length) * FAR, y1 + ((y1 - y0) / length) * FAR] : [x1, y1];
}

// White or near-black, whichever reads better on a plate (relative luminance, sRGB weights).
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 165 ? '#131722' : '#ffffff';
}

// A level or upright line of an odd width is sharp between two pixels.
function sharp([x, y], [otherX, otherY], width) {
  const half = Math.round(width) % 2 ? 0.5 : 0;
  return [x === otherX ? Math.round(x) + half : x, y === otherY ? Math.round(y) + half : y];
}

function arrowHead(context, [x0, y0], [x1, y1], colour) {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x1, y1);
  for (const side of [HEAD.angle, -HEAD.angle]) {
    context.lineTo(x1 - HEAD.length * Math.cos(angle + side), y1 - HEAD.length * Math.sin(angle + side));
  }
  context.fill();
}

function words(context, text, [x, y], { colour, plate, side, pane, size = FONT, isBeside = false }) {
  context.font = `${size}px system-ui, sans-serif`;
  const tall = size + AROUND;
  const wide = context.measureText(text).width + 8;
  const middle = isBeside ? x + wide / 2 + AWAY : x;
  const left = { left: x - AWAY - wide, right: x + AWAY }[side] ?? middle - wide / 2;
  const top = { above: y - AWAY - tall, below: y + AWAY }[side] ?? y - tall / 2;
  const kept = Math.max(0, Math.min(left, pane.width - wide)); // what is half outside says nothing
  if (plate) {
    context.fillStyle = plate;
    context.beginPath();
    context.roundRect(kept, top, wide, tall, 3);
    context.fill();
  }
  context.textBaseline = 'middle';
  const at = [kept + 4, top + tall / 2 + 0.5];
  if (!plate) {
    context.strokeStyle = pane.paper;
    context.lineWidth = HALO;
    context.lineJoin = 'round';
    context.strokeText(text, ...at);
  }
  context.fillStyle = colour;
  context.fillText(text, ...at);
}
