// A chart draws series of one unit over a window's time.

import {h} from './dom.js';
import {below, spoken} from './format.js';
import {linePath, margin, Plot, ticks, tickText} from './plot.js';
import {measureTitle, plain, titled} from './words.js';

/** @typedef {import('rig').Series} Series */
/** @typedef {{measure: string, unit: string, series: Series[]}} ChartData */

const mostLines = 6; // more cannot be told apart

/**
 * chartsOf puts a measure's series of one unit into one chart.
 * @param {import('rig').Result} r
 */
export function chartsOf(r) {
  /** @type {ChartData[]} */
  const all = [];
  for (const s of r.series) {
    if (!s.frames.length) {
      continue;
    }
    let chart = all.find((c) => c.unit === s.unit && c.series.length < mostLines);
    if (!chart) {
      chart = {measure: r.measure, unit: s.unit, series: []};
      all.push(chart);
    }
    chart.series.push(s);
  }
  return all;
}

/** @param {ChartData} data */
export function chartTitle(data) {
  const title = data.series.length === 1 ? titled(plain(data.series[0].name)) : measureTitle(data.measure);
  return data.unit && !title.endsWith(data.unit) ? `${title}, ${data.unit === 'fraction' ? '%' : data.unit}` : title;
}

export class Chart extends Plot {
  /**
   * @param {ChartData} data
   * @param {import('./view.js').View} view
   * @param {import('./timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   */
  constructor(data, view, timeline, seek) {
    super(view, timeline, seek, 170, `${chartTitle(data)} over time`);
    this.bottom = this.height - margin.bottom;
    this.unit = data.unit;
    this.series = data.series.map((s) => ({...s, label: plain(s.name), times: s.frames.map((n) => view.timeOf(n))}));
    this.values = data.series.map(() => h('em'));
    this.legend = h('ul.legend', null, this.series.map((s, i) => h(`li.line-${i}`, null, s.label, this.values[i])));
    /** @type {Element[]} */
    this.dots = [];
    this.limits = this.range();
    this.begin();
  }

  /**
   * range is that of the y axis. It begins at 0, unless values are negative.
   * @returns {[number, number]}
   */
  range() {
    let low = 0;
    let high = this.unit === 'fraction' ? 1 : 0;
    for (const s of this.series) {
      for (const v of s.values) {
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
    }
    if (low === high) {
      high = low + 1;
    }
    const room = this.unit === 'fraction' && high === 1 ? 0.04 : 0.08;
    return [low - (low < 0 ? room * (high - low) : 0), high + room * (high - low)];
  }

  /** @param {number} v */
  y(v) {
    const [low, high] = this.limits;
    return margin.top + (high - v) / (high - low) * (this.height - margin.top - margin.bottom);
  }

  /** @param {Element} parent */
  frame(parent) {
    this.timeAxis(parent);
    const scale = this.unit === 'fraction' ? 100 : 1;
    const {step, all} = ticks(this.limits[0] * scale, this.limits[1] * scale, 4);
    for (const v of all) {
      const y = this.y(v / scale);
      const line = v === 0 ? 'line.axis' : 'line.grid';
      parent.append(h(line, {x1: margin.left, x2: margin.left + this.inner, y1: y, y2: y}),
        h('text.tick', {x: margin.left - 7, y: y + 4, 'text-anchor': 'end'}, tickText(v, step)));
    }
  }

  /** @param {Element} parent */
  paint(parent) {
    this.marks(parent, margin.top, this.bottom);
    this.series.forEach((s, i) => this.paintSeries(parent, s, i));
    this.dots = this.series.map((_, i) => h(`circle.dot.line-${i}`, {r: 4, visibility: 'hidden'}));
    parent.append(...this.dots);
  }

  /**
   * paintSeries draws the points in sight, and one more on either side. Values that do not hold are joined where
   * their frames follow each other.
   * @param {Element} parent
   * @param {Series & {times: number[]}} s
   * @param {number} i
   */
  paintSeries(parent, s, i) {
    const from = Math.max(0, below(s.times, this.view.from) - 1);
    const to = Math.min(s.times.length, below(s.times, this.view.to) + 1);
    const points = [];
    for (let k = from; k < to; k++) {
      if (!s.holds && k > from && s.frames[k] !== s.frames[k - 1] + 1) {
        points.push(null);
      }
      points.push({x: this.x(s.times[k]), y: this.y(s.values[k])});
    }
    const end = this.x(Math.max(this.view.data.to - this.view.data.from, s.times[s.times.length - 1]));
    const path = linePath(points, s.holds, to === s.times.length ? end : this.x(s.times[to - 1]));
    if (this.series.length === 1 && s.holds && points[0]) {
      parent.append(h(`path.area.line-${i}`, {d: `${path}V${this.y(0)}H${points[0].x.toFixed(1)}Z`}));
    }
    parent.append(h(`path.line.line-${i}`, {d: path}));
    if (!s.holds && to - from < this.inner / 5) {
      parent.append(...points.flatMap((p) => p ? [h(`circle.mote.line-${i}`, {cx: p.x, cy: p.y, r: 2.5})] : []));
    }
  }

  /**
   * pointed shows each series' value at the cursor.
   * @param {number} t
   * @param {boolean} here
   */
  pointed(t, here) {
    this.series.forEach((s, i) => {
      const v = here ? valueAt(s, this.timeline.frame) : undefined;
      this.values[i].textContent = v === undefined ? '' : spoken(v, this.unit);
      this.dots[i].setAttribute('visibility', v === undefined ? 'hidden' : 'visible');
      if (v !== undefined) {
        this.dots[i].setAttribute('cx', String(this.x(t)));
        this.dots[i].setAttribute('cy', String(this.y(v)));
      }
    });
  }

  /** @param {number} frame */
  about(frame) {
    return this.series.flatMap((s) => {
      const v = valueAt(s, frame);
      return v === undefined ? [] : [(this.series.length > 1 ? s.label + ' ' : '') + spoken(v, this.unit)];
    });
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
