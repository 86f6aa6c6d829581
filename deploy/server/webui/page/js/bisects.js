// Bisections: searches for the build at which a value changed.

import {announce, complain, fill, h, later} from '../shared/dom.js';
import {counted, moment, stateWord} from '../shared/words.js';
import {grouped, rounded} from '../shared/format.js';
import {stateOf} from './changes.js';
import {meter} from './device.js';
import {address, go, jobAddress} from './router.js';
import {textField} from './start.js';

/** @typedef {import('rig').Bisect} Bisect */

const usualBudget = 600; // runs
const likely = 0.001; // chance from which a build is one of those left

/**
 * showBisects lists bisections.
 * @param {import('./api.js').Rig} rig
 * @param {Element} box
 * @param {Bisect[]} all newest first
 */
export function showBisects(rig, box, all) {
  const start = () => askBisect(rig, {});
  fill(box, h('div.card-head', null, h('h2', null, 'Bisections'),
    rig.may('run') ? h('button.button.small', {onclick: start}, 'Start one …') : null),
  all.length ? h('ul.changes', null, all.map((b) => h('li.change', {'data-bisect': b.bisect},
    h('p', null, stateOf(stateWord(b.state)), ' ', h('a', {href: address(['trends', 'bisect', b.bisect])}, b.text)),
    h('p.quiet-text', null, [b.feed, `${grouped(b.runs)} of ${counted(b.budget ?? usualBudget, 'run')}`, b.owner,
      moment(b.started_wall_ns)].join(' · ')))))
    : h('p.quiet-text', null, 'None yet. A bisection finds the build at which a value changed.'));
}

/** @param {import('./main.js').Page} page */
export async function bisectPage({main, rig, route: {path}, signal}) {
  const id = path[2] ?? '';
  const root = h('div.series-page');
  let shown = '';
  const load = async () => {
    const b = await rig.call('bisect.get', {bisect: id});
    if (!signal.aborted && shown !== JSON.stringify(b)) {
      shown = JSON.stringify(b);
      fill(root, ...parts(rig, b, load));
    }
  };
  await load();
  if (signal.aborted) {
    return;
  }
  fill(main, root);
  const again = later(() => load().catch(complain), 1000);
  rig.follow(signal, (event) => (event.store || event.job || event.fleet || event.trend) && again(), again);
}

/**
 * @param {import('./api.js').Rig} rig
 * @param {Bisect} b
 * @param {() => Promise<void>} changed
 */
function parts(rig, b, changed) {
  const budget = b.budget ?? usualBudget;
  const cancel = async () => {
    try {
      await rig.call('bisect.cancel', {bisect: b.bisect});
      announce('Cancelled');
      await changed();
    } catch (error) {
      complain(error);
    }
  };
  const mine = rig.may('admin') || rig.may('run') && b.owner === rig.owner;
  const {builds = []} = b;
  const [left, others] = [true, false].map((is) => builds.filter((one) => (one.chance >= likely) === is));
  const facts = [['test', b.test], ['value', b.value ?? 'the first of its answer'], ['device', b.device ?? 'local'],
    ['browser', b.browser ?? ''], ['good', b.good], ['bad', b.bad ?? 'the newest'],
    ['started', moment(b.started_wall_ns)], ['ended', b.ended_wall_ns ? moment(b.ended_wall_ns) : '']]
    .filter(([, text]) => text);
  return [h('header.top', null, h('p.about', null, h('a', {href: '#/trends'}, 'Trends'), ` / bisection of ${b.feed}`),
    h('h1', null, `${b.test}: first bad build`)),
  h('section.card', {'aria-label': 'Outcome'}, h('p.outcome', null, stateOf(stateWord(b.state)), ' ', b.text),
    b.reason ? h('p.quiet-text', null, b.reason) : null,
    meter('runs', b.runs / budget, `${grouped(b.runs)} of ${grouped(budget)}`),
    h('p.about', null, h('span', null, `${counted(b.left, 'build')} left`),
      b.shift.text ? h('span', null, `good to bad: ${b.shift.text}`) : null,
      b.job && !b.ended_wall_ns ? h('span', null, 'at work: ', h('a', {href: jobAddress(b.job, false, b.device)},
        b.job)) : null),
    h('dl.facts', null, facts.map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text)))),
    !b.ended_wall_ns && mine ? h('div.row', null, h('button.button', {onclick: cancel}, 'Cancel')) : null),
  ...b.found.map((f) => h('section.card', {'data-found': f.bad}, h('h2', null, `Between ${f.good} and ${f.bad}`),
    h('p', null, `${f.shift.text}, ${rounded(100 * f.share)} % of the whole shift · p = ${f.p.toPrecision(2)}`),
    h('ul.builds', null, f.builds.map((build) => h('li', null, h('b', null, build.build), ' ', build.subject ?? '', ' ',
      linked(build.revision),
      build.url && isWeb(build.url) ? [' · ', h('a', {href: build.url}, 'the build')] : null,
      h('span.quiet-text', null, build.wall_ns ? ` · ${moment(build.wall_ns)}` : '',
        build.state === 'usable' ? '' : ` · ${[build.state, build.reason].filter(Boolean).join(': ')}`)))))),
  h('section.card', null, h('h2', null, 'Builds'),
    h('p.quiet-text', null, 'The chance that a build is the first bad one, by all runs until now.'),
    buildTable(left, b.unit), others.length ? h('details', null, h('summary', null,
      `${counted(others.length, 'build')} below a chance of 0.1 %`), buildTable(others, b.unit)) : null),
  h('section.card', null, h('h2', null, 'Steps'), h('ol.builds', null, (b.steps ?? []).map((s) => h('li', null,
    s.reason,
    h('span.quiet-text', null, ` ${counted(s.blocks, 'block')} of ${s.builds.join(', ')}`,
      s.broken?.length ? `; cannot run: ${s.broken.join(', ')}` : ''), ' ',
    h('a', {href: jobAddress(s.job, s.over, b.device)},
      s.over ? 'runs' : 'at work')))))];
}

/**
 * @param {import('rig').BisectBuild[]} builds
 * @param {string} [unit] of the values
 */
function buildTable(builds, unit) {
  const best = Math.max(likely, ...builds.map((b) => b.chance));
  return builds.length ? h('div.scroll', null, h('table.values.labelled.chances', null, h('thead', null, h('tr', null,
    h('th', null, 'Build'), h('th', null, 'Chance'), h('th.number', null, 'Runs'),
      h('th.number', null, ['Median', unit].filter(Boolean).join(', ')))),
  h('tbody', null, builds.map((b) => h('tr', {'data-build': b.build},
    h('th', {scope: 'row'}, b.build, b.broken ? [' ', stateOf({...stateWord('broken'), text: 'cannot run'})] : null),
    h('td', null, h('span.chance', null, h('meter', {min: 0, max: best, value: b.chance,
      'aria-label': `chance ${percent(b.chance)}`}), percent(b.chance))),
    h('td.number', {'data-of': 'runs'}, grouped(b.values?.length ?? 0)),
    h('td.number', {'data-of': 'median'}, b.values?.length ? rounded(median(b.values)) : '–'))))))
    : h('p.quiet-text', null, 'None yet.');
}

/** @param {number} chance */
const percent = (chance) => chance > 0 && chance < likely ? '< 0.1 %' : `${rounded(100 * chance)} %`;

/** @param {number[]} values */
function median(values) {
  const v = [...values].sort((a, b) => a - b);
  return (v[(v.length - 1) >> 1] + v[v.length >> 1]) / 2;
}

/** @param {string} text */
const isWeb = (text) => /^https?:\/\//.test(text);

/** @param {string | undefined} revision changesets may be addresses */
const linked = (revision) => !revision ? null : isWeb(revision) ? h('a', {href: revision}, revision)
  : h('code', null, revision);

/**
 * bisectAlert asks for a bisection of an alert's worst change.
 * @param {import('./api.js').Rig} rig
 * @param {import('rig').Alert} a
 */
export async function bisectAlert(rig, a) {
  try {
    const [worst] = a.changes;
    const {series: s} = await rig.call('series.get', {series: worst.series, limit: 50});
    await askBisect(rig, {feed: a.feed, good: a.builds[0]?.build, bad: a.builds.at(-1)?.build, test: s.test,
      value: `${s.measure}.${s.value}`, device: s.device, browser: s.product});
  } catch (error) {
    complain(error);
  }
}

/**
 * askBisect asks for builds and a value, and starts a bisection.
 * @param {import('./api.js').Rig} rig
 * @param {Partial<import('rig').BisectParams>} preset
 */
function askBisect(rig, preset) {
  const [first, ...more] = ['feed', 'good', 'bad', 'test', 'value', 'device', 'browser'];
  const hints = /** @type {Record<string, string>} */ ({bad: 'the newest', value: `such as fps.framerate`,
    device: 'local', browser: 'that of the feed'});
  const needed = ['feed', 'good', 'test'];
  const inputs = Object.fromEntries([first, ...more].map((name) => [name, textField({required: needed.includes(name),
    placeholder: hints[name], value: /** @type {any} */ (preset)[name] ?? ''})]));
  const budget = h('input', {type: 'number', min: 24, max: 100000, value: usualBudget});
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const asked = Object.fromEntries(Object.entries(inputs).map(([name, i]) => [name, i.value.trim() || undefined]));
      const b = await rig.call('bisect.start', /** @type {any} */ ({...asked, budget: Number(budget.value)}));
      dialog.close();
      go(['trends', 'bisect', b.bisect]);
    } catch (error) {
      dialog.querySelector('.said').textContent = error instanceof Error ? error.message : String(error);
    }
  };
  const dialog = h('dialog.sheet-dialog', {'aria-labelledby': 'question'}, h('form', {onsubmit: submit},
    h('h2', {id: 'question'}, 'Find the first bad build'),
    h('p', null, 'Fresh runs confirm the change first. Then builds between good and bad are run, until one is left.'),
    h('div.fields', null, Object.entries(inputs).map(([name, i]) => h('label.field', null, h('span', null, name), i)),
      h('label.field', null, h('span', null, 'runs at most'), budget)),
    h('p.problem.said', {role: 'alert'}),
    h('div.row', null, h('button.button.main', null, 'Start'),
      h('button.button', {type: 'button', onclick: () => dialog.close()}, 'Cancel'))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
