// The baseline of a test: a run or a set that later ones are compared with.

import {announce, ask, complain, fill, h} from '../shared/dom.js';

/**
 * baselineOf shows whether a run or a set is a baseline, and lets admins change that.
 * @param {import('./api.js').Rig} rig
 * @param {string} id
 * @param {string} test that the baseline is named after
 */
export function baselineOf(rig, id, test) {
  const usual = test.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^\./, '-').slice(0, 64) || 'recording';
  const box = h('span.baseline');
  const change = async (/** @type {string} */ name, to = '') => {
    try {
      show((await rig.call('baseline.set', {name, id: to})).baselines);
      announce(to ? `Baseline ${name}` : `No longer the baseline ${name}`);
    } catch (error) {
      complain(error);
    }
  };
  const show = (/** @type {import('rig').Baseline[]} */ all) => {
    const mine = all.filter((one) => one.id === id);
    const before = all.find((one) => one.name === usual);
    const set = async () => (!before || await ask(`Replace the baseline ${usual}?`, `It is ${before.id}.`, 'Replace'))
      && change(usual, id);
    const admin = rig.may('admin');
    fill(box, mine.map(({name}) => admin ? h('button.button', {'aria-pressed': 'true',
      title: 'Remove the name. The run stays.', onclick: () => change(name)}, `Baseline ${name}`)
      : h('span', null, `baseline ${name}`)),
    admin && !mine.length ? h('button.button', {'aria-pressed': 'false', onclick: set,
      title: `Compare later runs with this one, as baseline ${usual}`}, 'Set as baseline') : null);
  };
  rig.call('baseline.list', {}).then(({baselines}) => show(baselines), complain);
  return box;
}
