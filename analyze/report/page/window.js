// One window: its numbers, its frames, and charts that share a cursor.

import {h} from './dom.js';
import {Chart, chartsOf, chartTitle} from './chart.js';
import {EventLane, FrameLane} from './lanes.js';
import {View} from './view.js';
import {clock, grouped} from './format.js';
import {answer, checks, first, refused, rest, resultCard, sentences, silent, told} from './results.js';
import {figure, frameButton} from './pictures.js';
import {network} from './network.js';
import {legend, ScriptLane, taskTable, within} from './scripts.js';
import {LateFrames} from './profile.js';
import {claimed, MomentLane, momentLegend, momentTable, profileWithin, RequestLane, requestLegend, requestsWithin,
  ThreadLane, threadLegend} from './tracks.js';
import {counted, plain} from './words.js';

/** @typedef {import('rig').Window} RunWindow */
/** @typedef {import('./pictures.js').Files} Files */

export class WindowView {
  /**
   * @param {Files} files
   * @param {import('./film.js').WindowData} data
   * @param {import('./stage.js').Stage} stage
   * @param {import('./lanes.js').RecordedEvent[]} events of the run
   * @param {(frame: number) => void} seek
   * @param {import('rig').Results | null} run
   */
  constructor(files, data, stage, events, seek, run) {
    this.data = data;
    this.stage = stage;
    this.view = new View(data);
    const {view} = this;
    const {timeline} = stage;
    this.before = timeline.listeners.length;
    /** @type {import('./plot.js').Plot[]} */
    this.plots = [];
    const drawn = (/** @type {any} */ plot) => {
      this.plots.push(plot);
      return plot.box;
    };
    const w = data.whole;
    const ran = within(run?.script, w.start_ns, view);
    const near = events.map((e) => ({...e, at_ns: e.at_ns - data.from}))
      .filter((e) => e.at_ns >= view.whole[0] && e.at_ns <= view.whole[1] && !(ran && e.source === 'script'));
    const link = run?.network;
    const requests = requestsWithin(link?.list.length ? link.list : claimed(run?.script), w.start_ns, view);
    const profile = profileWithin(run?.profile, run?.windows ?? [], w, view);
    view.late = profile?.late ?? [];
    const threads = profile?.threads.length ? new ThreadLane(view, timeline, seek, profile) : null;
    this.late = profile?.late.length ? new LateFrames(view, timeline, seek, profile) : null;
    const asked = run?.settings.measures ?? [];
    const said = told(w, asked);
    const cards = w.results.filter((r) => !silent(r)).map((r) => resultCard(files, w, r, seek, chartsOf(r).map((c) => {
      const chart = new Chart(c, view, timeline, seek);
      return h('div.chart-box', null, h('div.chart-head', null, h('h4', null, chartTitle(c)), chart.legend),
        drawn(chart));
    }), said));
    const differ = w.checks.some((k) => !k.agrees && !k.unchecked);
    const none = w.results.filter(silent);
    const wanted = none.filter((r) => first(w, r, asked));
    this.root = h('section.window', {'aria-label': title(w)},
      h('div.heading', null, h('h2', null, title(w)), stage.video.src
        ? h('button.play-window', {onclick: () => stage.player.playRange(w.start_frame, w.end_frame)}, 'Play') : null),
      answer(w, seek), sentences([...w.warnings, ...said]), refused(wanted), differ ? checks(w, seek) : null,
      w.frame_times.time_ns.length ? h('div.card.strip-card', null,
        h('div.chart-head', null, h('h3', null, 'Frames'), h('ul.legend.keys-of-strip', null,
          h('li.k-unique', null, 'changed (high)'), h('li.k-same', null, 'the same as before (low)'),
          this.late ? h('li.k-late', null, 'late (higher)') : null,
          h('li.k-lost', null, 'lost (hatched)'), h('li.k-shown', null, 'has evidence (▼)')), this.zoomButtons()),
        drawn(new FrameLane(view, timeline, seek)),
        near.length ? [lane('Events'), drawn(new EventLane(view, timeline, seek, near)),
          eventTable(near, view, seek)] : null,
        requests.length ? [lane('Requests', requestLegend()),
          drawn(new RequestLane(view, timeline, seek, requests))] : null,
        ran ? [lane('Scripts', legend(ran)), drawn(new ScriptLane(view, timeline, seek, ran)),
          taskTable(ran, view, seek)] : null,
        threads ? [lane('Threads', threadLegend(), threads.more), drawn(threads)] : null,
        profile?.events.length ? [lane('Collections and long tasks', momentLegend(profile)),
          drawn(new MomentLane(view, timeline, seek, profile)),
          momentTable(profile, view, (frame) => frameButton(frame, seek))] : null) : null,
      this.late ? h('section.card.late-card', {'aria-label': 'Late frames'}, h('h3', null, 'Late frames'),
        this.late.root) : null,
      strips(files, w, seek), link ? network(files, link, view, w.start_ns, seek) : null,
      this.fold(w, [h('p.about', null, about(w).map((text) => h('span', null, text))),
        differ ? null : checks(w, seek), cards, refused(none.filter((r) => !wanted.includes(r))), claims(w),
        others(files, w, seek)]));
  }

  /**
   * fold shows the rest on demand. It stays as it is from window to window.
   * @param {RunWindow} w
   * @param {import('./dom.js').Child[]} nodes
   */
  fold(w, nodes) {
    const n = w.results.reduce((sum, r) => sum + rest(w, r).length, 0);
    const fold = h('details.fold', {open: this.stage.unfolded}, h('summary', null,
      n ? `${counted(n, 'more value')}, charts and evidence` : 'Charts and evidence'), nodes.flat());
    fold.addEventListener('toggle', () => { this.stage.unfolded = fold.open; });
    return fold;
  }

  zoomButtons() {
    return h('span.zoom', null,
      h('button', {title: 'Zoom in (+)', 'aria-label': 'Zoom in', onclick: () => this.zoom(0.5)}, '+'),
      h('button', {title: 'Zoom out (−)', 'aria-label': 'Zoom out', onclick: () => this.zoom(2)}, '−'),
      h('button', {title: 'Show all (0)', onclick: () => this.view.all()}, 'all'));
  }

  /** draw draws all charts at once, for print. */
  draw() {
    this.root.querySelector('.fold').open = true;
    this.plots.forEach((plot) => plot.draw());
  }

  /** moved keeps the timeline's place in sight. */
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
    this.stage.timeline.listeners.length = this.before; // the timeline is used by the next window
  }
}

/** @param {RunWindow} w */
export const title = (w) => w.name || `Frames ${grouped(w.start_frame)} – ${grouped(w.end_frame)}`;

/**
 * lane is the head of a lane.
 * @param {string} name
 * @param {...(Element | null)} looks
 */
const lane = (name, ...looks) => h('div.chart-head', null, h('h3', null, name), looks);

const ms = (/** @type {number} */ ns) => `${(ns / 1e6).toFixed(2).replace(/\.?0+$/, '')} ms`;

/** @param {RunWindow} w */
function about(w) {
  const kinds = {markers: 'between green and red', end: 'after the green', all: 'all of the recording'};
  const all = [`frames ${grouped(w.start_frame)} – ${grouped(w.end_frame)}`, clock(w.end_ns - w.start_ns),
    kinds[/** @type {'all'} */ (w.kind)],
    w.region.length === 4 ? `${w.region[2]} × ${w.region[3]} at ${w.region[0]}, ${w.region[1]}` : ''];
  if (w.masks.length) {
    all.push(`${counted(w.masks.length, 'region')} masked`);
  }
  if (w.tolerance > 0 || w.min_pixels > 0 || w.noise) {
    const held = w.noise ? `, calibrated on ${counted(w.noise.frames, 'held frame')}` : '';
    const pattern = w.noise?.pattern_frames ? `, ${grouped(w.noise.pattern_frames)} of them of a pattern` : '';
    all.push(`tolerance ${w.tolerance}, ${counted(w.min_pixels, 'pixel')} may differ${held}${pattern}`);
  }
  if (w.t0) {
    const error = w.t0.uncertainty_ns ? `, ± ${ms(w.t0.uncertainty_ns)}` : '';
    all.push(`T0 (${w.t0.source || 'command'}) ${ms(w.start_ns - w.t0.at_ns)} before the first change${error}`);
  }
  return all.filter(Boolean);
}

const isStrip = (/** @type {import('rig').Picture} */ p) => p.kind === 'filmstrip' || p.kind === 'waterfall';

/**
 * @param {Files} files
 * @param {RunWindow} w
 * @param {(frame: number) => void} seek
 */
function strips(files, w, seek) {
  const all = w.pictures.filter((p) => isStrip(p) && files.url(p.file));
  return all.length ? h('div.card.filmstrips', null, h('h3', null, 'Filmstrip'), all.map((p) => figure(files, p, seek)))
    : null;
}

/**
 * others are pictures that belong to no measure of the window.
 * @param {Files} files
 * @param {RunWindow} w
 * @param {(frame: number) => void} seek
 */
function others(files, w, seek) {
  const measures = new Set(w.results.filter((r) => !silent(r)).map((r) => r.measure));
  const all = w.pictures.filter((p) => !isStrip(p) && p.kind !== 'evidence' && !measures.has(p.measure ?? '')
    && !(p.kind === 'heatmap' && files.read) && files.url(p.file));
  return all.length ? h('article.card', null, h('h3', null, 'Pictures'), all.map((p) => figure(files, p, seek))) : null;
}

/** @param {RunWindow} w */
function claims(w) {
  const values = new Set(w.results.flatMap((r) => r.values.map((v) => `${r.measure}.${v.name}`)));
  const all = Object.entries(w.claims).filter(([name]) => !values.has(name));
  return all.length ? h('article.card', null, h('h3', null, 'The page says'), h('dl.facts', null, all.map(([name, x]) =>
    h('div', null, h('dt', null, plain(name)), h('dd', null, w.claim_texts?.[name] ?? String(x)))))) : null;
}

const maxEvents = 500;

/**
 * @param {import('./lanes.js').RecordedEvent[]} events
 * @param {View} view
 * @param {(frame: number) => void} seek
 */
function eventTable(events, view, seek) {
  const rows = events.slice(0, maxEvents).map((e) => {
    const frame = view.frameAt(e.at_ns);
    const data = e.data ? JSON.stringify(e.data).slice(0, 200) : '';
    return h('tr', null, h('td.number', null, view.clock(e.at_ns)), h('td', null, e.source),
      h('td', null, plain(e.kind), data ? h('small', null, data) : null),
      h('td', null, h('button.to', {onclick: () => seek(frame)}, grouped(frame))));
  });
  return h('details.more-events', null, h('summary', null, `${grouped(events.length)} events as a list`),
    h('div.scroll.low', null, h('table.values', null,
      h('thead', null, h('tr', null, h('th.number', null, 'Time'), h('th', null, 'Source'), h('th', null, 'Event'),
        h('th', null, 'Frame'))),
      h('tbody', null, rows))));
}
