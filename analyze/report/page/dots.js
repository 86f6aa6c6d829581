// Every run of a value as a dot: a row for each set, all over one scale, with its median and interval.

import {h} from './dom.js';
import {rounded} from './format.js';
import {boundsText, counted} from './words.js';

/**
 * @typedef {object} SetSample
 * @property {string} name of the set
 * @property {{run: string, value: number, low?: number, high?: number}[]} values
 * @property {{estimate: number, low: number | null, high: number | null}} median
 */

const rowHeight = 24;
const plotWidth = 252;
const radius = 3.2;
const maxName = 16; // letters

/**
 * dots draws the samples of one value.
 * @param {SetSample[]} samples
 * @param {string} unit
 */
export function dots(samples, unit) {
  const scale = unit === 'fraction' ? 100 : 1;
  const all = samples.flatMap((s) => [...s.values.map((p) => p.value), ...intervalOf(s) ?? []]).map((v) => v * scale);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = high > low ? 0 : 1;
  const left = Math.max(20, ...samples.map((s) => 7.8 * Math.min(s.name.length, maxName) + 10));
  const right = left + plotWidth;
  const x = (/** @type {number} */ v) =>
    left + 6 + (v * scale - low + room) / (high - low + 2 * room) * (right - left - 12);
  const bottom = samples.length * rowHeight;
  const text = (/** @type {number} */ v) => rounded(v) + (unit === 'fraction' ? ' %' : unit ? ` ${unit}` : '');
  const ends = high > low ? [[left, 'start', low], [right, 'end', high]] : [[(left + right) / 2, 'middle', low]];
  return h('svg.dots',
    {viewBox: `0 0 ${right + 8} ${bottom + 15}`, role: 'img', 'aria-label': described(samples, text, scale)},
    samples.flatMap((s, i) => row(s, i, x, (v) => text(v * scale))),
    h('line.axis', {x1: left, x2: right, y1: bottom, y2: bottom}),
    ends.map(([at, anchor, v]) => h('text.tick', {x: at, y: bottom + 12, 'text-anchor': anchor},
      text(/** @type {number} */ (v)))));
}

/**
 * intervalOf is that of a median, or the bounds of a single run; null: there is none.
 * @param {SetSample} s
 */
function intervalOf({values, median: {low, high}}) {
  if (low !== null && high !== null) {
    return [low, high];
  }
  const [{low: from, high: to} = {}] = values.length === 1 ? values : [];
  return from !== undefined && to !== undefined && from < to ? [from, to] : null;
}

/**
 * @param {SetSample[]} samples
 * @param {(v: number) => string} text
 * @param {number} scale
 */
function described(samples, text, scale) {
  return samples.filter((s) => s.values.length).map((s) => {
    const values = s.values.map((p) => p.value * scale);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return `${s.name}: ${counted(values.length, 'run')}, ${low === high ? text(low) : `${text(low)} to ${text(high)}`}`;
  }).join('; ');
}

/**
 * row draws one set. Dots that would cover each other go up and down in turn.
 * @param {SetSample} s
 * @param {number} i
 * @param {(v: number) => number} x
 * @param {(v: number) => string} text
 */
function row(s, i, x, text) {
  const middle = (i + 0.5) * rowHeight;
  /** @type {number[]} */
  const taken = [];
  const between = intervalOf(s);
  const {estimate} = s.median;
  const name = s.name.length > maxName ? `${s.name.slice(0, maxName - 1)}…` : s.name;
  return [h('text.name', {x: 0, y: middle + 4}, name),
    between ? h(`rect.interval.line-${i % 6}`,
      {x: x(between[0]), width: Math.max(1, x(between[1]) - x(between[0])), y: middle - 9, height: 18, rx: 3}) : null,
    ...s.values.map((p) => {
      const at = x(p.value);
      const near = taken.filter((other) => Math.abs(other - at) < 1.7 * radius).length;
      taken.push(at);
      const off = (near % 2 ? -1 : 1) * Math.min(8, Math.ceil(near / 2) * 3.4);
      return h(`circle.run.line-${i % 6}`, {cx: at.toFixed(1), cy: (middle + off).toFixed(1), r: radius},
        h('title', null, `${p.run}: ${text(p.value)}`));
    }),
    h(`line.median.line-${i % 6}`, {x1: x(estimate), x2: x(estimate), y1: middle - 10, y2: middle + 10})];
}

/**
 * sampleText is a median with its interval.
 * @param {SetSample & {text: string}} s
 * @param {string} unit
 */
export function sampleText(s, unit) {
  const {estimate: value} = s.median;
  const [low, high] = intervalOf(s) ?? [];
  const bounds = boundsText({value, low, high, unit, state: 'bounded'});
  return [s.text, h('small', null, bounds || (s.values.length > 1 ? 'too few runs' : 'a single run'))];
}
