import {below} from './format.js';

// The timeline is all places at which the page can stand: the frames of the video, or without one the frames of the
// windows. Each has the number of the captured frame that it shows (-1: it was not recorded) and a time.

/**
 * @typedef {object} Film which captured frame each frame of the video shows
 * @property {string} source address of the video
 * @property {number} rate frames of the video a second
 * @property {number[]} frames the captured frame that each of them shows, -1 where it was not recorded
 * @property {number[]} times of each, in ns
 * @property {number[]} content where in the video the recording's picture is: x, y, width, height as fractions
 */

/**
 * @typedef {object} WindowTimes
 * @property {number} from time of the first frame, in ns
 * @property {number} first frame whose time stands first
 * @property {number[]} times of frames, from there
 */

export class Timeline {
  /** @param {{film: Film | null, windows: WindowTimes[]}} data */
  constructor(data) {
    this.windows = data.windows;
    this.rate = data.film ? data.film.rate : 0;
    this.frames = data.film ? data.film.frames : this.framesOfWindows();
    this.times = this.frames.map((n, i) => this.timeOf(n) ?? (data.film && n >= 0 ? data.film.times[i] : NaN));
    this.bridge();
    /** @type {Map<number, number>} */
    this.placeOf = new Map();
    this.frames.forEach((n, place) => {
      if (n >= 0 && !this.placeOf.has(n)) {
        this.placeOf.set(n, place);
      }
    });
    this.known = [...this.placeOf.keys()].sort((a, b) => a - b);
    this.place = 0;
    this.stood = false;
    /** @type {(() => void)[]} */
    this.listeners = [];
  }

  framesOfWindows() {
    /** @type {Set<number>} */
    const all = new Set();
    for (const w of this.windows) {
      w.times.forEach((_, i) => all.add(w.first + i));
    }
    return [...all].sort((a, b) => a - b);
  }

  /**
   * timeOf is a frame's time as the measures have it, where it is in a window.
   * @param {number} frame
   */
  timeOf(frame) {
    for (const w of this.windows) {
      const t = w.times[frame - w.first];
      if (t !== undefined) {
        return w.from + t;
      }
    }
    return undefined;
  }

  // bridge gives places whose time is not known one between their neighbours'.
  bridge() {
    const t = this.times;
    for (let i = 0; i < t.length; i++) {
      if (!Number.isNaN(t[i])) {
        continue;
      }
      let to = i;
      while (to < t.length && Number.isNaN(t[to])) {
        to++;
      }
      const period = this.rate ? 1e9 / this.rate : 0;
      const before = i > 0 ? t[i - 1] : (to < t.length ? t[to] - (to - i + 1) * period : 0);
      const step = to < t.length && i > 0 ? (t[to] - before) / (to - i + 1) : period;
      for (let k = i; k < to; k++) {
        t[k] = before + (k - i + 1) * step;
      }
      i = to;
    }
  }

  get frame() {
    return this.frames[this.place] ?? -1;
  }

  get time() {
    return this.times[this.place];
  }

  /**
   * placeFor is where a frame is shown, or the nearest before it that is.
   * @param {number} frame
   */
  placeFor(frame) {
    const exact = this.placeOf.get(frame);
    if (exact !== undefined) {
      return exact;
    }
    const i = below(this.known, frame, true);
    return this.placeOf.get(this.known[Math.max(0, i - 1)]) ?? 0;
  }

  /**
   * stepped is the place so many captured frames on, or back. Where a frame was lost that is the next that was not.
   * @param {number} n
   */
  stepped(n) {
    let place = this.place;
    for (let left = Math.abs(n), way = Math.sign(n); left > 0; left--) {
      let next = place + way;
      while (next >= 0 && next < this.frames.length &&
        (this.frames[next] < 0 || this.frames[next] === this.frames[place])) {
        next += way;
      }
      if (next < 0 || next >= this.frames.length) {
        break;
      }
      place = this.placeFor(this.frames[next]);
    }
    return place;
  }

  /** @param {() => void} listener */
  onMove(listener) {
    this.listeners.push(listener);
  }

  /**
   * stand moves everything that shows a place, apart from the video.
   * @param {number} place
   */
  stand(place) {
    const clamped = Math.max(0, Math.min(this.frames.length - 1, place));
    if (clamped !== this.place || !this.stood) {
      this.stood = true;
      this.place = clamped;
      this.listeners.forEach((tell) => tell());
    }
  }
}
