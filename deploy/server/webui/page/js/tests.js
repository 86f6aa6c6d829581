// The tests: pick one, say where and how often, start it, and see it go on.

import {announce, complain, fill, h} from '../shared/dom.js';
import {setHere} from '../shared/keys.js';
import {note} from './router.js';
import {JobBoard} from './jobs.js';
import {counted, measureTitle} from '../shared/words.js';

/** @typedef {import('rig').Test} Test */

/** @param {import('./main.js').Page} page */
export async function testsPage({main, rig, route: {query}, signal}) {
  const [{tests, problems}, {devices}] = await Promise.all([rig.call('suite.list', {}), rig.call('device.list', {})]);
  if (signal.aborted) {
    return;
  }
  main.className = 'wide';
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
    fill(form, startForm(rig, t, devices, board));
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
  const board = new JobBoard(rig, signal, 5);
  fill(main, h('h1.unseen', null, 'Tests'), h('div.two-columns', null,
    h('section.card', null, h('h2', null, counted(tests.length, 'test')), search, list,
      problems.length ? h('details', null, h('summary', null,
        `${counted(problems.length, 'test file')} cannot be read`), problems.map((p) =>
          h('p.refusal', null, `${p.file}${p.line ? `:${p.line}:${p.column}` : ''}: ${p.problem}`))) : null),
    h('div', null, h('section.card', {'aria-label': 'Start a test'}, form),
      h('section.card', {'aria-label': 'Jobs'}, h('h2', null, 'Jobs'), board.root))));
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
    {keys: ['r'], about: 'start the test', act: () => form.querySelector('form')?.requestSubmit()},
  ]);
}

/**
 * startForm asks how a test is run.
 * @param {import('./api.js').Rig} rig
 * @param {Test} test
 * @param {import('rig').Device[]} devices
 * @param {JobBoard} board that shows how it goes on
 */
function startForm(rig, test, devices, board) {
  const browsers = [...new Set(devices.flatMap((d) => d.browsers))];
  const boxes = (/** @type {string[]} */ names, /** @type {(i: number) => boolean} */ on) => names.map((name, i) =>
    h('label.check', null, h('input', {type: 'checkbox', value: name, checked: on(i)}), ' ', name));
  const deviceBoxes = boxes(devices.map((d) => d.name), (i) => i === 0);
  devices.forEach((d, i) => d.state !== 'free' && deviceBoxes[i].append(' ', h('small', null, d.state)));
  const browserBoxes = boxes(browsers, (i) => i === 0);
  const repeat = h('input', {type: 'number', min: 1, max: 10000, value: test.repeat || 1});
  const label = h('input', {type: 'text', maxlength: 128});
  const branch = h('input', {type: 'text', maxlength: 128});
  const revision = h('input', {type: 'text', maxlength: 128});
  const noVideo = h('input', {type: 'checkbox'});
  const checked = (/** @type {HTMLElement[]} */ all) => all.map((l) =>
    /** @type {HTMLInputElement} */ (l.querySelector('input'))).filter((box) => box.checked).map((box) => box.value);
  const start = h('button.button.main', {disabled: !rig.may('run'),
    title: rig.may('run') ? 'Start the test (r)' : 'Your token may only look'}, 'Start');
  const form = h('form.start', null, h('h2', null, test.name), h('p.about', null, test.about),
    h('p.quiet-text', null, `measures ${test.measures.map(measureTitle).join(', ') || 'all that apply'}`),
    h('fieldset', null, h('legend', null, 'Devices'), deviceBoxes),
    h('fieldset', null, h('legend', null, 'Browsers'), browserBoxes),
    h('div.fields', null, field('Repeat', repeat), field('Label', label), field('Branch', branch),
      field('Revision', revision), h('label.check', null, noVideo, ' no video')),
    h('div.row', null, start));
  let asked = false; // to start it: who presses again before that is answered means the same
  const ask = (/** @type {boolean} */ now) => {
    asked = now;
    start.ariaDisabled = now ? 'true' : null;
  };
  form.addEventListener('submit', async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (asked) {
      return;
    }
    ask(true);
    try {
      const wanted = checked(deviceBoxes);
      const now = await rig.call('device.list', {}); // which are reserved may have changed
      const job = await rig.call('run.start', {
        test: test.name, devices: wanted, browsers: checked(browserBoxes), repeat: Number(repeat.value) || 1,
        label: label.value.trim() || undefined, branch: branch.value.trim() || undefined,
        revision: revision.value.trim() || undefined, no_video: noVideo.checked || undefined,
        reservation: now.devices.filter((d) => wanted.includes(d.name)).map((d) => rig.reservation(d)).find((key) =>
          key !== undefined),
      });
      board.add(job);
      announce(`${test.name} is ${job.state}`);
    } catch (error) {
      complain(error);
    } finally {
      ask(false);
    }
  });
  return form;
}

/**
 * @param {string} name
 * @param {Element} input
 */
const field = (name, input) => h('label.field', null, h('span', null, name), input);
