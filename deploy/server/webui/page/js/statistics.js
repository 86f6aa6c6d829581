// What a comparison says, in words first.

import {h} from '../shared/dom.js';
import {counted, stateWord, titled, valueText} from '../shared/words.js';

const mostShown = 4; // above the frames

/**
 * statistics shows the outcome, what to know before believing it, and each measure with its sentence.
 * @param {import('rig').Compared} compared
 */
export function statistics(compared) {
  const {mark, look, text} = stateWord(compared.outcome);
  const c = compared.comparison;
  const measures = /** @type {any[]} */ (c?.measures ?? []);
  const telling = measures.filter((m) => m.verdict !== 'unchanged');
  const same = measures.filter((m) => m.verdict === 'unchanged');
  return [h('h2', null, 'In words'),
    h('p.outcome', null, h(`span.state.${look}`, null, `${mark} ${text}`), ' ', compared.sentence.replace(`${compared.outcome}: `, '') || 'Nothing is worse in a way that anybody cares for.'),
    c && !c.alike ? h('div.warnings', null, c.environment_differences.map((/** @type {any} */ d) => h('p', null, `The runs differ in ${d.name}: ${d.a.join(', ') || 'unknown'} and ${d.b.join(', ') || 'unknown'}.`))) : null,
    c?.warnings?.length ? h('div.warnings', null, c.warnings.map((/** @type {string} */ w) => h('p', null, titled(w)))) : null,
    telling.length ? table(telling.slice(0, mostShown)) : measures.length ? h('p.about', null, 'No measure differs.') : null,
    telling.length > mostShown ? h('details', null, h('summary', null, `${counted(telling.length - mostShown, 'more measure')}`), table(telling.slice(mostShown))) : null,
    same.length ? h('details', null, h('summary', null, `${counted(same.length, 'measure')} unchanged`), table(same)) : null];
}

/** @param {any[]} measures */
function table(measures) {
  return h('div.scroll', null, h('table.values.compared-values', null,
    h('thead', null, h('tr', null, h('th', null, 'Measure'), h('th', null, 'Verdict'), h('th.number', null, 'A'), h('th.number', null, 'B'), h('th.number', null, 'Change'), h('th', null, 'In words'))),
    h('tbody', null, measures.map((m) => {
      const {mark, look, text} = stateWord(m.verdict);
      const change = m.change_fraction;
      return h('tr', null, h('th', {scope: 'row'}, m.name), h('td', null, h(`span.state.${look}`, null, `${mark} ${text}`)), h('td.number', {'data-of': 'A'}, valueText({text: m.a.text, value: m.a.median.estimate, unit: m.unit})), h('td.number', {'data-of': 'B'}, valueText({text: m.b.text, value: m.b.median.estimate, unit: m.unit})),
        h('td.number', {'data-of': 'change'}, change ? `${change.estimate >= 0 ? '+' : '−'}${Math.abs(100 * change.estimate).toFixed(1)} %` : '–'), h('td.sentence', null, m.sentence));
    }))));
}
