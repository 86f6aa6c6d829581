// What was measured in one window: its numbers, its frames, and charts that share a cursor.

import {complain, h} from './dom.js';
import {library, missing, grouping, TimeChart} from './charts.js';
import {EventLane, FrameLane} from './lanes.js';
import {View} from '../shared/view.js';
import {clock, grouped} from '../shared/format.js';
import {checks, refused, resultCard, sentences, silent, tiles} from './results.js';
import {figure} from './pictures.js';
import {network} from './network.js';
import {plain} from './words.js';

let nextSync = 1;

export class WindowView {
  /**
   * @param {string} run
   * @param {import('./film.js').WindowData} data
   * @param {import('./stage.js').Stage} stage
   * @param {import('./lanes.js').RecordedEvent[]} events of the run
   * @param {(frame: number) => void} seek
   * @param {import('../../types/rig.js').Network} [line] that the run was made over
   */
  constructor(run, data, stage, events, seek, line) {
    this.data = data;
    this.stage = stage;
    this.view = new View(data);
    /** @type {TimeChart[]} */
    this.charts = [];
    this.open = true;
    const w = data.whole;
    const {timeline} = stage;
    this.before = timeline.listeners.length;
    const near = events.map((e) => ({...e, at_ns: e.at_ns - data.from})).filter((e) => e.at_ns >= this.view.whole[0] && e.at_ns <= this.view.whole[1]);
    const boxes = w.results.filter((r) => !silent(r)).map((r) => ({r, charts: h('div')}));
    this.root = h('section.window', {'aria-label': w.name || 'What was measured'},
      h('div.heading', null, h('h2', null, w.name || `Frames ${grouped(w.start_frame)} – ${grouped(w.end_frame)}`),
        h('button.play-window', {onclick: () => stage.player.playRange(w.start_frame, w.end_frame)}, 'Play it'),
        h('p.about', null, about(w).map((text) => h('span', null, text)))),
      tiles(w), sentences(w.warnings), checks(w, seek),
      h('div.card.strip-card', null,
        h('div.chart-head', null, h('h3', null, 'Frames'), h('ul.legend.keys-of-strip', null, h('li.k-unique', null, 'changed (high)'), h('li.k-same', null, 'the same as before (low)'), h('li.k-lost', null, 'lost (hatched)'), h('li.k-shown', null, 'has evidence (▼)')),
          h('span.zoom', null, h('button', {title: 'Zoom in (+)', 'aria-label': 'Zoom in', onclick: () => this.zoom(0.5)}, '+'), h('button', {title: 'Zoom out (−)', 'aria-label': 'Zoom out', onclick: () => this.zoom(2)}, '−'), h('button', {title: 'Show all (0)', onclick: () => this.view.all()}, 'all'))),
        new FrameLane(this.view, timeline, seek).box,
        near.length ? [h('div.chart-head', null, h('h3', null, 'Events')), new EventLane(this.view, timeline, seek, near).box, eventTable(near, this.view, seek)] : null),
      strips(run, w, seek), line ? network(run, line, this.view, w.start_ns, seek) : null,
      boxes.map(({r, charts}) => resultCard(run, w, r, seek, [charts])), refused(w), claims(w));
    this.drawCharts(boxes, seek);
    this.redraw = () => {
      this.charts.forEach((c) => c.redraw());
      this.view.listeners.forEach((tell) => tell());
    };
    addEventListener('themechange', this.redraw);
  }

  /**
   * @param {{r: import('../../types/rig.js').Result, charts: Element}[]} boxes
   * @param {(frame: number) => void} seek
   */
  async drawCharts(boxes, seek) {
    const uPlot = await library().catch(complain);
    if (uPlot === undefined) {
      return;
    }
    const sync = `window-${nextSync++}`;
    for (const {r, charts} of boxes) {
      for (const data of grouping([r])) {
        if (!this.open) {
          return;
        }
        if (!uPlot) {
          charts.replaceChildren(missing());
          break;
        }
        const chart = new TimeChart(uPlot, data, this.view, this.stage.timeline, seek, sync);
        this.charts.push(chart);
        charts.append(h('div.chart-box', null, h('div.chart-head', null, h('h4', null, chartTitle(data)), chart.legend), chart.box));
        chart.point();
      }
    }
  }

  /** moved keeps the place in sight. */
  moved() {
    this.view.reveal(this.stage.timeline.time - this.data.from);
    const {frame} = this.stage.timeline;
    for (const e of this.root.querySelectorAll('[data-frame].here')) {
      e.classList.remove('here');
    }
    for (const e of this.root.querySelectorAll(`[data-frame="${frame}"]`)) {
      e.classList.add('here');
    }
  }

  /** @param {number} factor */
  zoom(factor) {
    const t = this.stage.timeline.time - this.data.from;
    this.view.zoom(factor, t >= this.view.from && t <= this.view.to ? t : undefined);
  }

  close() {
    this.open = false;
    removeEventListener('themechange', this.redraw);
    this.charts.forEach((c) => c.destroy());
    this.stage.timeline.listeners.length = this.before; // the timeline outlives what listened to it here
  }
}

/** @param {{unit: string, series: import('../../types/rig.js').Series[]}} data */
function chartTitle(data) {
  const title = data.series.length === 1 ? plain(data.series[0].name) : data.series.map((s) => plain(s.name)).join(', ');
  return title.charAt(0).toUpperCase() + title.slice(1) + (data.unit ? `, ${data.unit === 'fraction' ? '%' : data.unit}` : '');
}

/** @param {import('../../types/rig.js').Window} w */
function about(w) {
  const kind = {markers: 'between green and red', end: 'after the green', all: 'all of the recording'}[w.kind];
  const all = [`frames ${grouped(w.start_frame)} – ${grouped(w.end_frame)}`, clock(w.end_ns - w.start_ns), kind, w.region.length === 4 ? `${w.region[2]} × ${w.region[3]} at ${w.region[0]}, ${w.region[1]}` : ''];
  if (w.masks.length) {
    all.push(w.masks.length === 1 ? '1 region left out' : `${w.masks.length} regions left out`);
  }
  if (w.tolerance > 0 || w.min_pixels > 0) {
    all.push(`tolerance ${w.tolerance}, ${grouped(w.min_pixels)} pixels may differ`);
  }
  if (w.t0) {
    all.push(`T0 (${w.t0.source || 'command'}) ${grouped((w.start_ns - w.t0.at_ns) / 1e6)} ms before the first change`);
  }
  return all.filter(Boolean);
}

/**
 * @param {string} run
 * @param {import('../../types/rig.js').Window} w
 * @param {(frame: number) => void} seek
 */
function strips(run, w, seek) {
  const all = w.pictures.filter((p) => p.kind === 'filmstrip' || p.kind === 'waterfall');
  return all.length ? h('div.card.filmstrips', null, h('h3', null, 'Filmstrip'), all.map((p) => figure(run, p, seek))) : null;
}

/** @param {import('../../types/rig.js').Window} w */
function claims(w) {
  const values = new Set(w.results.flatMap((r) => r.values.map((v) => `${r.measure}.${v.name}`)));
  const all = Object.entries(w.claims).filter(([name]) => !values.has(name));
  return all.length ? h('article.card', null, h('h3', null, 'The page says'), h('dl.facts', null, all.map(([name, x]) => h('div', null, h('dt', null, plain(name)), h('dd', null, String(Math.round(x * 1000) / 1000)))))) : null;
}

const mostEvents = 500;

/**
 * @param {import('./lanes.js').RecordedEvent[]} events
 * @param {View} view
 * @param {(frame: number) => void} seek
 */
function eventTable(events, view, seek) {
  return h('details.more-events', null, h('summary', null, `${grouped(events.length)} events as a list`), h('div.scroll.low', null, h('table.values', null,
    h('thead', null, h('tr', null, h('th.number', null, 'Time'), h('th', null, 'Source'), h('th', null, 'Event'), h('th', null, 'Frame'))),
    h('tbody', null, events.slice(0, mostEvents).map((e) => {
      const frame = view.frameAt(e.at_ns);
      const data = e.data ? JSON.stringify(e.data).slice(0, 200) : '';
      return h('tr', null, h('td.number', null, clock(e.at_ns)), h('td', null, e.source), h('td', null, plain(e.kind), data ? h('small', null, data) : null), h('td', null, h('button.to', {onclick: () => seek(frame)}, grouped(frame))));
    })))));
}
