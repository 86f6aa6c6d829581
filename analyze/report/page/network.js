// The link of a run: what was asked of it, what was found, and its requests.

import {h} from './dom.js';
import {bytes} from './words.js';
import {grouped} from './format.js';

/** @typedef {import('rig').Network} Network */
/** @typedef {import('rig').Request} Request */

const parts = /** @type {const} */ ([
  ['name_ns', 'name'], ['connect_ns', 'connect'], ['tls_ns', 'TLS'], ['wait_ns', 'waiting'], ['load_ns', 'download'],
]);

/**
 * network is a card. Each request leads to the frame that was shown when it began.
 * @param {import('./pictures.js').Files} files
 * @param {Network} n
 * @param {import('./view.js').View} view
 * @param {number} start time of the window's first frame
 * @param {(frame: number) => void} seek
 */
export function network(files, n, view, start, seek) {
  const down = n.down_asked_bits_per_second;
  const up = n.up_asked_bits_per_second;
  const rows = [
    ['round trip', tenths(n.rtt_asked_ns), tenths(n.rtt_ns)],
    ['to the device', rate(down, down), rate(n.down_bits_per_second, down)],
    ['from the device', rate(up, up), rate(n.up_bits_per_second, up)],
    ['lost', percent(n.loss_asked_fraction), percent(n.loss_fraction)],
  ].map(([name, asked, got]) => h('tr', null, h('th', {scope: 'row'}, name), h('td.number.drawn', null, asked),
    h('td.number', null, got)));
  const facts = [['requests', grouped(n.requests)], ['connections', grouped(n.connections)],
    ['to the device', bytes(n.bytes_down)], ['from the device', bytes(n.bytes_up)]];
  if (n.missed) {
    facts.push(['failed requests', grouped(n.missed)]);
  }
  if (n.names_refused) {
    facts.push(['names refused', grouped(n.names_refused)]);
  }
  return h('article.card.network', null, h('h3', null, 'Network ', n.profile ? h('code', null, n.profile) : null),
    h('div.asked', null,
      h('table.values', null,
        h('thead', null, h('tr', null, h('td'), h('th.number', null, 'Asked'), h('th.number', null, 'Found'))),
        h('tbody', null, rows)),
      h('dl.facts', null, facts.map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text))))),
    n.list.length ? requests(n.list, view, start, seek) : null, traffic(n.by_type, n.by_domain),
    footnote(files, n));
}

/**
 * traffic shows requests and bytes by type and by domain; null without any.
 * @param {import('rig').Traffic[]} [types] results of an older program have none
 * @param {import('rig').Traffic[]} [domains]
 */
export function traffic(types = [], domains = []) {
  const table = (/** @type {string} */ name, /** @type {import('rig').Traffic[]} */ all) => h('table.values', null,
    h('thead', null, h('tr', null, h('th', null, name), h('th.number', null, 'Requests'),
      h('th.number', null, 'Bytes'))),
    h('tbody', null, all.map((t) => h('tr', null, h('th', {scope: 'row'}, t.name),
      h('td.number', null, grouped(t.requests)), h('td.number', null, bytes(t.bytes))))));
  return types.length ? h('div.asked', null, table('Type', types), table('Domain', domains)) : null;
}

/**
 * @param {import('./pictures.js').Files} files
 * @param {Network} n
 */
function footnote(files, n) {
  const left = n.requests - n.list.length;
  const file = n.file ? files.url(n.file) : '';
  return h('p.quiet-text', null, 'Times are those at the device.',
    file ? [' ', h('a', {href: file, download: true}, n.file), ' has the bounds of each.'] : null,
    left > 0 ? ` ${grouped(left)} more requests are in the HAR file.` : null);
}

/**
 * @param {Request[]} list
 * @param {import('./view.js').View} view
 * @param {number} start
 * @param {(frame: number) => void} seek
 */
function requests(list, view, start, seek) {
  const has = parts.filter(([field]) => list.some((r) => r[field] >= 0));
  const hosts = new Set(list.map((r) => place(r.url).host));
  const inexact = 'as the servers saw it: the device may have had it later';
  const rows = list.map((r, i) => {
    const at = place(r.url);
    const about = [r.protocol, r.priority, r.reused ? 'same connection' : ''].filter(Boolean).join(', ');
    const name = `${r.method === 'GET' ? '' : r.method + ' '}${hosts.size > 1 ? at.host : ''}${at.path}`;
    const frame = view.frameAt(r.begin_ns - start);
    return h(r.status === 0 || r.status >= 400 ? 'tr.missed' : 'tr', null, h('td.number', null, grouped(i + 1)),
      h('th', {scope: 'row', title: `${r.method} ${r.url}`}, name.slice(0, 120), h('small', null, about)),
      h('td.answer', null, r.status === 0 ? 'none' : String(r.status)),
      h('td.number', null, h('button.to', {title: `Show frame ${grouped(frame)}, the nearest`,
        onclick: () => seek(frame)},
        view.clock(r.begin_ns - start))),
      has.map(([field]) => h('td.number', r.exact ? null : {title: inexact},
        r[field] < 0 ? '' : (r.exact ? '' : '≈ ') + ms(r[field]))),
      h('td.number', null, bytes(Math.max(r.wire_bytes, r.body_bytes)),
        r.decoded_bytes > r.body_bytes ? h('small', null, `${bytes(r.decoded_bytes)} unpacked`) : null));
  });
  return h('div.requests', {tabindex: 0, role: 'region', 'aria-label': 'Requests'}, h('table.values', null,
    h('thead', null, h('tr', null, h('th.number', null, '#'), h('th', null, 'Request'), h('th', null, 'Status'),
      h('th.number', null, 'Begins at'), has.map(([, name]) => h('th.number', null, name)),
      h('th.number', null, 'Bytes'))),
    h('tbody', null, rows)));
}

/** @param {string} url */
function place(url) {
  const parsed = URL.parse?.(url) ?? null;
  return parsed ? {host: parsed.host, path: parsed.pathname + parsed.search} : {host: '', path: url};
}

/** @param {number} ns */
const tenths = (ns) => `${Math.round(ns / 1e5) / 10} ms`;

/** @param {number} ns */
const ms = (ns) => ns < 1e7 ? tenths(ns) : `${grouped(Math.round(ns / 1e6))} ms`;

/** @param {number} share */
const percent = (share) => `${Math.round(share * 1e4) / 100} %`;

/**
 * @param {number} bits a second
 * @param {number} asked 0 has no limit, and what was found says nothing then
 */
function rate(bits, asked) {
  if (asked === 0) {
    return 'not limited';
  }
  return bits < 1e6 ? `${Math.round(bits / 100) / 10} kbit/s` : `${Math.round(bits / 1e4) / 100} Mbit/s`;
}
