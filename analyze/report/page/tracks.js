// Tracks of a profile and of the network. They lie under the frames on the same times.

import {h} from './dom.js';
import {grouped, lasts} from './format.js';
import {margin, Plot} from './plot.js';
import {bytes, counted} from './words.js';

/** @typedef {import('rig').Profile} Profile */
/** @typedef {import('rig').ProfileThread} ProfileThread */

const firstThreads = 6;
const threadRow = 32; // pixels of a thread: its name, and below it its activity
const row = 18; // pixels of a kind of event
const requestRow = 9;
const maxRows = 16; // of requests and of kinds of events

/**
 * busy decodes the lane of a thread: the percentage of each step.
 * @param {ProfileThread} thread
 */
function busy({lane}) {
  try {
    return Uint8Array.from(atob(lane), (c) => c.charCodeAt(0));
  } catch {
    return new Uint8Array(); // damaged
  }
}

/**
 * profileWithin is the profile of a window, with times from its first frame; null without one.
 * @param {Profile | undefined} p
 * @param {import('rig').Window[]} windows
 * @param {import('rig').Window} w
 * @param {import('./view.js').View} view
 */
export function profileWithin(p, windows, w, view) {
  if (!p) {
    return null;
  }
  const start = w.start_ns;
  const threads = p.threads.filter((t) => t.step_ns > 0).map((thread) => {
    const lane = {thread, steps: busy(thread), from: thread.from_ns - start, step: thread.step_ns};
    return {...lane, share: mean(lane, view.whole[0], view.whole[1])};
  }).filter((t) => t.share > 0);
  const events = p.events.map((e) => ({...e, from: e.earliest_ns - start, latest: e.latest_ns - start,
    to: e.latest_ns - start + e.duration_ns})).filter((e) => e.to >= view.whole[0] && e.from <= view.whole[1]);
  const late = p.late.filter((l) => windows[l.window] === w)
    .map((l) => ({...l, from: l.from_ns - start, to: l.to_ns - start})).sort((a, b) => a.to - b.to);
  return {profile: p, start, threads, events, late};
}

/** @typedef {NonNullable<ReturnType<typeof profileWithin>>} Within */
/** @typedef {Within['late'][number]} Late */

/**
 * mean is the share of a span in which a thread was on a CPU, in percent.
 * @param {{steps: Uint8Array, from: number, step: number}} lane
 * @param {number} from
 * @param {number} to
 */
function mean({steps, from: zero, step}, from, to) {
  let sum = 0;
  const last = Math.min(steps.length, Math.ceil((to - zero) / step));
  for (let i = Math.max(0, Math.floor((from - zero) / step)); i < last; i++) {
    sum += steps[i] * (Math.min(to, zero + (i + 1) * step) - Math.max(from, zero + i * step));
  }
  return to > from ? sum / (to - from) : 0;
}

/** ThreadLane shows the share of a CPU of each thread, the busiest first. */
export class ThreadLane extends Plot {
  /**
   * @param {import('./view.js').View} view
   * @param {import('./timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   * @param {Within} near
   */
  constructor(view, timeline, seek, {threads}) {
    const shown = Math.min(firstThreads, threads.length);
    super(view, timeline, seek, shown * threadRow + 2, 'Threads on a CPU; they are listed below');
    this.threads = threads;
    this.shown = shown;
    this.more = threads.length > shown ? h('button.button.small', {'aria-expanded': 'false',
      onclick: () => this.unfold()}, `All ${grouped(threads.length)} threads`) : null;
    this.begin();
  }

  unfold() {
    const all = this.shown === this.threads.length;
    this.shown = all ? firstThreads : this.threads.length;
    this.more.textContent = all ? `All ${grouped(this.threads.length)} threads` : `The ${firstThreads} busiest threads`;
    this.more.setAttribute('aria-expanded', String(!all));
    this.resize(this.shown * threadRow + 2);
  }

  /** @param {Element} parent */
  paint(parent) {
    this.lateBands(parent);
    this.threads.slice(0, this.shown).forEach((t, i) => {
      const bottom = (i + 1) * threadRow - 2;
      const high = threadRow - 16;
      let path = `M${margin.left} ${bottom}`;
      let [last, any] = [0, false];
      for (let x = margin.left; x < margin.left + this.inner; x++) {
        const share = Math.min(100, mean(t, this.t(x), this.t(x + 1)));
        const y = share > 0 ? Math.max(1, share / 100 * high) : 0; // short activity stays visible
        if (y !== last) {
          path += `H${x}V${(bottom - y).toFixed(1)}`;
          [last, any] = [y, true];
        }
      }
      parent.append(h('line.grid', {x1: margin.left, x2: margin.left + this.inner, y1: bottom, y2: bottom}),
        any ? h('path.thread-busy', {d: `${path}H${margin.left + this.inner}V${bottom}z`}) : h('path'),
        h('text.thread-name', {x: margin.left + 3, y: i * threadRow + 12}, `${share(t.share)}  ${
          t.thread.text.slice(0, 80)}`));
    });
  }

  /**
   * @param {number} _
   * @param {number} t
   * @param {number} y
   */
  about(_, t, y) {
    const lane = this.threads[Math.min(this.shown - 1, Math.floor(y / threadRow))];
    const at = lane ? lane.steps[Math.floor((t - lane.from) / lane.step)] : undefined;
    return at === undefined ? [] : [`${lane.thread.text} on a CPU for ${at} % of ${lasts(lane.step)}`];
  }
}

/** threadLegend explains the look of threads. */
export const threadLegend = () => h('ul.legend.keys-of-strip', null,
  h('li.k-running', null, 'on a CPU, share of each step'));

/** @param {number} percent */
const share = (percent) => percent < 1 ? '< 1 %' : `${Math.round(percent)} %`;

/** @type {Record<string, string>} kinds of events in the order of their rows */
const kinds = {gc: 'GC', 'long-task': 'long', layout: 'layout', 'missed-frame': 'missed', measure: 'marks'};

/** MomentLane shows events of traces from their earliest begin to their latest end, one row for each kind. */
export class MomentLane extends Plot {
  /**
   * @param {import('./view.js').View} view
   * @param {import('./timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   * @param {Within} near
   */
  constructor(view, timeline, seek, {events}) {
    const order = Object.keys(kinds);
    const rows = [...new Set(events.map((e) => e.kind))].slice(0, maxRows)
      .sort((a, b) => (order.indexOf(a) + 1 || 99) - (order.indexOf(b) + 1 || 99));
    super(view, timeline, seek, rows.length * row + 4,
      'Collections, long tasks and other events; they are listed below');
    this.rows = rows;
    this.events = events;
    this.begin();
  }

  /** @param {Element} parent */
  frame(parent) {
    parent.append(...this.rows.map((kind, i) => h('text.tick', {x: margin.left - 4, y: i * row + 15,
      'text-anchor': 'end'}, (kinds[kind] ?? kind).slice(0, 9))));
  }

  /** @param {Element} parent */
  paint(parent) {
    this.lateBands(parent);
    this.rows.forEach((kind, i) => {
      const y = i * row + 2;
      const [possible, certain] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
      for (const e of this.events) {
        if (e.kind === kind && e.to >= this.view.from && e.from <= this.view.to) {
          const x = this.x(e.from);
          const width = Math.max(2, this.x(e.to) - x).toFixed(1);
          possible.push(`M${x.toFixed(1)} ${y + 3}h${width}v12h-${width}z`);
          const [begun, ends] = [this.x(e.latest), this.x(e.from + e.duration_ns)];
          const sure = e.latest > e.from ? ends - begun : Math.max(2, ends - begun);
          if (sure > 0) {
            certain.push(`M${begun.toFixed(1)} ${y + 3}h${sure.toFixed(1)}v12h-${sure.toFixed(1)}z`);
          }
        }
      }
      const look = `moment-${kinds[kind] ? kind : 'other'}`;
      parent.append(h('line.grid', {x1: margin.left, x2: margin.left + this.inner, y1: y + 9, y2: y + 9}),
        h(`path.possible.${look}`, {d: possible.join('')}), h(`path.certain.${look}`, {d: certain.join('')}));
    });
  }

  /**
   * @param {number} _
   * @param {number} t
   * @param {number} y
   */
  about(_, t, y) {
    const kind = this.rows[Math.floor((y - 2) / row)];
    const reach = 4 / this.inner * (this.view.to - this.view.from);
    return this.events.filter((e) => e.kind === kind && t > e.from - reach && t < e.to + reach).slice(0, 3)
      .map((e) => e.text + (e.latest > e.from ? `, known within ${lasts((e.latest - e.from) / 2)}` : ''));
  }
}

/**
 * momentTable lists events, for keyboards and for ears.
 * @param {Within} near
 * @param {import('./view.js').View} view
 * @param {(frame: number) => HTMLElement} to button to a frame
 */
export function momentTable({profile, events}, view, to) {
  const listed = events.slice(0, 500);
  const clock = (/** @type {number} */ from, /** @type {number} */ latest) => latest > from
    ? `${view.clock(from)} – ${view.clock(latest)}` : view.clock(from);
  return h('details.more-events', null, h('summary', null, events.length > listed.length
    ? `the first ${grouped(listed.length)} of ${grouped(events.length)} events as a list`
    : `${counted(events.length, 'event')} as a list`),
  h('div.scroll.low', null, h('table.values.labelled', null,
    h('thead', null, h('tr', null, h('th', null, 'Event'), h('th', null, 'Thread'), h('th.number', null, 'Begins at'),
      h('th.number', null, 'Lasts'), h('th', null, 'Frame after it'))),
    h('tbody', null, listed.map((e) => h('tr', null,
      h('th', {scope: 'row'}, e.name,
        h('small', null, e.kind === 'gc' ? 'garbage collection' : e.kind.replaceAll('-', ' '))),
      h('td', null, profile.threads[e.thread]?.text ?? ''),
      h('td.number', {'data-of': 'at'}, clock(e.from, e.latest)),
      h('td.number', {'data-of': 'lasts'}, lasts(e.duration_ns)),
      h('td', null, e.frame >= 0 ? to(e.frame) : null)))))),
  profile.events_left_out > 0 ? h('p.quiet-text', null, `${counted(profile.events_left_out, 'later event')} not shown.`)
    : null);
}

/** momentLegend explains the looks of events. */
export const momentLegend = (/** @type {Within} */ {events}) => h('ul.legend.keys-of-strip', null,
  h('li.k-moment', null, 'lasts'), events.some((e) => e.latest > e.from)
    ? h('li.k-possible', null, 'bounds of its time (pale)') : null);

/** RequestLane shows the requests of a run. */
export class RequestLane extends Plot {
  /**
   * @param {import('./view.js').View} view
   * @param {import('./timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   * @param {ReturnType<typeof requestsWithin>} requests
   */
  constructor(view, timeline, seek, requests) {
    const rows = Math.max(1, ...requests.map((r) => r.row + 1));
    super(view, timeline, seek, rows * requestRow + 6, 'Requests; they are listed below');
    this.requests = requests;
    this.begin();
  }

  /** @param {Element} parent */
  paint(parent) {
    this.lateBands(parent);
    /** @type {Record<string, string[]>} */
    const paths = {before: [], wait: [], load: [], missed: []};
    for (const r of this.requests) {
      const y = 3 + r.row * requestRow;
      const bar = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ kind, least = 0) => {
        const width = Math.max(least, this.x(to) - this.x(from)).toFixed(1);
        paths[kind].push(`M${this.x(from).toFixed(1)} ${y}h${width}v7h-${width}z`);
      };
      if (r.status === 0 || r.status >= 400) {
        bar(r.from, r.to, 'missed', 2);
      } else {
        bar(r.from, r.waits, 'before');
        bar(r.waits, r.loads, 'wait');
        bar(r.loads, r.to, 'load', 2);
      }
    }
    parent.append(...Object.entries(paths).map(([kind, path]) => h(`path.request-${kind}`, {d: path.join('')})));
  }

  /**
   * @param {number} _
   * @param {number} t
   * @param {number} y
   */
  about(_, t, y) {
    const reach = 4 / this.inner * (this.view.to - this.view.from);
    const at = Math.floor((y - 3) / requestRow);
    const r = this.requests.find((o) => o.row === at && t > o.from - reach && t < o.to + reach);
    const size = r ? Math.max(r.wire_bytes, r.body_bytes) : -1;
    return r ? [r.url.split(/[?#]/)[0].slice(0, 100), r.status > 0 ? String(r.status) : r.status ? '' : 'no answer',
      lasts(r.to - r.from), size < 0 ? '' : bytes(size)].filter(Boolean) : [];
  }
}

/**
 * requestsWithin are the requests of a window with times from its first frame. Each is in the first free row, or in
 * the last one.
 * @param {import('rig').Request[]} list
 * @param {number} start
 * @param {import('./view.js').View} view
 */
export function requestsWithin(list, start, view) {
  const part = (/** @type {number} */ ns) => Math.max(0, ns);
  /** @type {number[]} ends of the last requests */
  const rows = [];
  const near = list.map((r) => {
    const from = r.begin_ns - start;
    const waits = from + part(r.name_ns) + part(r.connect_ns) + part(r.tls_ns);
    const loads = waits + part(r.wait_ns);
    return {...r, from, waits, loads, to: loads + part(r.load_ns), row: 0};
  }).filter((r) => r.to >= view.whole[0] && r.from <= view.whole[1]).sort((a, b) => a.from - b.from);
  for (const r of near) {
    const free = rows.findIndex((end) => end <= r.from);
    r.row = Math.min(free < 0 ? rows.length : free, maxRows - 1);
    rows[r.row] = r.to;
  }
  return near;
}

/**
 * claimed are the slow requests that pages state, with the status -1. Without the time of its first byte, a request
 * only waits.
 * @param {import('rig').Script | undefined} s
 * @returns {import('rig').Request[]}
 */
export const claimed = (s) => (s?.requests ?? []).map((r) => ({
  method: '', url: r.url, status: -1, protocol: '', priority: '', reused: false, exact: false,
  begin_ns: r.begin_ns, name_ns: -1, connect_ns: -1, tls_ns: -1, wait_ns: r.wait_ns < 0 ? r.took_ns : r.wait_ns,
  load_ns: r.wait_ns < 0 ? 0 : r.took_ns - r.wait_ns, wire_bytes: -1, body_bytes: -1, decoded_bytes: -1,
}));

/** requestLegend explains the looks of requests. */
export const requestLegend = () => h('ul.legend.keys-of-strip', null, h('li.k-before', null, 'name, connection'),
  h('li.k-wait', null, 'waiting'), h('li.k-load', null, 'download'));
