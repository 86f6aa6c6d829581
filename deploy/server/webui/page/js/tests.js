// The tests: pick one, name an address or write a file, say where and how often, start it, and see it go on.

import {announce, fill, h} from '../shared/dom.js';
import {setHere} from '../shared/keys.js';
import {addressForm} from './address.js';
import {testEditor} from './editor.js';
import {address, note} from './router.js';
import {JobBoard} from './jobs.js';
import {startForm} from './start.js';
import {counted, measureTitle} from '../shared/words.js';

/** @typedef {import('rig').Test} Test */

/** @param {import('./main.js').Page} page */
export async function testsPage({main, rig, route: {query}, signal}) {
  const [suite, {devices}] = await Promise.all([rig.call('suite.list', {}),
    rig.call('device.list', {})]);
  if (signal.aborted) {
    return;
  }
  const {tests, problems} = suite;
  main.className = 'wide';
  const mode = query.get('mode') ?? '';
  const modes = h('nav.tabs', {'aria-label': 'Kinds of tests'}, Object.entries({'': 'Tests', address: 'An address',
    edit: 'A test file'}).map(([name, title]) => h('a.tab', {href: address(['tests'], {mode: name}),
    'aria-current': name === mode ? 'page' : null}, title)));
  const board = new JobBoard(rig, signal, 5);
  const jobs = h('section.card', {'aria-label': 'Jobs'}, h('h2', null, 'Jobs'), board.root);
  const begin = {keys: ['r'], about: 'start the test', act: () => main.querySelector('form')?.requestSubmit()};
  if (mode === 'address') {
    fill(main, h('h1.unseen', null, 'Run an address'), modes, h('div.two-columns.rig', null,
      h('section.card', {'aria-label': 'Start a test'}, addressForm(rig, devices, suite)),
      h('div', null, jobs)));
    setHere([begin]);
    return;
  }
  if (mode === 'edit') {
    const of = query.get('test');
    const copied = of ? (await rig.call('suite.get', {test: of})).text : undefined;
    const {form, editor, keys} = await testEditor(rig, devices, suite, signal, copied);
    if (!signal.aborted) {
      fill(main, h('h1.unseen', null, 'Write a test'), modes, h('div.two-columns.rig', null,
        h('div', null, editor, h('section.card', {'aria-label': 'Start a test'}, form)), h('div', null, keys, jobs)));
      setHere([begin]);
    }
    return;
  }
  const search = h('input', {type: 'search', placeholder: 'search tests', 'aria-label': 'Search tests'});
  const list = h('div.test-list', {role: 'listbox', 'aria-label': 'Tests', tabindex: 0});
  const form = h('div.test-form');
  let chosen = tests.find((t) => t.name === query.get('test')) ?? tests[0];
  const shown = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    return tests.filter((t) => words.every((/** @type {string} */ w) =>
      `${t.name} ${t.about} ${t.measures.join(' ')}`.toLowerCase().includes(w)));
  };
  const choose = (/** @type {Test} */ t) => {
    chosen = t;
    note({test: t.name});
    draw();
    fill(form, startForm(rig, devices, suite, {
      title: t.name, repeat: t.repeat,
      about: `${t.about} · measures ${t.measures.map(measureTitle).join(', ') || 'all that apply'}`,
      test: () => ({test: t.name}),
      started: (job) => {
        board.add(job);
        announce(`${t.name} is ${job.state}`);
      },
    }).form, h('p.row', null, h('a', {href: address(['tests'], {mode: 'edit', test: t.name})}, 'Edit a copy')));
  };
  const draw = () => {
    const focused = list !== document.activeElement && list.contains(document.activeElement);
    fill(list, shown().map((t) => h('button.test',
      {role: 'option', 'aria-selected': String(t === chosen), 'data-test': t.name, onclick: () => choose(t)},
    h('b', null, t.name), t.standard ? null : h('span.state.bounded', null, 'own'), h('small', null, t.about))));
    if (focused) {
      list.querySelector('[aria-selected=true]')?.focus();
    }
  };
  search.addEventListener('input', draw);
  fill(main, h('h1.unseen', null, 'Tests'), modes, h('div.two-columns', null,
    h('section.card', null, h('h2', null, counted(tests.length, 'test')), search, list,
      problems.length ? h('details', null, h('summary', null,
        `${counted(problems.length, 'test file')} cannot be read`), problems.map((p) =>
          h('p.refusal', null, `${p.file}${p.line ? `:${p.line}:${p.column}` : ''}: ${p.problem}`))) : null),
    h('div', null, h('section.card', {'aria-label': 'Start a test'}, form),
      jobs)));
  if (chosen) {
    choose(chosen);
  } else {
    fill(form, h('p.quiet-text', null, 'There is no test.'));
  }
  const move = (/** @type {number} */ n) => {
    const all = shown();
    const next = all[all.indexOf(chosen) + n] ?? all[n > 0 ? 0 : all.length - 1];
    if (next) {
      choose(next);
      list.querySelector('[aria-selected=true]')?.scrollIntoView({block: 'nearest'});
    }
  };
  setHere([
    {keys: ['ArrowDown', 'j'], about: 'next test', act: () => move(1)},
    {keys: ['ArrowUp', 'k'], about: 'test before', act: () => move(-1)},
    begin,
  ]);
}
