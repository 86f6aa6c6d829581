// The runs in the store: a list that stays quick however long it is, a search, and how a value went over time.

import {announce, ask, complain, fill, h, later} from '../shared/dom.js';
import {setHere} from '../shared/keys.js';
import {address, go, note, route} from './router.js';
import {RunList} from './runlist.js';
import {TrendPanel} from './trend.js';
import {counted} from '../shared/words.js';

/** @typedef {import('rig').RunInfo} RunInfo */
/** @typedef {import('rig').ListParams} ListParams */

const fields = /** @type {const} */ (['text', 'state', 'verdict', 'test', 'browser', 'device', 'label', 'branch',
  'set']);

/** @param {import('./main.js').Page} page */
export function runsPage({main, rig, route: {query}, signal}) {
  main.className = 'wide';
  /** @type {ListParams} */
  const wanted = {};
  for (const name of fields) {
    const value = query.get(name);
    if (value) {
      wanted[name] = value;
    }
  }
  const search = h('input', {type: 'search', placeholder: 'test, browser, label, branch, revision …',
    'aria-label': 'Search runs', value: wanted.text ?? ''});
  const state = h('select', {'aria-label': 'State'}, h('option', {value: ''}, 'any state'),
    ['ok', 'failed', 'rejected', 'running', 'unreadable'].map((s) => h('option', {value: s}, s)));
  state.value = wanted.state ?? '';
  const verdict = h('select', {'aria-label': 'Verdict against the baseline'}, h('option', {value: ''}, 'any verdict'),
    ['regressed', 'improved', 'different', 'unchanged', 'inconclusive'].map((v) => h('option', {value: v}, v)));
  verdict.value = wanted.verdict ?? '';
  const found = h('p.found', {role: 'status'});
  /** @type {Map<string, RunInfo>} by ID, in the order in which they were picked */
  const picked = new Map();
  const chosen = h('div.chosen', {hidden: true});
  const list = new RunList(rig, signal, {
    found: (total) => { found.textContent = counted(total, 'run'); },
    pick: (run, yes) => {
      if (yes) {
        picked.set(run.run, run);
      } else {
        picked.delete(run.run);
      }
      showPicked();
    },
    picked: (id) => picked.has(id),
  });
  const showPicked = () => {
    const ids = [...picked.keys()];
    chosen.hidden = !ids.length;
    fill(chosen, h('span', null, `${ids.length} picked`),
      ids.length === 2 ? h('a.button.main', {href: address(['compare'], {a: ids[0], b: ids[1]})}, 'Compare them')
        : h('span.quiet-text', null, ids.length < 2 ? 'pick another one to compare' : 'two can be compared'),
      rig.may('admin') ? h('button.button.danger', {onclick: remove}, 'Delete …') : null,
      h('button.button', {onclick: () => { picked.clear(); showPicked(); list.draw(); }}, 'None'));
  };
  const remove = async () => {
    const ids = [...picked.keys()];
    const some = ids.slice(0, 5).join(', ') + (ids.length > 5 ? ' …' : '');
    const all = `${some}: with recordings and results. This cannot be undone.`;
    if (!await ask(`Delete ${counted(ids.length, 'run')}?`, all, 'Delete')) {
      return;
    }
    for (const id of ids) {
      try {
        await rig.call('run.delete', {run: id});
        picked.delete(id);
      } catch (error) {
        complain(error);
      }
    }
    showPicked();
    announce('Deleted');
    list.search(wanted);
  };
  const changed = later(() => {
    wanted.text = search.value.trim() || undefined;
    wanted.state = state.value || undefined;
    wanted.verdict = verdict.value || undefined;
    note({text: wanted.text, state: wanted.state, verdict: wanted.verdict});
    list.search(wanted);
  }, 150);
  search.addEventListener('input', changed);
  state.addEventListener('change', changed);
  verdict.addEventListener('change', changed);
  const filters = fields.filter((name) => !['text', 'state', 'verdict'].includes(name) && wanted[name]);
  fill(main, h('h1.unseen', null, 'Runs'), new TrendPanel(rig, signal, query).root,
    h('section.card.run-card', {'aria-label': 'Runs'},
      h('div.toolbar', null, search, state, verdict,
        filters.map((name) => h('a.button', {href: address(['runs'], {...Object.fromEntries(query), [name]: ''}),
          title: 'Show others too', onclick: (/** @type {Event} */ event) => {
        event.preventDefault();
        go(['runs'], {...Object.fromEntries(route().query), [name]: ''}); // with what was searched for since
      }}, `${name}: ${wanted[name]} ×`)), found),
      chosen, list.root));
  const move = (/** @type {number} */ n) => list.move(n);
  setHere([
    {keys: ['ArrowDown', 'j'], about: 'next run', act: () => move(1)},
    {keys: ['ArrowUp', 'k'], about: 'run before', act: () => move(-1)},
    {keys: ['PageDown'], about: 'a page on', act: () => move(10)},
    {keys: ['PageUp'], about: 'a page back', act: () => move(-10)},
    {keys: ['Home'], about: 'latest run', act: () => move(-Infinity)},
    {keys: ['Enter'], about: 'open the run', act: () => list.current && go(['runs', list.current.run])},
    {keys: ['x'], about: 'pick the run, to compare or delete it', act: () => list.toggle()},
    {keys: ['c'], about: 'compare the two that are picked',
      act: () => picked.size === 2 && go(['compare'], {a: [...picked.keys()][0], b: [...picked.keys()][1]})},
    {keys: ['Delete'], about: 'delete those that are picked', act: () => picked.size && rig.may('admin') && remove()},
  ]);
  const again = later(() => list.search(wanted, true), 400);
  rig.follow(signal, (event) => (event.store || event.run) && again(), again);
  list.search(wanted);
}
