// The page: what it shows at each moment of a chart's life, and what its keys and buttons do.

import { Chart } from './chart.js';
import { HostSide } from './host.js';
import { legendBoxes, legendLines } from './legend.js';
import { LiveBars } from './live.js';
import { HostLink } from './protocol.js';
import { clockTime, dayAndTime, legendWords, say } from './words.js';
import { CLOSE, HIGH, LOW, OPEN, TIME } from './bars.js';

const APP = { name: 'mcp-binance-server-chart', version: '1' };
const CHART_META = 'mcp-binance-server/chart';
const INTERVALS = ['1s', '1m', '3m', '5m', '15m', '30m', '1h', '2h', '4h', '6h', '8h', '12h', '1D', '3D', '1W', '1M'];
const USUAL_INTERVAL = '1h';
const PICTURES = ['image/png', 'image/jpeg'];
const RESULT_WITHIN_MS = 15_000;
const EDGE = 1e9; // more steps than there are bars

const element = (id) => document.getElementById(id);
const [symbolField, intervalField, stage] = [element('symbol'), element('interval'), element('chart')];

const link = new HostLink();
const host = new HostSide(link, hostChanged);
const chart = new Chart(stage, hover);
const live = new LiveBars(link, { loading, whole, fresh, failed, paused });
let hoveredMs = null;
let describedMs = null;
let notice = { text: '', isPassing: true }; // what went wrong; what passes is gone with the next answer
let givenConfig; // of the call that the host told of
let waitForResult;

// The state line: the words are read aloud when they change, the moment beside them is not.
function state(kind, words, moment = '') {
  element('dot').dataset.is = kind;
  if (element('said').textContent !== words) say(element('said'), words);
  say(element('moment'), moment);
}

function utc(ms) {
  return `${clockTime(ms)} UTC`;
}

function showNotes() {
  const warnings = chart.isDrawn ? [...(live.latest.warnings ?? []), ...chart.warnings] : [];
  const lines = [notice.text, ...warnings].filter(Boolean).map((text) => {
    const line = document.createElement('div');
    say(line, text);
    return line;
  });
  element('notes').replaceChildren(...lines);
}

function note(text, { isPassing = false } = {}) {
  notice = { text, isPassing };
  showNotes();
}

// The life of a chart, as LiveBars tells it.

function loading(config) {
  state('late', `Loading ${pairOf(config)} ${config.interval}`);
}

function pairOf(config) {
  return String(config.symbol).replace(/^BINANCE:/, '');
}

function whole() {
  hoveredMs = null;
  notice = { text: '', isPassing: true };
  host.paint(live.latest.themes);
  document.body.dataset.panes = String(Math.max(0, ...live.latest.plots.map((plot) => plot.pane)));
  chart.load(live.latest, live.history, host.theme);
  watchPanes();
  element('poster').hidden = true;
  symbolField.value = live.latest.symbol;
  symbolField.removeAttribute('aria-invalid');
  intervalField.value = live.latest.interval;
  shown();
}

function fresh(changes) {
  if (notice.isPassing) notice.text = '';
  chart.draw(changes);
  shown();
}

function shown() {
  showNotes();
  showLegends();
  describe();
  element('resume').hidden = true;
  const at = live.latest.as_of_ms;
  if (live.hasEnded) state('', 'Past range, as of', `${dayAndTime(at)} UTC`);
  else state('live', 'Live', utc(at));
}

function paused(why) {
  const moment = utc(live.latest.as_of_ms);
  if (why === 'unseen') {
    state('late', 'Paused while hidden,', moment);
    return;
  }
  element('resume').hidden = false;
  state('late', 'Paused at', moment);
}

function failed(failure, waitMs) {
  const sentence = failure.message.replace(/[.\s]+$/, '');
  const age = live.latest ? ` The picture is from ${utc(live.latest.as_of_ms)}.` : '';
  note(/[?!]$/.test(sentence) ? sentence + age : `${sentence}.${age}`, { isPassing: waitMs !== undefined });
  symbolField.setAttribute('aria-invalid', String(failure.isFinal));
  if (failure.isForeign) state('failed', 'Reload this conversation');
  else if (waitMs === undefined) state('failed', 'Not drawn');
  else state('failed', `No new data; next try in ${Math.round(waitMs / 1000)} s`);
}

// Legends and words.

function hover(row) {
  hoveredMs = row?.[TIME] ?? null;
  showLegends();
}

function showLegends() {
  if (!chart.isDrawn) return;
  const { latest, history } = live;
  const row = hoveredMs === null ? null : history.rowAt(hoveredMs); // the open bar goes on changing under the crosshair
  const boxes = legendBoxes(legendLines(latest, row, history.last), latest.themes[host.theme]);
  element('legends').replaceChildren(...boxes);
  placeLegends();
}

function placeLegends() {
  const { panes } = chart;
  for (const box of element('legends').children) {
    const pane = Number(box.dataset.pane);
    box.style.top = `${(panes[pane]?.offsetTop ?? 0) + 4}px`;
    chart.keepFree(pane, box.offsetHeight);
  }
}

// Panes have their places only when they are laid out, and others when somebody drags a border.
const paneWatch = new ResizeObserver(placeLegends);

function watchPanes() {
  paneWatch.disconnect();
  for (const pane of chart.panes) paneWatch.observe(pane);
}

function describe() {
  const { latest, history } = live;
  stage.setAttribute('aria-label', `${latest.symbol} ${latest.interval}, ${history.rows.length} bars`);
  if (describedMs === history.last[TIME]) return; // once a bar, or a screen reader never rests
  describedMs = history.last[TIME];
  say(element('words'), `${legendWords(latest.legend, '. ')}. As of ${latest.as_of}.`);
}

function describeCursor(row) {
  const prices = `open ${row[OPEN]}, high ${row[HIGH]}, low ${row[LOW]}, close ${row[CLOSE]}`;
  say(element('cursor'), `${dayAndTime(row[TIME], { withSeconds: live.latest.step_ms < 60_000 })}: ${prices}`);
}

// What the host says.

function hostChanged() {
  host.paint(live?.latest?.themes);
  showFullScreenButton();
  chart?.theme(host.theme);
  showLegends();
}

function showFullScreenButton() {
  const button = element('full');
  const wide = document.createElement('span');
  wide.className = 'wide';
  say(wide, ' screen');
  button.hidden = !host.offersFullScreen;
  button.setAttribute('aria-label', host.isFullScreen ? 'Close full screen' : 'Full screen');
  button.replaceChildren(host.isFullScreen ? 'Close' : 'Full', ...(host.isFullScreen ? [] : [wide]));
}

function toolInput({ arguments: given }) {
  givenConfig = given?.config;
  // Not every host sends the result too.
  waitForResult = setTimeout(() => begin(givenConfig), RESULT_WITHIN_MS);
}

function toolResult(result) {
  clearTimeout(waitForResult);
  if (result.isError) {
    state('failed', 'Not drawn');
    note(result.content?.find((block) => block.type === 'text')?.text ?? 'The chart could not be drawn.');
    return;
  }
  const meta = result._meta?.[CHART_META] ?? {};
  showPicture(result.content?.find((block) => block.type === 'image'));
  if (meta.legend) say(element('words'), `${legendWords(meta.legend, '. ')}.`);
  if (meta.renderer === 'chart-img') pictureOnly('A picture by chart-img.com; only Binance spot pairs are live');
  else begin(meta.config ?? givenConfig);
}

function showPicture(block) {
  if (!PICTURES.includes(block?.mimeType) || chart.isDrawn) return;
  element('poster').src = `data:${block.mimeType};base64,${block.data}`;
  element('poster').hidden = false;
}

function pictureOnly(words) {
  document.body.dataset.picture = 'true';
  state('', words);
}

function begin(config) {
  if (!config?.symbol) return;
  if (host.capabilities.serverTools) live.begin({ ...config, interval: config.interval ?? USUAL_INTERVAL });
  else pictureOnly('This host shows the picture only: it forwards no calls');
}

function cancelled({ reason }) {
  clearTimeout(waitForResult);
  state('failed', reason ? `Cancelled: ${reason}` : 'Cancelled');
}

function teardown() {
  clearTimeout(waitForResult);
  paneWatch.disconnect();
  live.stop();
  chart.remove();
}

// What people do.

function changeSymbol(event) {
  event.stopPropagation();
  const pair = symbolField.value.trim();
  if (event.key !== 'Enter' || !pair || !live.config) return;
  // Levels of one pair mean nothing on another.
  const { drawings, ...kept } = live.config;
  live.change({ ...kept, drawings: undefined, symbol: `BINANCE:${pair}` });
}

function changeInterval() {
  if (live.config) live.change({ interval: intervalField.value, range: undefined });
}

function askAboutThis() {
  if (!live.latest) return;
  const { symbol, interval, as_of: asOf, legend } = live.latest;
  const text = `About the ${symbol} ${interval} chart as of ${asOf} (${legendWords(legend, '; ')}): what stands out?`;
  host.ask(text).catch((failure) => note(failure.message, { isPassing: true }));
}

function toggleFullScreen() {
  host.toggleFullScreen().catch(() => {});
}

function leave() {
  say(element('cursor'), '');
  if (!chart.leave()) host.leaveFullScreen().catch(() => {});
}

const KEYS = {
  ArrowLeft: () => chart.step(-1),
  ArrowRight: () => chart.step(1),
  Home: () => chart.step(-EDGE),
  End: () => chart.step(EDGE),
  '+': () => chart.zoom(0.7),
  '-': () => chart.zoom(1.4),
  f: toggleFullScreen,
  Escape: leave,
};

function chartKey(event) {
  const act = KEYS[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const row = act();
  if (row?.[TIME]) describeCursor(row);
}

function listen() {
  for (const interval of INTERVALS) intervalField.append(new Option(interval));
  intervalField.addEventListener('change', changeInterval);
  symbolField.addEventListener('keydown', changeSymbol);
  element('fit').addEventListener('click', () => chart.fit());
  element('resume').addEventListener('click', () => live.wake());
  element('full').addEventListener('click', toggleFullScreen);
  element('ask').addEventListener('click', askAboutThis);
  stage.addEventListener('keydown', chartKey);
  for (const kind of ['pointermove', 'keydown', 'click']) document.addEventListener(kind, () => live.wake());
  document.addEventListener('visibilitychange', () => live.wake());
  new IntersectionObserver(([entry]) => live.sight(entry.isIntersecting)).observe(element('stage'));
  host.openLinksByHost();
}

link.on('ui/notifications/tool-input', toolInput);
link.on('ui/notifications/tool-result', toolResult);
link.on('ui/notifications/tool-cancelled', cancelled);
link.on('ui/resource-teardown', teardown);
host.paint();
listen();
await host.connect(APP);
element('ask').hidden = !host.capabilities.message;
