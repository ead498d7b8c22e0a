// Where a price stands on its axis, and how the axis writes it.

import { PriceScaleMode } from 'lightweight-charts';
import { CLOSE } from './bars.js';
import { grouped } from './words.js';

const KNOWN = ['regular', 'logarithmic', 'percent', 'indexedTo100'];
const PERCENT_DECIMALS = 2;

// Percent and index are of the first close for everything on the axis, as in the picture. The library's own modes
// would take every line's own first value, and draw a band beside its price.
export class PriceAxis {
  constructor({ scale, decimals, rows, base }) {
    this.scale = KNOWN.includes(scale) ? scale : 'regular';
    this.isKnown = this.scale === scale;
    this.isRelative = this.scale === 'percent' || this.scale === 'indexedTo100';
    this.base = Number(base ?? rows[0]?.[CLOSE]) || 1;
    this.decimals = this.isRelative ? PERCENT_DECIMALS : decimals;
  }

  get mode() {
    return this.scale === 'logarithmic' ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal;
  }

  // The value that stands for a price.
  of(price) {
    if (this.scale === 'percent') return (price / this.base - 1) * 100;
    return this.scale === 'indexedTo100' ? (price / this.base) * 100 : price;
  }

  get format() {
    const isPercent = this.scale === 'percent';
    return numberFormat(this.decimals, (text) => (isPercent ? `${withSign(text)}%` : grouped(text)));
  }
}

export function numberFormat(decimals, write = grouped) {
  return { type: 'custom', minMove: 10 ** -decimals, formatter: (value) => write(value.toFixed(decimals)) };
}

function withSign(text) {
  return Number(text) > 0 ? `+${grouped(text)}` : grouped(text);
}

export function decimalsOf(text) {
  return text.split('.')[1]?.length ?? 0;
}
