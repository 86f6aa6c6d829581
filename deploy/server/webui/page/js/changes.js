// Changes of series, as alerts and the pages of series list them.

import {announce, complain, h} from '../shared/dom.js';
import {twoFilms} from './films.js';
import {address, setAddress} from './router.js';
import {measureTitle, moment, stateWord, titled, valueTitle} from '../shared/words.js';

/** @typedef {import('rig').SeriesShift} Shift */

/** @param {import('rig').ApiSeries} s */
export function seriesTitle({test, measure, value}) {
  const [first, second] = [measureTitle(measure), valueTitle(value)];
  return `${test}: ${first === second ? first : `${first}, ${second}`}`;
}

/** @param {import('rig').ApiSeries} s */
export const generationOf = (s) => s.generation ? `series ${s.generation + 1}, since the control moved` : '';

/**
 * changeWord is a change's mark, word and look. A confirmed one points to where the value went.
 * @param {Shift} c
 */
export function changeWord(c) {
  const word = stateWord(c.state);
  return c.state === 'confirmed' && c.direction !== 'worse'
    ? {...word, ...c.direction === 'better' ? {mark: '▲', look: 'good'} : {mark: '≠', look: 'bounded'}} : word;
}

/** @param {{mark: string, look: string, text: string}} word */
export const stateOf = ({mark, look, text}) => h(`span.state.${look}`, null, `${mark} ${text}`);

/**
 * changeItem shows a change in its sentence, with its evidence and what can be done about it.
 * @param {import('./api.js').Rig} rig
 * @param {Shift} c
 * @param {boolean} link to its series
 * @param {() => void} [changed]
 * @param {boolean} [films] are shown at once
 */
export function changeItem(rig, c, link, changed, films = false) {
  const act = async (/** @type {'change.confirm' | 'change.dismiss'} */ method, reason = '') => {
    try {
      const now = await rig.call(method, {change: c.change, reason: reason || undefined});
      announce(`The change is now ${now.state}`);
      changed?.();
    } catch (error) {
      complain(error);
    }
  };
  const dismiss = async () => {
    const reason = await askText('Dismiss this change?', 'It stays in the list but raises no alert.', 'Reason',
      'Dismiss');
    return reason !== null && act('change.dismiss', reason);
  };
  const open = !['confirming', 'confirmed', 'dismissed'].includes(c.state);
  return h('li.change', {'data-change': c.change},
    h('p', null, stateOf(changeWord(c)), ' ',
      link ? h('a', {href: address(['trends', String(c.series)])}, c.text) : c.text),
    c.reason ? h('p.quiet-text', null, titled(c.reason)) : null,
    c.cause || c.explaining ? h('p', null, c.cause || 'Runs with measuring code search the cause.') : null,
    h('p.quiet-text', null, [shiftText(c), c.p > 0 ? `p = ${c.p.toPrecision(2)}` : '',
      `found ${moment(c.found_wall_ns)}`].filter(Boolean).join(' · '),
    c.set ? [' · ', h('a', {href: comparison(c.set)}, 'compare the fresh runs')] : null,
    c.set ? [' · ', h('a', {href: setAddress(c.set)}, 'their set')] : null),
    c.set && c.state === 'confirmed' ? twoFilms(c.set, films) : null,
    rig.may('run') && changed && c.state !== 'dismissed' ? h('div.change-actions', null,
      open ? h('button.button.small', {onclick: () => act('change.confirm'),
        title: 'Measure the builds before and after the change afresh'}, 'Confirm') : null,
      h('button.button.small', {onclick: dismiss}, 'Dismiss …')) : null);
}

/**
 * comparison is the address at which the two builds of a confirmation are compared.
 * @param {string} set
 */
const comparison = (set) => // by the names that the schedule gives its variants
  address(['compare'], {a: `${set}~before`, b: `${set}~after`});

/** @param {Shift} c */
export function shiftText({shift, low, high, relative}) {
  const scale = relative ? 100 : 1;
  const text = (/** @type {number} */ v) => (v > 0 ? '+' : '') + (scale * v).toLocaleString('en-US',
    {maximumSignificantDigits: 3}).replace('-', '−');
  return `${text(shift)}${relative ? ' %' : ''}${low !== high ? ` (${text(low)} to ${text(high)})` : ''}`;
}

/**
 * askText asks for a short text; null: the question was cancelled.
 * @param {string} question
 * @param {string} detail
 * @param {string} name of the field
 * @param {string} yes
 * @returns {Promise<string | null>}
 */
export function askText(question, detail, name, yes) {
  return new Promise((resolve) => {
    const input = h('input', {type: 'text', maxlength: 300, autofocus: true});
    const dialog = h('dialog.sheet-dialog', {'aria-labelledby': 'question'}, h('form', {method: 'dialog'},
      h('h2', {id: 'question'}, question), h('p', null, detail),
      h('div.fields', null, h('label.field.long', null, h('span', null, name), input)),
      h('div.row', null, h('button.button.main', {value: 'yes'}, yes), h('button.button', {value: 'no'}, 'Cancel'))));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes' ? input.value.trim() : null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * copied is a command with a button that copies it.
 * @param {string} text
 * @param {string} [before]
 */
export function copied(text, before = '') {
  const code = h('code', null, text);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      announce('Copied');
    } catch { // without TLS, or not permitted
      getSelection()?.selectAllChildren(code);
    }
  };
  return h('p.repeat', null, before ? h('span.quiet-text', null, before) : null, code, ' ',
    h('button.button.small', {type: 'button', onclick: copy}, 'Copy'));
}
