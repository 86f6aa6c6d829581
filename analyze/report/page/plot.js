// Drawing over a window's time: scales, ticks, and lines of as many points as there are pixels.

import {h} from './dom.js';
import {grouped, million, rounded} from './format.js';

export const margin = {left: 50, right: 10, top: 8, bottom: 20};

/**
 * ticks returns round numbers between two, about so many.
 * @param {number} from
 * @param {number} to
 * @param {number} about
 */
export function ticks(from, to, about) {
  const rough = (to - from) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.999) ?? 10 * power;
  const all = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k++) {
    all.push(k * step);
  }
  return {step, all};
}

/**
 * tickText has as many digits as its step needs.
 * @param {number} value
 * @param {number} step
 */
export function tickText(value, step) {
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  if (Math.abs(value) >= 10000 && step >= 100) {
    return rounded(value / 1000) + 'k';
  }
  return value.toFixed(Math.min(digits, 6)).replace('-', '−');
}

/**
 * linePath is the path of a series' points, x ascending; null is a break. Points of one pixel column become its
 * first, least, greatest and last, which looks the same.
 * @param {({x: number, y: number} | null)[]} points
 * @param {boolean} holds
 * @param {number} right
 */
export function linePath(points, holds, right) {
  const parts = [];
  let move = true;
  let lastY = 0;
  for (let i = 0; i < points.length;) {
    const p = points[i];
    if (p === null) {
      move = true;
      i++;
      continue;
    }
    const column = Math.round(p.x);
    let [last, low, high] = [p, p.y, p.y];
    let next = i + 1;
    for (let q = points[next]; q && Math.round(q.x) === column; q = points[++next]) {
      last = q;
      low = Math.min(low, q.y);
      high = Math.max(high, q.y);
    }
    const x = p.x.toFixed(1);
    if (!move && holds) {
      parts.push(`L${x} ${lastY.toFixed(1)}`);
    }
    parts.push(`${move ? 'M' : 'L'}${x} ${p.y.toFixed(1)}`);
    if (last !== p) {
      parts.push(`L${x} ${low.toFixed(1)}L${x} ${high.toFixed(1)}L${x} ${last.y.toFixed(1)}`);
    }
    lastY = last.y;
    move = false;
    i = next;
  }
  if (holds && !move) {
    parts.push(`L${right.toFixed(1)} ${lastY.toFixed(1)}`);
  }
  return parts.join('');
}

/** Plot draws over a window's time, with a cursor where the timeline is. */
export class Plot {
  /**
   * @param {import('./view.js').View} view
   * @param {import('./timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   * @param {number} height
   * @param {string} label
   */
  constructor(view, timeline, seek, height, label) {
    this.view = view;
    this.timeline = timeline;
    this.height = height;
    this.bottom = height; // of the cursor
    this.inner = 0; // pixels of the time shown
    this.svg = h('svg.plot', {height});
    this.tip = h('p.tip', {hidden: true});
    this.box = h('div.chart', {role: 'img', 'aria-label': label}, this.svg, this.tip);
    this.pointing(seek);
  }

  /** begin draws the plot, and again whenever the time shown or its width changes. */
  begin() {
    this.view.onChange(() => this.draw());
    this.timeline.onMove(() => this.point());
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) {
      return;
    }
    this.inner = Math.max(10, width - margin.left - margin.right);
    this.svg.setAttribute('viewBox', `0 0 ${width} ${this.height}`);
    this.svg.setAttribute('width', width);
    const clip = h('svg', {
      x: margin.left, y: 0, width: this.inner, height: this.height,
      viewBox: `${margin.left} 0 ${this.inner} ${this.height}`,
    });
    this.svg.replaceChildren();
    this.frame(this.svg);
    this.paint(clip);
    this.pointer = h('line.pointer', {y1: 0, y2: this.bottom, visibility: 'hidden'});
    this.cursor = h('line.cursor', {y1: 0, y2: this.bottom});
    clip.append(this.pointer, this.cursor);
    this.svg.append(clip);
    this.point();
  }

  /** @param {number} t ns from the window's start */
  x(t) {
    return margin.left + (t - this.view.from) / (this.view.to - this.view.from) * this.inner;
  }

  /** @param {number} x */
  t(x) {
    return this.view.from + (x - margin.left) / this.inner * (this.view.to - this.view.from);
  }

  /** point puts the cursor to the timeline's place. */
  point() {
    if (!this.cursor) {
      return;
    }
    const t = this.timeline.time - this.view.data.from;
    const here = t >= this.view.whole[0] && t <= this.view.whole[1];
    this.cursor.setAttribute('visibility', here ? 'visible' : 'hidden');
    if (here) {
      this.cursor.setAttribute('x1', this.x(t));
      this.cursor.setAttribute('x2', this.x(t));
    }
    this.pointed(t, here);
  }

  /**
   * frame draws axes and labels around the plot.
   * @param {Element} _
   */
  frame(_) {}

  /**
   * paint draws what is clipped to the time shown.
   * @param {Element} _
   */
  paint(_) {}

  /**
   * pointed is called with the cursor's time, and whether that is in the window.
   * @param {number} _t
   * @param {boolean} _here
   */
  pointed(_t, _here) {}

  /**
   * about returns the tip's parts for a frame.
   * @param {number} _frame
   * @param {number} _t
   * @param {number} _y pixels from the top
   * @returns {string[]}
   */
  about(_frame, _t, _y) {
    return [];
  }

  /**
   * marks draws T0, the markers and lost frames.
   * @param {Element} parent
   * @param {number} top
   * @param {number} bottom
   */
  marks(parent, top, bottom) {
    const {view} = this;
    const w = /** @type {import('./film.js').WindowData} */ (view.data);
    const band = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ kind) => {
      if (to > view.from && from < view.to && to > from) {
        const width = Math.max(1, this.x(to) - this.x(from));
        parent.append(h('rect.' + kind, {x: this.x(from), width, y: top, height: bottom - top}));
      }
    };
    if (w.green >= 0) {
      band(view.whole[0], 0, 'band-nothing');
      const x = this.x(Math.max(view.from, view.whole[0]));
      if (this.x(0) - x > 90) {
        parent.append(h('text.nothing-text', {x: this.x(0) - 6, y: bottom - 4, 'text-anchor': 'end'}, 'nothing yet'));
      }
    }
    if (w.red >= 0) {
      band(w.to - w.from, view.whole[1], 'band-red');
    }
    for (const l of w.lost) {
      const to = view.timeOf(l.before_frame);
      const from = view.timeOf(l.before_frame - 1);
      band(Number.isNaN(from) ? to : from, to, 'band-lost');
    }
    if (w.t0 !== null) {
      const x = this.x(w.t0);
      parent.append(h('line.mark-t0', {x1: x, x2: x, y1: top, y2: bottom}),
        h('text.mark-text', {x: x + 4, y: top + 10}, 'T0'));
    }
  }

  /** resize draws the plot in another height. */
  resize(/** @type {number} */ height) {
    this.height = this.bottom = height;
    this.svg.setAttribute('height', String(height));
    this.draw();
  }

  /**
   * lateBands marks the time before each late frame.
   * @param {Element} parent
   */
  lateBands(parent) {
    this.view.late.forEach((l, i) => {
      const x = this.x(l.from);
      parent.append(h(`rect.band-late${l === this.view.chosen ? '.chosen' : ''}`, {x, y: 0,
        width: Math.max(2, this.x(l.to) - x), height: this.height, 'data-late': i}));
    });
  }

  /**
   * timeAxis draws the axis of time at the bottom. It counts from T0.
   * @param {Element} parent
   */
  timeAxis(parent) {
    const fine = this.view.to - this.view.from < 2e9;
    const unit = fine ? million : 1e9;
    const zero = this.view.data.t0 ?? 0;
    const {step, all} = ticks((this.view.from - zero) / unit, (this.view.to - zero) / unit, this.inner / 90);
    for (const t of all) {
      const x = this.x(t * unit + zero);
      parent.append(h('line.grid', {x1: x, x2: x, y1: margin.top, y2: this.height - margin.bottom}),
        h('text.tick', {x, y: this.height - 5, 'text-anchor': 'middle'}, tickText(t, step) + (fine ? ' ms' : ' s')));
    }
  }

  /**
   * pointing lets a plot be clicked, dragged in and hovered over, and zoomed with ctrl and the wheel.
   * @param {(frame: number) => void} seek
   */
  pointing(seek) {
    const {svg, tip} = this;
    const timeAt = (/** @type {PointerEvent | WheelEvent} */ e) => this.t(e.clientX - svg.getBoundingClientRect().left);
    const frameAt = (/** @type {PointerEvent} */ event) => this.view.frameAt(timeAt(event));
    let dragged = false;
    svg.addEventListener('pointerdown', (/** @type {PointerEvent} */ event) => {
      if (event.button === 0) {
        svg.setPointerCapture(event.pointerId);
        dragged = true;
        seek(frameAt(event));
      }
    });
    svg.addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
      const frame = frameAt(event);
      if (dragged) {
        seek(frame);
      }
      const t = this.view.timeOf(frame);
      if (this.pointer && !Number.isNaN(t)) {
        this.pointer.setAttribute('x1', this.x(t));
        this.pointer.setAttribute('x2', this.x(t));
        this.pointer.setAttribute('visibility', 'visible');
        const y = event.clientY - svg.getBoundingClientRect().top;
        tip.textContent = [`frame ${grouped(frame)}`, this.view.clock(t), ...this.about(frame, timeAt(event), y)]
          .join(' · ');
        tip.hidden = false;
        const room = document.documentElement.clientWidth - tip.offsetWidth - 4;
        tip.style.left = `${Math.max(4, Math.min(room, event.clientX + 14))}px`;
        tip.style.top = `${Math.max(4, event.clientY - 34)}px`;
      }
    });
    for (const end of ['pointerup', 'pointercancel', 'pointerleave']) {
      svg.addEventListener(end, () => {
        dragged = dragged && end === 'pointerleave';
        if (end === 'pointerleave') {
          tip.hidden = true;
          this.pointer?.setAttribute('visibility', 'hidden');
        }
      });
    }
    svg.addEventListener('wheel', (/** @type {WheelEvent} */ event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), timeAt(event));
      }
    }, {passive: false});
  }
}
