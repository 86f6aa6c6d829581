// The page's claims about itself, and the frames in which one of them was seen.

import {h} from './dom.js';
import {traffic} from './network.js';
import {frameButton} from './pictures.js';
import {boundsText, plain, titled, valueText} from './words.js';
import {grouped} from './format.js';

/** @typedef {import('rig').Claims} Claims */

const seen = 'seen by the test network'; // the note of a value that is not claimed
const titles = {lcp: 'Largest paint (LCP)', lcp_seen: 'Largest paint, as it was seen',
  lcp_difference: 'Seen after the claim', cls: 'Layout shift (CLS)', inp: 'Slowest answer (INP)',
  ttfb: 'First byte (TTFB)'};

/**
 * vitals is a fold; null where the claims were not read.
 * @param {Claims | undefined} v
 * @param {(frame: number) => void} seek
 */
export function vitals(v, seek) {
  if (!v) {
    return null;
  }
  const {refusal, values, warnings} = v.result;
  const rows = values.map((one) => h('tr', null,
    h('th', {scope: 'row', title: one.meaning ?? ''},
      titles[/** @type {'lcp'} */ (one.name)] ?? titled(plain(one.name)),
      one.note ? h('small', null, titled(one.note)) : null),
    h('td.number', null, valueText(one)),
    h('td.bounds', null, boundsText(one) || (one.state === 'exact' ? one.note === seen ? '' : 'claimed'
      : h(`span.state.${one.state}`, null, one.state))),
    h('td.frames', null, one.frames.map((n) => frameButton(n, seek)))));
  return h('details.fold.card', null,
    h('summary', null, 'The page’s claims', v.sentence ? h('small', null, v.sentence) : null),
    refusal ? h('p.refusal', null, titled(refusal)) : null, warnings.map((text) => h('p', null, titled(text))),
    v.lcp_element ? h('p.about', null, 'The largest paint is of ', h('code', null, v.lcp_element)) : null,
    rows.length ? h('div.scroll', null, h('table.values', null,
      h('thead', null, h('tr', null, h('th', null, 'Value'), h('th.number', null, 'Claimed or seen'),
        h('th', null, 'Lies between'), h('th', null, 'Frames'))),
      h('tbody', null, rows))) : null,
    timings(v), v.console_errors.length ? [h('h4', null, 'Errors of its scripts'),
      h('ul.errors', null, v.console_errors.map((text) => h('li', null, h('code', null, text))))] : null,
    v.by_type.length ? [h('h4', null, 'Requests'), traffic(v.by_type, v.by_domain)] : null);
}

/** @param {Claims} v */
function timings(v) {
  const ms = (/** @type {number} */ x) => `${grouped(Math.round(x))} ms`;
  return v.user_timings.length ? h('div.scroll', null, h('table.values', null,
    h('thead', null, h('tr', null, h('th', null, 'User timing'), h('th.number', null, 'Begins at'),
      h('th.number', null, 'Lasts'))),
    h('tbody', null, v.user_timings.map((t) => h('tr', null, h('th', {scope: 'row'}, t.name),
      h('td.number', null, ms(t.at_ms)),
      h('td.number', null, t.duration_ms === undefined ? '' : ms(t.duration_ms))))))) : null;
}
