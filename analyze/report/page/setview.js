// A set of runs: the primary values of each variant, and all runs. The rig's page and a set's report.html show it.

import {h} from './dom.js';
import {valueName} from './compared.js';
import {dots, sampleText} from './dots.js';
import {spoken} from './format.js';
import {counted, stateWord, titled} from './words.js';

/**
 * @typedef {object} SetValue
 * @property {string} name
 * @property {string} window
 * @property {string} measure
 * @property {string} value
 * @property {string} unit
 * @property {(import('./dots.js').SetSample & {text: string})[]} samples of the variants that have it
 */

/**
 * @typedef {object} SetRun
 * @property {string} dir
 * @property {string} variant
 * @property {string} state
 * @property {string} reason
 * @property {boolean} warm_up
 * @property {string} [noise] why the run was noisy
 * @property {string} report address; empty: none
 */

/**
 * @typedef {object} SetPage
 * @property {string} name
 * @property {string} test
 * @property {string[]} variants
 * @property {SetValue[]} values
 * @property {SetRun[]} runs
 * @property {string} compare address; empty: none
 * @property {string[]} compared variants of the comparison
 * @property {string[]} costs of profiles, in words
 * @property {string[]} warnings
 */

/**
 * value is a row of the table of values.
 * @param {SetValue} v
 * @param {boolean} several variants
 */
const value = (v, several) => h('tr', null,
  h('th', {scope: 'row'}, valueName(v), h('small', null, h('code', null, v.name))),
  h('td.medians', null, v.samples.map((s) => h('p', null,
    several ? h('span', null, s.name) : null, h('b', null, ...sampleText(s, v.unit))))),
  h('td.runs', null, dots(v.samples, v.unit)));

/**
 * run is a row of the table of runs.
 * @param {SetRun} r
 * @param {SetPage} set
 */
function run(r, set) {
  const {mark, look, text} = stateWord(r.state);
  const name = r.dir.split('/').pop() ?? '';
  const values = set.values.map((v) => v.samples.find((s) => s.name === r.variant)?.values
    .find((p) => p.run === name && r.state === 'ok' && !r.warm_up));
  return h('tr', null, h('th', {scope: 'row'}, r.report ? h('a', {href: r.report}, r.dir) : r.dir),
    h('td', null, h(`span.state.${look}`, null, `${mark} ${text}`), r.warm_up ? ' warm-up' : null,
      r.reason ? h('small', null, titled(r.reason)) : null,
      r.noise ? h('small', null, `Noisy: ${r.noise}`) : null),
    values.map((p, i) => h('td.number', {'data-of': valueName(set.values[i])},
      p ? spoken(p.value, set.values[i].unit) : '–')));
}

/**
 * setView shows a set, below a heading.
 * @param {SetPage} set
 * @param {string} title above the heading
 * @param {string} heading of the values
 */
export function setView(set, title, heading) {
  const good = set.runs.filter((r) => r.state === 'ok' && !r.warm_up);
  const bad = set.runs.filter((r) => r.state === 'failed' || r.state === 'rejected' || r.state === 'unreadable');
  return [h(`header.top.verdict-head.${bad.length ? 'doubt' : 'good'}`, null,
    h('p.brand', null, h('span.mark', {'aria-hidden': 'true'}), title),
    h('h1', null, set.test ? `${set.test}: ` : '', counted(good.length, 'run'), bad.length
      ? `, and ${bad.length} failed or rejected` : ''),
    h('p.about', null, h('span', null, set.name), set.variants.length > 1
      ? h('span', null, set.variants.join(' and ')) : null),
    set.compare ? h('a.button.main', {href: set.compare}, `Compare ${set.compared.join(' and ')}`) : null),
  set.costs.length ? h('section.card', {'aria-label': 'Cost of profiles'}, set.costs.map((c) => h('p', null, c)))
    : null,
  set.warnings.length ? h('div.warnings', null, set.warnings.map((w) => h('p', null, titled(w)))) : null,
  set.values.length ? values(set, heading) : null,
  h('section.card', {'aria-label': 'Runs'}, h('h2', null, 'Runs'), set.runs.length
    ? h('div.scroll', null, h('table.values.set-runs', {'aria-label': 'Runs'},
      h('thead', null, h('tr', null, h('th', null, 'Run'), h('th', null, 'State'), set.values.map((v) =>
        h('th.number', null, valueName(v))))),
      h('tbody', null, set.runs.map((r) => run(r, set))))) : h('p.quiet-text', null, 'This set has no run.'))];
}

/**
 * @param {SetPage} set
 * @param {string} heading
 */
const values = (set, heading) => h('section.card', {'aria-label': heading}, h('h2', null, heading),
  h('div.scroll', null, h('table.values.compared-values', {'aria-label': heading},
    h('thead', null, h('tr', null, h('th', null, 'Value'), h('th', null, 'Median'), h('th', null, 'Every run'))),
    h('tbody', null, set.values.map((v) => value(v, set.variants.length > 1))))));
