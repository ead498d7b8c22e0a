// The bars of a chart: asking the server for them, and keeping them in order.

export const CONTRACT = 1;
const MOST_ROWS = 1500;
const KEPT_ROWS = 1000;

// A row: open time in ms, then open, high, low and close as text, then the text of every plot. Beside them come, by the
// plot's place, the tint of a column, the words of a compared market, and whether a line begins anew.
export const [TIME, OPEN, HIGH, LOW, CLOSE, TEXTS, TINTS, WORDS, BREAKS] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

export class BarsFailure extends Error {
  // Final: asking again gives the same answer. Foreign: the server speaks a version that this page does not know.
  constructor(message, { retryAfterMs, isFinal = false, isForeign = false } = {}) {
    super(message);
    this.retryAfterMs = retryAfterMs;
    this.isFinal = isFinal || isForeign;
    this.isForeign = isForeign;
  }
}

export async function askBars(link, args) {
  let result;
  try {
    result = await link.request('tools/call', { name: 'get_chart_bars', arguments: args });
  } catch (error) {
    throw failureOf({ error: error.message, ...error.data });
  }
  const data = result?.structuredContent;
  if (result?.isError || !data?.success) throw failureOf({ error: textOf(result), retryable: false, ...data });
  if (data.contract !== CONTRACT) throw unknownContract(data.contract);
  putBeside(data);
  return data;
}

function textOf(result) {
  return result?.content?.find((block) => block.type === 'text')?.text;
}

function failureOf({ error, details = [], did_you_mean: names = [], retryable, retryAfter, retry_after_secs: secs }) {
  const reasons = details.map((detail) => detail.message).filter(Boolean);
  let message = [error ?? 'The server returned no bars', ...reasons].join(': ');
  if (names.length) message = `${message.replace(/\.$/, '')}. Did you mean ${names.join(', ')}?`;
  const waitSecs = retryAfter ?? secs;
  const retryAfterMs = waitSecs === undefined ? undefined : waitSecs * 1000;
  return new BarsFailure(message, { retryAfterMs, isFinal: retryable === false && waitSecs === undefined });
}

function unknownContract(contract) {
  const versions = `version ${contract} of this chart, the page version ${CONTRACT}`;
  return new BarsFailure(`The server has ${versions}: reload this conversation.`, { isForeign: true });
}

function putBeside({ rows, tints = {}, words = {}, breaks = {} }) {
  rows.forEach((row, bar) => {
    row[TINTS] = ofBar(tints, (perBar) => perBar[bar]);
    row[WORDS] = ofBar(words, (perBar) => perBar[bar]);
    row[BREAKS] = ofBar(breaks, (times) => times.includes(row[TIME]));
  });
}

function ofBar(perPlot, pick) {
  return Object.fromEntries(Object.entries(perPlot).map(([plot, all]) => [plot, pick(all)]));
}

export class History {
  constructor(rows, stepMs) {
    this.rows = rows;
    this.stepMs = stepMs;
  }

  get last() {
    return this.rows.at(-1);
  }

  // The bar that may just have closed and the open one: its final values must come too.
  get since() {
    return this.rows.at(-2)?.[TIME] ?? this.last?.[TIME];
  }

  rowAt(timeMs) {
    return this.rows.find((row) => row[TIME] === timeMs) ?? null;
  }

  misses(fresh) {
    return !this.last || (fresh.length > 0 && fresh[0][TIME] > this.last[TIME]);
  }

  hasNewer(fresh) {
    return fresh.length > 0 && fresh.at(-1)[TIME] > this.last?.[TIME];
  }

  // Oldest first. Returns the places that changed, whether each was before the last of its time, and whether the oldest
  // rows were let go.
  take(fresh) {
    const places = fresh.map((row) => this.#put(row)).filter(({ place }) => place >= 0);
    const isCut = this.rows.length > MOST_ROWS;
    if (isCut) this.rows = this.rows.slice(-KEPT_ROWS);
    return { places, isCut };
  }

  #put(row) {
    if (row[TIME] > this.last[TIME]) return { place: this.rows.push(row) - 1, isOld: false };
    const place = this.rows.findLastIndex((each) => each[TIME] === row[TIME]);
    if (place >= 0) this.rows[place] = row;
    return { place, isOld: place < this.rows.length - 1 };
  }

  // Where a moment lies, counted in bars; between two bars, before the first or after the last it is a fraction.
  placeOf(timeMs) {
    const first = this.rows[0][TIME];
    if (timeMs <= first) return (timeMs - first) / this.stepMs;
    const before = this.rows.findLastIndex((row) => row[TIME] <= timeMs);
    const next = this.rows[before + 1]?.[TIME] ?? this.rows[before][TIME] + this.stepMs;
    return before + (timeMs - this.rows[before][TIME]) / (next - this.rows[before][TIME]);
  }
}
