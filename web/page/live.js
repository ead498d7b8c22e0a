// Keeps a chart alive: loads it, asks for what is new, waits after a failure, rests while nobody looks.

import { askBars, History, TIME } from './bars.js';

const IDLE_MS = 15 * 60_000; // a long conversation full of charts must not ask for ever
const FIRST_WAIT_MS = 2000;
const LONGEST_WAIT_MS = 60_000;
const SLOWER_THAN_ANSWERS = 3;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

function usualPaceMs(stepMs) {
  if (stepMs < MINUTE_MS) return 1000;
  if (stepMs <= HOUR_MS) return 2000;
  return stepMs < DAY_MS ? 5000 : 15_000;
}

export class LiveBars {
  config;
  latest; // the whole answer, with what later ones changed
  history;
  #link;
  #page; // is told: loading, whole, fresh, failed, paused
  #timer;
  #turn = 0; // answers to an earlier one are dropped
  #failures = 0;
  #answerMs = 0;
  #isInSight = true;
  #isPaused = false;
  #seenAt = Date.now();

  constructor(link, page) {
    this.#link = link;
    this.#page = page;
  }

  begin(config) {
    if (this.config) return;
    this.config = config;
    this.#load();
  }

  // A change that cannot be drawn leaves the chart that was there.
  async change(part) {
    const before = this.config;
    this.config = { ...before, ...part };
    const failure = await this.#load();
    if (failure?.isFinal && this.latest) {
      this.config = before;
      this.#next(this.#paceMs());
    }
  }

  sight(isInSight) {
    this.#isInSight = isInSight;
    if (isInSight && !document.hidden) this.wake();
  }

  // Somebody is there: a pointer, a key, or the chart came into sight.
  wake() {
    this.#seenAt = Date.now();
    if (!this.#isPaused || !this.#isLookedAt()) return;
    this.#isPaused = false;
    this.#next(0);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#turn += 1;
    this.#isPaused = false;
  }

  async #load({ isQuiet = false } = {}) {
    this.#turn += 1;
    const turn = this.#turn;
    clearTimeout(this.#timer);
    if (!isQuiet) this.#page.loading(this.config);
    try {
      const data = await this.#ask({ config: this.config });
      if (turn !== this.#turn) return undefined;
      this.latest = data;
      this.history = new History(data.rows, data.step_ms);
      this.#failures = 0;
      this.#page.whole();
      this.#rest();
      return undefined;
    } catch (failure) {
      if (turn === this.#turn) this.#wait(failure, () => this.#load(), { isHopeless: failure.isFinal });
      return failure;
    }
  }

  async #poll() {
    if (!this.#isLookedAt() || this.#isIdle()) {
      this.#isPaused = true;
      this.#page.paused(this.#isLookedAt() ? 'idle' : 'unseen');
      return;
    }
    const turn = this.#turn;
    try {
      const data = await this.#ask({ config: this.config, since: this.history.since });
      if (turn !== this.#turn) return;
      this.#failures = 0;
      this.#use(data);
    } catch (failure) {
      // What was drawn a moment ago can be drawn again, unless the server has become another.
      if (turn === this.#turn) this.#wait(failure, () => this.#poll(), { isHopeless: failure.isForeign });
    }
  }

  #use(data) {
    if (data.as_of_ms < this.latest.as_of_ms) {
      this.#rest(); // overtaken by a newer answer
      return;
    }
    const isNewBar = this.history.hasNewer(data.rows);
    if (this.history.misses(data.rows) || (isNewBar && this.#redrawsThePast())) {
      this.#load({ isQuiet: true });
      return;
    }
    const { legend, as_of, as_of_ms, last_bar_closed } = data;
    Object.assign(this.latest, { legend, as_of, as_of_ms, last_bar_closed });
    this.#page.fresh(this.history.take(data.rows));
    this.#rest();
  }

  // Plots that change closed bars, or reach ahead of the last one, come with the whole answer alone.
  #redrawsThePast() {
    return this.latest.plots.some((plot) => plot.repaints || plot.ahead?.length);
  }

  async #ask(args) {
    const begun = performance.now();
    const data = await askBars(this.#link, args);
    this.#answerMs = performance.now() - begun;
    return data;
  }

  get hasEnded() {
    const { range } = this.config;
    if (typeof range !== 'object' || !range?.to || !this.history.last) return false;
    return this.history.last[TIME] + 2 * this.latest.step_ms <= this.latest.as_of_ms;
  }

  #paceMs() {
    return Math.max(usualPaceMs(this.latest.step_ms), SLOWER_THAN_ANSWERS * this.#answerMs);
  }

  #rest() {
    if (!this.hasEnded) this.#next(this.#paceMs());
  }

  #next(ms, job = () => this.#poll()) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(job, ms);
  }

  #wait(failure, again, { isHopeless }) {
    this.#failures += 1;
    if (isHopeless) {
      this.#page.failed(failure);
      return;
    }
    const ownMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.#failures - 1));
    const waitMs = failure.retryAfterMs ?? ownMs;
    this.#page.failed(failure, waitMs);
    this.#next(waitMs, again);
  }

  #isLookedAt() {
    return this.#isInSight && !document.hidden;
  }

  #isIdle() {
    return Date.now() - this.#seenAt > IDLE_MS;
  }
}
