// Lanes lie above the charts on the same times: the frames of a window, and the events of its recording.

import {h} from './dom.js';
import {below, grouped, lasts} from './format.js';
import {margin, Plot} from './plot.js';
import {plain} from './words.js';

/** @typedef {import('rig').RecordedEvent} RecordedEvent */

/** FrameLane shows frames: those that changed something are high, others low, lost ones hatched. */
export class FrameLane extends Plot {
  /**
   * @param {import('./view.js').View} view
   * @param {import('./timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   */
  constructor(view, timeline, seek) {
    super(view, timeline, seek, 46, 'Frames: those that changed something are high');
    const w = /** @type {import('./film.js').WindowData} */ (view.data);
    const {results} = w.whole;
    const unique = results.find((r) => r.measure === 'fps')?.series.find((s) => s.name === 'frame_time');
    this.unique = unique ? new Set(unique.frames) : null; // null: not measured
    /** @type {Map<number, string>} */
    this.evidence = new Map(results.flatMap((r) => r.evidence.map((e) => [e.frame, e.kind])));
    this.lost = w.lost;
    this.begin();
  }

  /**
   * paint draws one path for each look, so that many frames are few elements.
   * @param {Element} parent
   */
  paint(parent) {
    this.lateBands(parent);
    this.marks(parent, 8, 36);
    const {times, first} = this.view.data;
    const late = new Set(this.view.late.map((l) => l.frame));
    /** @type {Record<string, string[]>} */
    const paths = {same: [], unique: [], late: [], shown: []};
    const from = Math.max(0, below(times, this.view.from) - 1);
    const to = Math.min(times.length, below(times, this.view.to) + 1);
    const period = times.length > 1 ? (times[times.length - 1] - times[0]) / (times.length - 1) : 0;
    const pixel = this.x(period) - this.x(0);
    const width = Math.max(1, Math.min(pixel - (pixel > 4 ? 1.5 : 0), 24));
    for (let i = from; i < to; i++) {
      const x = this.x(times[i]);
      if (late.has(first + i)) {
        paths.late.push(`M${x.toFixed(1)} 10h${Math.max(2, width).toFixed(1)}v34h-${Math.max(2, width).toFixed(1)}z`);
      } else if (!this.unique || this.unique.has(first + i)) {
        paths.unique.push(`M${x.toFixed(1)} 10h${width.toFixed(1)}v24h-${width.toFixed(1)}z`);
      } else {
        paths.same.push(`M${x.toFixed(1)} 19h${width.toFixed(1)}v6h-${width.toFixed(1)}z`);
      }
      if (this.evidence.has(first + i)) {
        paths.shown.push(`M${(x + width / 2).toFixed(1)} 6l-4 -6h8z`);
      }
    }
    parent.append(...Object.entries(paths).map(([kind, path]) => h(`path.frames-${kind}`, {d: path.join('')})));
  }

  /** @param {number} frame */
  about(frame) {
    const lost = this.lost.find((l) => l.before_frame === frame);
    const changed = this.unique && (this.unique.has(frame) ? 'changed' : 'the same as before');
    const late = this.view.late.find((l) => l.frame === frame);
    return [changed ?? '', late ? `late, after ${lasts(late.to - late.from)}` : '',
      plain(this.evidence.get(frame) ?? ''),
      lost ? `${grouped(lost.frames)} lost before it: ${lost.cause}` : ''].filter(Boolean);
  }
}

const row = 18; // pixels of a source of events

/** EventLane shows the events that were sent and received, one row for each source. */
export class EventLane extends Plot {
  /**
   * @param {import('./view.js').View} view
   * @param {import('./timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   * @param {RecordedEvent[]} events of the window; times from its start
   */
  constructor(view, timeline, seek, events) {
    const sources = [...new Set(events.map((e) => e.source))].sort();
    super(view, timeline, seek, Math.max(1, sources.length) * row + 4,
      'Events of the recording; they are listed below');
    this.sources = sources;
    this.events = events;
    this.begin();
  }

  /** @param {Element} parent */
  frame(parent) {
    parent.append(...this.sources.map((source, i) =>
      h('text.tick', {x: margin.left - 4, y: i * row + row / 2 + 5, 'text-anchor': 'end'}, source.slice(0, 9))));
  }

  /** @param {Element} parent */
  paint(parent) {
    this.lateBands(parent);
    this.sources.forEach((source, i) => {
      const y = i * row + row / 2 + 2;
      const [spreads, diamonds] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
      for (const e of this.events.filter((one) => one.source === source)) {
        const x = this.x(e.at_ns);
        const spread = Math.max(0, this.x(e.at_ns + e.uncertainty_ns) - x);
        spreads.push(`M${(x - spread).toFixed(1)} ${y - 3}h${(2 * spread).toFixed(1)}v6h${(-2 * spread).toFixed(1)}z`);
        diamonds.push(`M${x.toFixed(1)} ${y - 6}l5 6l-5 6l-5 -6z`);
      }
      const look = `line-${(i + 3) % 6}`;
      parent.append(h('line.grid', {x1: margin.left, x2: margin.left + this.inner, y1: y, y2: y}),
        h(`path.area.${look}`, {d: spreads.join('')}), h(`path.mote.${look}`, {d: diamonds.join('')}));
    });
  }

  /**
   * @param {number} _
   * @param {number} t
   * @param {number} y
   */
  about(_, t, y) {
    const source = this.sources[Math.floor((y - 2) / row)];
    const reach = 8 / this.inner * (this.view.to - this.view.from);
    const near = this.events.filter((e) => e.source === source && Math.abs(e.at_ns - t) < reach).slice(0, 4);
    return near.map((e) => `${plain(e.kind)} ${this.view.clock(e.at_ns)}`);
  }
}
