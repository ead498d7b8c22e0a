// The words in the panes' corners: at rest the server's, under the crosshair the texts of that bar.

import { CLOSE, HIGH, LOW, OPEN, TEXTS, TIME, TINTS, WORDS } from './bars.js';
import { dayAndTime, grouped, say } from './words.js';

const LETTERS = [['O', OPEN], ['H', HIGH], ['L', LOW], ['C', CLOSE]];

// `row` is the bar under the crosshair, null at rest; `newest` is the last one.
export function legendLines(data, row, newest) {
  const [price, ...studies] = data.legend;
  const values = row ? priceValues(data, row) : price.values;
  const priceLine = { pane: 0, name: price.name, values, hasRisen: rose(row ?? newest) };
  return [priceLine, ...studies.map((study, place) => studyLine(data, study, place, row, newest))];
}

function rose(row) {
  return Number(row[CLOSE]) >= Number(row[OPEN]);
}

function priceValues(data, row) {
  const prices = LETTERS.map(([letter, part]) => `${letter} ${grouped(row[part])}`);
  const time = dayAndTime(row[TIME], { withSeconds: data.step_ms < 60_000 });
  return `${time} ${prices.join(' ')}`;
}

function studyLine(data, { name, values }, study, row, newest) {
  const plots = data.plots.map((plot, place) => ({ plot, place })).filter(({ plot }) => plot.study === study);
  const told = row ?? newest;
  const said = plots.filter(({ place }) => told[TEXTS][place] !== null);
  const inks = said.map(({ plot, place }) => plot.colours[told[TINTS][place] ?? 0]);
  const words = row && plots.length ? said.map(({ place }) => plotWords(row, place)).join(' ') : values;
  return { pane: plots[0]?.plot.pane ?? 0, name, values: words, inks };
}

function plotWords(row, place) {
  return row[WORDS][place] ?? grouped(row[TEXTS][place]);
}

// Boxes, one per pane that has words.
export function legendBoxes(lines, { up, down }) {
  const boxes = new Map();
  for (const line of lines) {
    if (!boxes.has(line.pane)) boxes.set(line.pane, document.createElement('div'));
    boxes.get(line.pane).append(lineElement(line, { up, down }));
  }
  for (const [pane, box] of boxes) {
    box.className = 'legend';
    box.dataset.pane = pane;
  }
  return [...boxes.values()];
}

function lineElement(line, colours) {
  const element = document.createElement('div');
  const name = document.createElement('b');
  say(name, line.name);
  element.append(name, ' ', ...inked(line, colours));
  return element;
}

// Words that stay together: a letter and its number, a change and its percent.
const TOGETHER = /[A-Z]+ \S+|\S+ \([^)]*\)|\S+/g;

function inked({ values, inks = [], hasRisen }, { up, down }) {
  const groups = values.match(TOGETHER) ?? [];
  const hasOneEach = groups.length === inks.length; // otherwise nobody knows whose value it is
  const inkOf = (place) => {
    if (hasRisen !== undefined) return hasRisen ? up : down;
    return hasOneEach ? inks[place] : '';
  };
  return groups.flatMap((group, place) => [inkedWords(group, inkOf(place)), ' ']).slice(0, -1);
}

function inkedWords(words, ink) {
  const element = document.createElement('span');
  say(element, words);
  element.style.color = ink.slice(0, 7); // a shade of a column is too faint for words
  return element;
}
