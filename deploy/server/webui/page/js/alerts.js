// Alerts: confirmed changes of builds in one range, and somebody's answer to them.

import {announce, complain, fill, h} from '../shared/dom.js';
import {bisectAlert} from './bisects.js';
import {changeItem, copied, stateOf} from './changes.js';
import {counted, moment, stateWord} from '../shared/words.js';

/** @typedef {import('rig').Alert} Alert */

const most = 3; // changes that are shown at once

/**
 * showAlerts shows the open alerts, and the others on demand.
 * @param {import('./api.js').Rig} rig
 * @param {Element} box
 * @param {{alerts: Alert[], budget: {text: string}}} list
 * @param {() => void} changed
 */
export function showAlerts(rig, box, {alerts, budget}, changed) {
  const open = alerts.filter((a) => a.state === 'open' || a.state === 'acknowledged');
  const closed = alerts.filter((a) => !open.includes(a));
  fill(box, h('h2', null, open.length ? counted(open.length, 'open alert') : 'Alerts'),
    open.length ? null : h('p.quiet-text', null, 'No alert is open. An alert opens when fresh runs confirm a change.'),
    budget.text ? h('p.about', null, budget.text) : null,
    open.map((a) => alertCard(rig, a, changed, true)),
    closed.length ? h('details', null, h('summary', null, counted(closed.length, 'closed alert')),
      closed.map((a) => alertCard(rig, a, changed, false))) : null);
}

/** ofFleet fits a command that names a device as RIG/DEVICE. */
const ofFleet = / --device \S+\//;

/**
 * @param {import('./api.js').Rig} rig
 * @param {Alert} a
 * @param {() => void} changed
 * @param {boolean} open
 */
function alertCard(rig, a, changed, open) {
  const may = rig.may('run');
  const word = h('span', null, stateOf(stateWord(a.state)));
  const set = async (/** @type {Partial<import('rig').AlertParams>} */ change) => {
    try {
      const now = await rig.call('alert.set', {alert: a.alert, ...change});
      fill(word, stateOf(stateWord(now.state)));
      announce('Saved');
      if (now.state !== a.state) {
        changed();
      }
    } catch (error) {
      complain(error);
    }
  };
  const field = (/** @type {string} */ name, /** @type {any} */ input, /** @type {string} */ key) => {
    input.addEventListener('change', () => set({[key]: input.value.trim()}));
    input.disabled = !may;
    return h('label.field', null, h('span', null, name), input);
  };
  const state = h('select', null, ['open', 'acknowledged', 'fixed', 'wontfix'].map((s) =>
    h('option', {value: s}, s === 'wontfix' ? 'won’t fix' : s)));
  state.value = a.state;
  const text = (/** @type {string | undefined} */ value, /** @type {number} */ maxlength) =>
    h('input', {type: 'text', value: value ?? '', maxlength});
  const items = a.changes.map((c, i) => changeItem(rig, c, true, undefined, open && !i));
  const culprits = a.builds.filter((b) => b.seq !== a.first_seq); // the first one is before the change
  return h('article.alert', {'data-alert': a.alert}, h('h3', null, word, a.text),
    culprits.length === 1 && culprits[0].subject ? h('p', null, h('code', null, culprits[0].build), ' ',
      culprits[0].subject) : null,
    h('p.quiet-text', null, `${a.schedule} · opened ${moment(a.opened_wall_ns)}`),
    h('ul.changes', null, items.slice(0, most)),
    items.length > most ? h('details', null, h('summary', null, `${items.length - most} more changes`),
      h('ul.changes', null, items.slice(most))) : null,
    h('details', null, h('summary', null, `${counted(a.builds.length, 'build')} in the range`),
      h('div.scroll.low', {tabindex: 0, role: 'group', 'aria-label': 'Builds in the range'},
        h('ul.builds', null, a.builds.map((b) => h('li', null, h('b', null, b.build), ' ', b.subject ?? '', ' ',
          h('span.quiet-text', null, [b.revision, b.wall_ns ? moment(b.wall_ns) : '', b.state === 'usable' ? ''
            : [b.state, b.reason].filter(Boolean).join(': ')].filter(Boolean).join(' · '))))))),
    h('div.fields', null, field('State', state, 'state'), field('Owner', text(a.owner, 128), 'owner'),
      field('Note', text(a.note, 1000), 'note')),
    a.command ? copied(`${a.command} ${ofFleet.test(a.command) ? '--hub' : '--rig'} ${location.origin}`,
      'Repeat it: ') : null,
    may && a.changes.length && a.builds.length ? h('p', null, h('button.button.small',
      {'data-do': 'bisect', onclick: () => bisectAlert(rig, a)}, 'Bisect …')) : null);
}
