// A comparison in words and as tables. The rig's page and compare.html show it.

import {h} from './dom.js';
import {dots, sampleText} from './dots.js';
import {measureTitle, plain, counted, stateWord, titled, valueTitle} from './words.js';

/** @typedef {any} Comparison what eideticker compare --json prints */
/** @typedef {any} ComparedValue one of its measures */

/**
 * valueName is what people call a value: the last part of its name first.
 * @param {{window?: string, measure: string, value: string}} m
 */
export function valueName({window, measure, value}) {
  const at = value.lastIndexOf('.');
  const of = at < 0 ? '' : `, ${plain(value.slice(0, at))}`;
  const last = valueTitle(value.slice(at + 1));
  const title = measureTitle(measure);
  const clear = ['speedindex', 'fps'].includes(measure) || last.toLowerCase().includes(title.toLowerCase());
  const name = clear ? last : `${title}: ${last.charAt(0).toLowerCase()}${last.slice(1)}`;
  return `${window ? `${window}: ` : ''}${name}${of}`;
}

/**
 * verdict is the outcome and its answer in one sentence.
 * @param {string} outcome
 * @param {string} sentence of the outcome, where there is no comparison
 * @param {Comparison} c null: the comparison failed
 */
export function verdict(outcome, sentence, c) {
  if (!c) {
    return {...stateWord(outcome), sentence: sentence.replace(`${outcome}: `, '').replace(/\.?$/, '.')};
  }
  const measures = /** @type {ComparedValue[]} */ (c.measures);
  const better = outcome === 'passed' && measures.some((m) => m.primary && m.verdict === 'improved');
  const byLength = measures.filter((m) => c.answer.includes(`${m.name}: `))
    .sort((a, b) => b.name.length - a.name.length);
  const told = byLength.reduce((text, m) => text.replace(`${m.name}: `, `${valueName(m)} `), c.answer);
  return {...stateWord(better ? 'improved' : outcome), sentence: c.cause ? `${told} ${c.cause}` : told};
}

/**
 * doubts are what to know before believing the numbers.
 * @param {Comparison} c
 */
export function doubts(c) {
  const texts = [
    ...c.environment_differences.map((/** @type {any} */ d) =>
      `The sets differ in ${plain(d.name)}: ${d.a.join(', ') || 'unknown'} in A, ${d.b.join(', ') || 'unknown'} in B.`),
    ...c.warnings.map((/** @type {string} */ w) => titled(w).replace(/\.?$/, '.'))];
  return texts.length ? h('div.warnings', null, texts.map((text) => h('p', null, text))) : null;
}

/** @param {Comparison} c */
export const test = (c) => h('p.quiet-text', null, `${titled(c.test)}; ${c.level * 100} % over ${
  counted(c.families.primary, 'primary value')} and over ${counted(c.families.second, 'other')}.`);

/** @param {Comparison} c */
export const primary = (c) => table(c.measures.filter((/** @type {ComparedValue} */ m) => m.primary), 'Primary values');

/**
 * others are the values that do not decide: the regressed ones, and the rest behind its count.
 * @param {Comparison} c
 */
export function others(c) {
  const rest = /** @type {ComparedValue[]} */ (c.measures.filter((/** @type {ComparedValue} */ m) => !m.primary));
  const worse = rest.filter((m) => m.verdict === 'regressed');
  const tested = rest.filter((m) => m.verdict !== 'regressed' && m.family);
  const untested = rest.filter((m) => !m.family);
  const decide = c.judge_all ? '' : ', not part of the outcome';
  return [worse.length ? [h('h3', null, `Other values that regressed${decide}`), table(worse, 'Regressed values')] : [],
    folded(tested, worse.length ? 'more other value' : 'other value'), folded(untested, 'untested value')].flat()
    .filter(Boolean);
}

/**
 * functions are the functions of the page, the largest difference first. They do not decide.
 * @param {Comparison} c
 */
export const functions = (c) => c.functions?.length ? h('div', null, table(c.functions, 'Functions'),
  c.further_runs ? h('p.quiet-text', null,
    `They are of ${counted(c.further_runs, 'further run')} of each side, with measuring code.`) : null) : null;

/**
 * folded is a table behind its count.
 * @param {ComparedValue[]} measures
 * @param {string} name
 */
function folded(measures, name) {
  return measures.length ? h('details', null, h('summary', null, counted(measures.length, name)),
    table(measures, titled(`${name}s`))) : null;
}

/**
 * table has both medians, every run as a dot, and the verdict of each value.
 * @param {ComparedValue[]} measures
 * @param {string} label
 */
function table(measures, label) {
  return measures.length ? h('div.scroll', null, h('table.values.compared-values', {'aria-label': label},
    h('thead', null, h('tr', null, h('th', null, 'Value'), h('th.number', null, 'A'), h('th.number', null, 'B'),
      h('th', null, 'Every run'), h('th', null, 'B against A'))),
    h('tbody', null, measures.map(row)))) : null;
}

/** @param {ComparedValue} m */
function row(m) {
  const {mark, look, text} = stateWord(m.verdict);
  const a = {name: 'A', ...m.a};
  const b = {name: 'B', ...m.b};
  return h('tr', null, h('th', {scope: 'row'}, m.family === 'function' ? h('code', null, m.value) :
    [valueName(m), h('small', null, h('code', null, m.name))]),
    h('td.number', {'data-of': 'A'}, sampleText(a, m.unit)), h('td.number', {'data-of': 'B'}, sampleText(b, m.unit)),
    h('td.runs', null, dots([a, b], m.unit)),
    h('td.sentence', null, h(`span.state.${look}`, null, `${mark} ${text}`),
      h('small', null, m.untested ? `${m.sentence}; ${m.untested}` : m.sentence)));
}
