// Lanes lie above the charts on the same times: the frames of a window, and the events of its recording.

import {h} from './dom.js';
import {resolved} from './charts.js';
import {below, clock, grouped} from '../shared/format.js';
import {plain} from './words.js';

const left = 50; // as much as the charts' axis
const right = 10;

/** @typedef {import('../../types/rig.js').RecordedEvent} RecordedEvent */

/** Lane is a canvas over a window's time, with the cursor where the timeline stands. */
class Lane {
  /**
   * @param {import('../shared/view.js').View} view
   * @param {import('../shared/timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   * @param {number} height
   * @param {string} label
   */
  constructor(view, timeline, seek, height, label) {
    this.view = view;
    this.timeline = timeline;
    this.height = height;
    this.canvas = h('canvas.lane', {role: 'img', 'aria-label': label});
    this.cursor = h('div.chart-cursor');
    this.tip = h('p.lane-tip', {hidden: true});
    this.box = h('div.lane-box', null, this.canvas, this.cursor, this.tip);
    this.width = 0;
    view.onChange(() => this.draw());
    timeline.onMove(() => this.point());
    new ResizeObserver(() => this.draw()).observe(this.box);
    const at = (/** @type {PointerEvent} */ event) => view.from + (event.offsetX - left) / (this.width - left - right) * (view.to - view.from);
    let dragged = false;
    this.canvas.addEventListener('pointerdown', (/** @type {PointerEvent} */ event) => {
      if (event.button === 0) {
        dragged = true;
        this.canvas.setPointerCapture(event.pointerId);
        seek(view.frameAt(at(event)));
      }
    });
    this.canvas.addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
      if (dragged) {
        seek(view.frameAt(at(event)));
      }
      const text = this.told(at(event), event.offsetY);
      this.tip.hidden = !text;
      this.tip.textContent = text;
      this.tip.style.left = `${Math.min(event.offsetX + 12, Math.max(0, this.width - this.tip.offsetWidth - 4))}px`;
    });
    for (const end of ['pointerup', 'pointercancel', 'pointerleave']) {
      this.canvas.addEventListener(end, () => {
        dragged = dragged && end === 'pointerleave';
        this.tip.hidden = true;
      });
    }
  }

  /** @param {number} t */
  x(t) {
    return left + (t - this.view.from) / (this.view.to - this.view.from) * (this.width - left - right);
  }

  draw() {
    this.width = this.box.clientWidth;
    const context = this.canvas.getContext('2d');
    if (!this.width || !context) {
      return;
    }
    const scale = devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.height = `${this.height}px`;
    context.scale(scale, scale);
    context.save();
    context.beginPath();
    context.rect(left, 0, this.width - left - right, this.height);
    context.clip();
    this.paint(context);
    context.restore();
    this.letters(context);
    this.point();
  }

  point() {
    const t = this.timeline.time - this.view.data.from;
    const here = t >= this.view.from && t <= this.view.to;
    this.cursor.hidden = !here;
    this.cursor.style.left = `${this.x(t)}px`;
  }

  /** @param {CanvasRenderingContext2D} _ */
  paint(_) {}

  /** @param {CanvasRenderingContext2D} _ */
  letters(_) {}

  /**
   * @param {number} _t
   * @param {number} _y
   * @returns {string}
   */
  told(_t, _y) {
    return '';
  }
}

/** FrameLane shows the frames: those that changed something stand high, those that did not low, and those that are missing are hatched. */
export class FrameLane extends Lane {
  /**
   * @param {import('../shared/view.js').View} view
   * @param {import('../shared/timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   */
  constructor(view, timeline, seek) {
    super(view, timeline, seek, 40, 'Frames: those that changed something are high');
    const w = /** @type {import('./film.js').WindowData} */ (view.data);
    const unique = w.whole.results.find((r) => r.measure === 'fps')?.series.find((s) => s.name === 'frame_time');
    this.unique = unique ? new Set(unique.frames) : null;
    this.evidence = new Map(w.whole.results.flatMap((r) => r.evidence.map((e) => /** @type {[number, string]} */ ([e.frame, e.kind]))));
    this.lost = w.lost;
  }

  /** @param {CanvasRenderingContext2D} context */
  paint(context) {
    const {times, first} = this.view.data;
    const from = Math.max(0, below(times, this.view.from) - 1);
    const to = Math.min(times.length, below(times, this.view.to) + 1);
    const period = times.length > 1 ? (times[times.length - 1] - times[0]) / (times.length - 1) : 0;
    const pixel = this.x(period) - this.x(0);
    const width = Math.max(1, Math.min(pixel - (pixel > 4 ? 1.5 : 0), 24));
    for (const l of this.lost) {
      const end = this.view.timeOf(l.before_frame);
      const begin = this.view.timeOf(l.before_frame - 1);
      context.fillStyle = resolved('bad');
      for (let x = this.x(Number.isNaN(begin) ? end : begin) + width; x < this.x(end); x += 4) {
        context.fillRect(x, 8, 2, 26);
      }
    }
    const looks = {high: resolved('line-0'), low: resolved('muted'), shown: resolved('doubt')};
    for (let i = from; i < to; i++) {
      const x = this.x(times[i]);
      const high = !this.unique || this.unique.has(first + i);
      context.fillStyle = high ? looks.high : looks.low;
      context.globalAlpha = high ? 1 : 0.5;
      context.fillRect(x, high ? 10 : 18, width, high ? 24 : 7);
      context.globalAlpha = 1;
      if (this.evidence.has(first + i)) {
        context.fillStyle = looks.shown;
        context.beginPath();
        context.moveTo(x + width / 2, 8);
        context.lineTo(x + width / 2 - 4, 1);
        context.lineTo(x + width / 2 + 4, 1);
        context.fill();
      }
    }
  }

  /** @param {number} t */
  told(t) {
    const frame = this.view.frameAt(t);
    const lost = this.lost.find((l) => l.before_frame === frame);
    return [`frame ${grouped(frame)}`, clock(this.view.timeOf(frame)), this.unique && (this.unique.has(frame) ? 'changed' : 'the same as before'),
      plain(this.evidence.get(frame) ?? ''), lost && `${grouped(lost.frames)} lost before it: ${lost.cause}`].filter(Boolean).join(' · ');
  }
}

const line = 18; // pixels of a source of events

/** EventLane shows what was sent and seen, a line for each source. */
export class EventLane extends Lane {
  /**
   * @param {import('../shared/view.js').View} view
   * @param {import('../shared/timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   * @param {RecordedEvent[]} events of the window; times from its start
   */
  constructor(view, timeline, seek, events) {
    const sources = [...new Set(events.map((e) => e.source))].sort();
    super(view, timeline, seek, Math.max(1, sources.length) * line + 4, 'Events of the recording; they are listed below');
    this.sources = sources;
    this.events = events;
  }

  /** @param {CanvasRenderingContext2D} context */
  paint(context) {
    this.sources.forEach((source, i) => {
      const y = i * line + line / 2 + 2;
      context.fillStyle = resolved('grid');
      context.fillRect(left, y, this.width, 1);
      context.fillStyle = resolved(`line-${(i + 3) % 6}`);
      for (const e of this.events) {
        if (e.source === source) {
          const x = this.x(e.at_ns);
          const spread = Math.max(0, this.x(e.at_ns + e.uncertainty_ns) - x);
          context.globalAlpha = 0.3;
          context.fillRect(x - spread, y - 3, 2 * spread, 6);
          context.globalAlpha = 1;
          context.beginPath();
          context.moveTo(x, y - 6);
          context.lineTo(x + 5, y);
          context.lineTo(x, y + 6);
          context.lineTo(x - 5, y);
          context.fill();
        }
      }
    });
  }

  /** @param {CanvasRenderingContext2D} context */
  letters(context) {
    context.fillStyle = resolved('muted');
    context.font = '10px system-ui, sans-serif';
    context.textAlign = 'right';
    this.sources.forEach((source, i) => context.fillText(source.slice(0, 9), left - 4, i * line + line / 2 + 5));
  }

  /**
   * @param {number} t
   * @param {number} y
   */
  told(t, y) {
    const source = this.sources[Math.floor((y - 2) / line)];
    const reach = 8 / (this.width - left - right) * (this.view.to - this.view.from);
    const near = this.events.filter((e) => e.source === source && Math.abs(e.at_ns - t) < reach).slice(0, 4);
    return near.map((e) => `${plain(e.kind)} ${clock(e.at_ns)}`).join(' · ');
  }
}
