// The two shown runs above each other, over one axis of time: their filmstrips and their requests.

import {h} from './dom.js';
import {figure} from './pictures.js';
import {clock, grouped} from './format.js';
import {counted} from './words.js';

/**
 * @typedef {object} Side
 * @property {string} about
 * @property {string} report address of the shown run's report; empty: none
 * @property {number} zero_ns of the axis
 * @property {import('rig').Network | null} network
 */

/** @typedef {import('./pictures.js').Files} Files */

/**
 * filmstrips shows what both had on the screen at the same times.
 * @param {Files} files
 * @param {any} strips as the comparison has them
 * @param {string[]} names of the runs
 */
export function filmstrips(files, strips, names) {
  const cells = strips.frames_a.length;
  const every = strips.step_ns / 1e9;
  const rows = strips.pictures.map((/** @type {string} */ file, /** @type {number} */ i) => figure(files,
    {kind: 'strip', file: base(file), frame: -1, measure: '', text: `${'AB'[i]}: ${names[i]}`,
      alt: `${'AB'[i]}, ${names[i]}: ${cells} frames, one every ${every} s`}, () => {}));
  return [axis(strips.step_ns, cells), ...rows];
}

/** @param {string} path */
export const base = (path) => path.split(/[/\\]/).pop() ?? '';

/**
 * axis labels each step.
 * @param {number} step
 * @param {number} cells
 */
function axis(step, cells) {
  const digits = (String(step / 1e9).split('.')[1] ?? '').length;
  return h('ol.axis', {'aria-label': 'Time'}, Array.from({length: cells}, (_, k) =>
    h('li', null, `${(k * step / 1e9).toFixed(digits)} s`)));
}

const maxRequests = 60;

const parts = /** @type {const} */ ([
  ['name_ns', 'before', 'name, connect, TLS'], ['connect_ns', 'before', ''], ['tls_ns', 'before', ''],
  ['wait_ns', 'wait', 'waiting'], ['load_ns', 'load', 'download'],
]);

/**
 * waterfalls shows the requests of both over the same axis.
 * @param {Side[]} sides
 * @param {number} span of the axis, in ns
 */
export function waterfalls(sides, span) {
  const legend = parts.filter(([, , text]) => text);
  return [h('ul.legend', null, legend.map(([, look, text]) => h(`li.k-${look}`, null, text))),
    ...sides.map((s, i) => waterfall(s, 'AB'[i], span))];
}

/**
 * @param {Side} s
 * @param {string} name
 * @param {number} span
 */
function waterfall({network, zero_ns: zero}, name, span) {
  if (!network) {
    return h('p.quiet-text', null, `${name} has no network of its own.`);
  }
  const list = network.list.slice(0, maxRequests);
  const left = network.requests - list.length;
  return h('div.falls', null,
    h('h3', null, `${name}: ${counted(network.requests, 'request')}`,
      network.profile ? h('code', null, network.profile) : null),
    h('ol', {'aria-label': `Requests of ${name}`}, list.map((r) => request(r, zero, span))),
    left > 0 ? h('p.quiet-text', null, `${grouped(left)} more requests are in the HAR file.`) : null);
}

/**
 * request is a bar at its time.
 * @param {import('rig').Request} r
 * @param {number} zero
 * @param {number} span
 */
function request(r, zero, span) {
  const scale = 1000 / span;
  const begin = (r.begin_ns - zero) * scale;
  let at = begin;
  const bars = parts.map(([field, look]) => {
    const width = Math.max(0, r[field]) * scale;
    const bar = width > 0 ? h(`rect.${look}`, {x: at, width: Math.max(1, width), y: 0, height: 10}) : null;
    at += width;
    return bar;
  });
  const end = at / 10;
  const before = begin > 400 ? `right: ${Math.max(0, 100 - begin / 10)}%` : 'left: 0';
  const place = end < 60 ? `left: ${Math.max(0, end)}%` : before;
  const text = `${r.method === 'GET' ? '' : `${r.method} `}${short(r.url)}`;
  const times = `${clock(r.begin_ns - zero)} to ${clock(r.begin_ns - zero + (at - begin) / scale)}`;
  const missed = r.status === 0 || r.status >= 400;
  return h(missed ? 'li.missed' : 'li', {title: `${r.url}\n${times}`},
    h('span.url', {style: place}, text,
      missed ? h('small', null, r.status ? ` status ${r.status}` : ' no answer') : null),
    h('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': times}, bars));
}

/** @param {string} url */
function short(url) {
  const parsed = URL.parse?.(url) ?? null;
  return (parsed ? parsed.pathname + parsed.search : url).slice(0, 100);
}
