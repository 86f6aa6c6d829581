import {below, clock} from './format.js';

// A view is the part of a window's time that its graphs show. All graphs of a window share one.

/**
 * @typedef {object} ViewData what a view reads of a window; times are in ns
 * @property {number} from time of s
 * @property {number} to time of r, or of e
 * @property {number | null} t0 from s
 * @property {number} start frame s
 * @property {number} first frame whose time stands first
 * @property {number[]} times of frames, from s
 */

export class View {
  /** @param {ViewData} data */
  constructor(data) {
    this.data = data;
    const last = data.times.length ? data.times[data.times.length - 1] : 0;
    const period = data.times.length > 1 ? (last - data.times[0]) / (data.times.length - 1) : 0;
    let from = Math.min(0, data.times[0] ?? 0);
    const to = Math.max(data.to - data.from, last + period, 1);
    if (data.t0 !== null && data.t0 > -3 * to) {
      from = Math.min(from, data.t0);
    }
    /** @type {[number, number]} */
    this.whole = [from - 0.01 * (to - from), to + 0.01 * (to - from)];
    this.from = this.whole[0];
    this.to = this.whole[1];
    this.least = Math.min(this.whole[1] - this.whole[0], Math.max(8 * period, 1));
    /** @type {{from: number, to: number, frame: number}[]} late frames with the time before them */
    this.late = [];
    /** @type {{frame: number} | null} the late frame whose details are shown */
    this.chosen = null;
    /** @type {(() => void)[]} */
    this.listeners = [];
  }

  /**
   * clock is the text of a time. It counts from T0, or from s without T0.
   * @param {number} t from s
   */
  clock(t) {
    return clock(t - (this.data.t0 ?? 0));
  }

  /** @param {() => void} listener */
  onChange(listener) {
    this.listeners.push(listener);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  show(from, to) {
    const width = Math.min(Math.max(to - from, this.least), this.whole[1] - this.whole[0]);
    from = Math.max(this.whole[0], Math.min(this.whole[1] - width, from));
    if (from !== this.from || from + width !== this.to) {
      this.from = from;
      this.to = from + width;
      this.listeners.forEach((tell) => tell());
    }
  }

  /**
   * zoom keeps a time where it is on the screen.
   * @param {number} factor
   * @param {number} [around]
   */
  zoom(factor, around) {
    const t = around ?? (this.from + this.to) / 2;
    this.show(t - (t - this.from) * factor, t + (this.to - t) * factor);
  }

  all() {
    this.show(this.whole[0], this.whole[1]);
  }

  /**
   * reveal turns the page where a time is out of sight.
   * @param {number} t
   */
  reveal(t) {
    const width = this.to - this.from;
    if (t >= this.whole[0] && t <= this.whole[1] && (t < this.from || t > this.to)) {
      this.show(t - 0.1 * width, t + 0.9 * width);
    }
  }

  /**
   * timeOf is a frame's time from the window's start, or NaN outside.
   * @param {number} frame
   */
  timeOf(frame) {
    return this.data.times[frame - this.data.first] ?? NaN;
  }

  /**
   * frameAt is the frame that is nearest to a time.
   * @param {number} t
   */
  frameAt(t) {
    const times = this.data.times;
    if (!times.length) {
      return this.data.start;
    }
    const i = below(times, t);
    const nearer = i > 0 && (i === times.length || t - times[i - 1] <= times[i] - t) ? i - 1 : i;
    return this.data.first + nearer;
  }
}
