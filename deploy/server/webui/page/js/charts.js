// Charts over a window's time, drawn by uPlot. One cursor, where the timeline stands, goes through all of them; so does the pointer's.

import {h} from './dom.js';
import {clock, grouped, million, spoken, below} from '../shared/format.js';
import {plain} from './words.js';

/** @typedef {import('uplot')} UPlot */
/** @typedef {import('../../types/rig.js').Series} Series */

const vendor = '../vendor/uPlot.esm.js';
const style = 'vendor/uPlot.min.css';

/** @type {Promise<typeof import('uplot') | null> | null} */
let loading = null;

/** library is uPlot, or null where this program was built without it: then a module that says so stands in its place. */
export function library() {
  loading ??= import(vendor).then(({default: uPlot}) => {
    if (uPlot) {
      document.head.append(h('link', {rel: 'stylesheet', href: style}));
    }
    return uPlot;
  }, (error) => {
    loading = null; // the rig did not answer: it is asked again with the next chart
    throw error;
  });
  return loading;
}

/** missing says why there is no chart. */
export const missing = () => h('p.refusal', null, 'No chart: this program was built without its chart library. Run ', h('code', null, 'make webui'),
  ' and build it again.');

// Colours of the style are light-dark(): what they are now is told by an element that has one.
const swatch = h('i', {hidden: true});

/** @param {string} name */
export function resolved(name) {
  if (!swatch.isConnected) {
    document.body.append(swatch);
  }
  swatch.style.color = `var(--${name})`;
  return getComputedStyle(swatch).color;
}

/**
 * Draws of series of one unit in one chart; no more than can be told apart.
 * @param {{measure: string, series: Series[]}[]} results
 */
export function grouping(results) {
  /** @type {{measure: string, unit: string, series: Series[]}[]} */
  const all = [];
  for (const {measure, series} of results) {
    for (const s of series) {
      if (!s.frames.length) {
        continue;
      }
      let chart = all.find((c) => c.measure === measure && c.unit === s.unit && c.series.length < 6);
      if (!chart) {
        chart = {measure, unit: s.unit, series: []};
        all.push(chart);
      }
      chart.series.push(s);
    }
  }
  return all;
}

/**
 * aligned puts series on one axis: times in ms, and for each series its values, null where it has none.
 * @param {Series[]} series
 * @param {(frame: number) => number} timeOf in ns
 * @param {number} end of the window, in ns
 * @returns {[number[], ...(number | null)[][]]}
 */
function aligned(series, timeOf, end) {
  const frames = [...new Set(series.flatMap((s) => s.frames))].sort((a, b) => a - b).filter((n) => !Number.isNaN(timeOf(n)));
  const place = new Map(frames.map((n, i) => [n, i]));
  const times = frames.map((n) => timeOf(n) / million);
  const holds = series.some((s) => s.holds);
  if (holds) {
    times.push(end / million);
  }
  const columns = series.map((s) => {
    /** @type {(number | null)[]} */
    const column = new Array(times.length).fill(null);
    const scale = s.unit === 'fraction' ? 100 : 1;
    s.frames.forEach((n, i) => {
      const at = place.get(n);
      if (at !== undefined) {
        column[at] = s.values[i] * scale;
      }
    });
    if (s.holds) {
      let last = null;
      for (let i = 0; i < column.length; i++) {
        column[i] = last = column[i] ?? last;
      }
    }
    return column;
  });
  return [times, ...columns];
}

/** axes in the page's colours, with times in the unit that fits. */
function axes() {
  const line = {stroke: () => resolved('grid'), width: 1};
  const common = {stroke: () => resolved('muted'), grid: line, ticks: {show: false}, font: '11px system-ui, sans-serif'};
  return [
    {...common, size: 24, gap: 3, values: (/** @type {any} */ u, /** @type {number[]} */ splits) => {
      const fine = u.scales.x.max - u.scales.x.min < 2000;
      return splits.map((t) => fine ? `${t.toFixed(t % 1 ? 1 : 0)} ms` : `${(t / 1000).toFixed(1)} s`);
    }},
    {...common, size: 50, gap: 4},
  ];
}

export class TimeChart {
  /**
   * @param {typeof import('uplot')} uPlot
   * @param {{measure: string, unit: string, series: Series[]}} data
   * @param {import('../shared/view.js').View} view
   * @param {import('../shared/timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   * @param {string} sync key of the charts that share a pointer
   */
  constructor(uPlot, data, view, timeline, seek, sync) {
    this.data = data;
    this.view = view;
    this.timeline = timeline;
    this.values = data.series.map(() => h('em'));
    this.legend = h('ul.legend', null, data.series.map((s, i) => h(`li.line-${i}`, null, plain(s.name), this.values[i])));
    this.box = h('div.chart', {role: 'img', 'aria-label': `${data.series.map((s) => plain(s.name)).join(', ')} over time`});
    this.cursor = h('div.chart-cursor');
    this.plot = new uPlot({
      width: 400, height: 170, padding: [8, 10, 0, 0], legend: {show: false}, pxAlign: false,
      cursor: {
        sync: {key: sync, setSeries: false}, drag: {x: false, y: false, setScale: false}, y: false,
        points: {size: 6},
      },
      scales: {
        x: {time: false, range: () => [view.from / million, view.to / million]},
        y: {range: (_, low, high) => this.range(low, high)},
      },
      axes: axes(),
      series: [{}, ...data.series.map((s, i) => ({
        label: plain(s.name), stroke: () => resolved(`line-${i}`), width: 1.6, spanGaps: false,
        points: {show: !s.holds && s.frames.length < 300, size: 5, fill: () => resolved(`line-${i}`)},
        paths: s.holds ? uPlot.paths.stepped?.({align: 1}) : uPlot.paths.linear?.(),
        fill: s.holds && data.series.length === 1 ? () => resolved('line-0').replace('rgb(', 'rgba(').replace(')', ', 0.1)') : undefined,
      }))],
      hooks: {drawClear: [(/** @type {UPlot} */ u) => marks(u, view)]},
    }, aligned(data.series, (n) => view.timeOf(n), view.data.to - view.data.from), this.box);
    this.plot.over.append(this.cursor);
    this.pointing(seek);
    view.onChange(() => {
      this.plot.setScale('x', {min: view.from / million, max: view.to / million});
      this.point();
    });
    timeline.onMove(() => this.point());
    new ResizeObserver(() => {
      const width = this.box.clientWidth;
      if (width) {
        this.plot.setSize({width, height: 170});
        this.point();
      }
    }).observe(this.box);
  }

  /**
   * range begins at nothing, unless values are negative.
   * @param {number} low
   * @param {number} high
   * @returns {[number, number]}
   */
  range(low, high) {
    const percent = this.data.unit === 'fraction';
    low = Math.min(low ?? 0, 0);
    high = Math.max(high ?? 1, percent ? 100 : 0, low + 1e-9);
    const room = 0.06 * (high - low);
    return [low < 0 ? low - room : 0, high + room];
  }

  /** @param {(frame: number) => void} seek */
  pointing(seek) {
    const {over} = this.plot;
    let dragged = false;
    const at = (/** @type {PointerEvent} */ event) => {
      const x = event.clientX - over.getBoundingClientRect().left;
      seek(this.view.frameAt(this.plot.posToVal(x, 'x') * million));
    };
    over.addEventListener('pointerdown', (event) => {
      if (event.button === 0) {
        dragged = true;
        over.setPointerCapture(event.pointerId);
        at(event);
      }
    });
    over.addEventListener('pointermove', (event) => dragged && at(event));
    for (const end of ['pointerup', 'pointercancel']) {
      over.addEventListener(end, () => { dragged = false; });
    }
    over.addEventListener('wheel', (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const x = event.clientX - over.getBoundingClientRect().left;
        this.view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), this.plot.posToVal(x, 'x') * million);
      }
    }, {passive: false});
  }

  /** point puts the cursor to where the timeline stands, and says each series' value there. */
  point() {
    const t = this.timeline.time - this.view.data.from;
    const here = t >= this.view.from && t <= this.view.to;
    this.cursor.hidden = !here;
    if (here) {
      this.cursor.style.left = `${this.plot.valToPos(t / million, 'x')}px`;
    }
    this.data.series.forEach((s, i) => {
      const v = here ? valueAt(s, this.timeline.frame) : undefined;
      this.values[i].textContent = v === undefined ? '' : spoken(v, s.unit);
    });
  }

  redraw() {
    this.plot.redraw(false, true);
  }

  destroy() {
    this.plot.destroy();
  }
}

/**
 * @param {Series} s
 * @param {number} frame
 */
function valueAt(s, frame) {
  const i = below(s.frames, frame, true) - 1;
  return i >= 0 && (s.holds || s.frames[i] === frame) ? s.values[i] : undefined;
}

/**
 * marks draws the markers, what was lost, and T0, behind the lines.
 * @param {UPlot} u
 * @param {import('../shared/view.js').View} view
 */
function marks(u, view) {
  const {ctx, bbox} = u;
  const w = /** @type {import('./film.js').WindowData} */ (view.data);
  const x = (/** @type {number} */ ns) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, u.valToPos(ns / million, 'x', true)));
  const band = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ name, /** @type {number} */ alpha) => {
    ctx.globalAlpha = alpha;
    ctx.fillStyle = resolved(name);
    ctx.fillRect(x(from), bbox.top, Math.max(0, x(to) - x(from)), bbox.height);
    ctx.globalAlpha = 1;
  };
  if (w.green >= 0) {
    band(view.whole[0], 0, 'green', 0.18);
  }
  if (w.red >= 0) {
    band(w.to - w.from, view.whole[1], 'red', 0.18);
  }
  for (const l of w.lost) {
    const to = view.timeOf(l.before_frame);
    const from = view.timeOf(l.before_frame - 1);
    band(Number.isNaN(from) ? to : from, to, 'bad', 0.25);
  }
  if (w.t0 !== null) {
    ctx.fillStyle = resolved('line-4');
    ctx.fillRect(x(w.t0), bbox.top, 2, bbox.height);
  }
}

/**
 * told is where something is, for people.
 * @param {number} frame
 * @param {number} t in ns
 */
export const told = (frame, t) => `frame ${grouped(frame)} · ${clock(t)}`;
