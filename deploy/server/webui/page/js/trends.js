// Trends: open alerts, the schedules, and all series of points.

import {announce, complain, fill, h, later} from '../shared/dom.js';
import {showAlerts} from './alerts.js';
import {RigError} from './api.js';
import {showBisects} from './bisects.js';
import {askText, generationOf, seriesTitle, stateOf} from './changes.js';
import {address, jobAddress, note} from './router.js';
import {grouped} from '../shared/format.js';
import {counted, moment, stateWord} from '../shared/words.js';

/** @typedef {import('rig').ApiSeries} Series */
/** @typedef {import('rig').Schedule} Schedule */

const names = /** @type {const} */ (['schedule', 'test', 'value', 'device']);

/** @param {import('./main.js').Page} page */
export async function trendsPage({main, rig, route: {query}, signal}) {
  const [alerts, schedules, bisects] = [h('section.card.alerts'), h('section.card'), h('section.card.bisects')];
  const list = new SeriesList(rig, query);
  fill(main, h('h1.unseen', null, 'Trends'), h('div.trends', null, alerts, schedules, bisects, list.root));
  const load = () => Promise.all([
    section(alerts, 'Alerts', ifAny(rig.call('alert.list', {}), {alerts: [],
      budget: {text: ''}}), (all) => showAlerts(rig, alerts, all, load)),
    section(schedules, 'Schedules', ifAny(rig.call('schedule.list', {}), {schedules: []}),
      (all) => showSchedules(rig, schedules, all.schedules, load)),
    section(bisects, 'Bisections', ifAny(rig.call('bisect.list', {}), {bisects: []}),
      (all) => showBisects(rig, bisects, all.bisects)),
    list.load(),
  ]);
  const again = later(() => main.contains(document.activeElement) && document.activeElement?.closest('.fields')
    ? again() : load(), 1500); // a field that is being edited stays
  rig.follow(signal, (event) => (event.store || event.job || event.trend) && again(), again);
  await load();
}

const unavailable = -32006; // error code

/**
 * ifAny is an answer, or another one where the rig has no schedules.
 * @template T, U
 * @param {Promise<T>} asked
 * @param {U} none
 * @returns {Promise<T | U>}
 */
const ifAny = (asked, none) => asked.catch((error) => {
  if (error instanceof RigError && error.code === unavailable) {
    return none;
  }
  throw error;
});

/** @type {WeakMap<Element, string>} what parts of the page show: buttons stay until that changes */
const shown = new WeakMap();

/**
 * section shows a part of the page, or why it cannot.
 * @template T
 * @param {Element} box
 * @param {string} title
 * @param {Promise<T>} asked
 * @param {(answer: T) => void} show
 */
async function section(box, title, asked, show) {
  try {
    const answer = await asked;
    const means = JSON.stringify(answer);
    if (shown.get(box) !== means) {
      shown.set(box, means);
      show(answer);
    }
  } catch (error) {
    shown.delete(box);
    fill(box, title ? h('h2', null, title) : null,
      h('p.refusal', null, error instanceof Error ? error.message : String(error)));
  }
}

/**
 * @param {import('./api.js').Rig} rig
 * @param {Element} box
 * @param {Schedule[]} all
 * @param {() => void} changed
 */
function showSchedules(rig, box, all, changed) {
  fill(box, h('h2', null, 'Schedules'), all.length ? h('div.scroll', null, h('table.values.labelled.schedules', null,
    h('thead', null, h('tr', null, h('th', null, 'Schedule'), h('th', null, 'Starts'), h('th', null, 'Next'),
      h('th.number', null, 'Queued'), h('th.number', null, 'Points'), h('th', null, 'State'),
      h('th', null, h('span.unseen', null, 'Actions')))),
    h('tbody', null, all.map((s) => scheduleRow(rig, s, changed)))))
    : h('p.quiet-text', null, 'No schedule is configured. Add one: docs/schedules.md'));
}

/**
 * @param {import('./api.js').Rig} rig
 * @param {Schedule} s
 * @param {() => void} changed
 */
function scheduleRow(rig, s, changed) {
  const act = async (/** @type {() => Promise<string>} */ f) => {
    try {
      announce(await f());
      changed();
    } catch (error) {
      complain(error);
    }
  };
  const run = () => act(async () =>
    `${counted((await rig.call('schedule.run', {schedule: s.schedule})).jobs.length, 'job')} queued`);
  const pause = async () => {
    const reason = s.paused ? '' : await askText(`Pause ${s.schedule}?`,
      'It queues no more jobs until somebody resumes it. Queued jobs stay.', 'Reason', 'Pause');
    return reason !== null && act(async () => {
      await rig.call('schedule.pause', {schedule: s.schedule, paused: !s.paused, reason: reason || undefined});
      return s.paused ? 'Resumed' : 'Paused';
    });
  };
  return h('tr', {'data-schedule': s.schedule},
    h('th', {scope: 'row'}, s.schedule, h('small', null, `${s.tests.join(', ')}: ${s.browsers.join(' beside ')}`
      + `${s.control ? `, control ${s.control}` : ''}; ${counted(s.runs, 'run')} each`)),
    h('td', null, s.on ? `on a build of ${s.on}` : `${s.cron} ${s.tz ?? ''}`),
    h('td', {'data-of': 'next'}, s.paused ? 'not while paused' : s.next_wall_ns ? moment(s.next_wall_ns)
      : s.on ? 'with the next build' : 'never', s.last_wall_ns ? h('small', null, 'last ', s.last_job ? h('a',
        {href: jobAddress(s.last_job, false, s.devices[0])}, moment(s.last_wall_ns)) : moment(s.last_wall_ns)) : null),
    h('td.number', {'data-of': 'queued'}, grouped(s.queued)), h('td.number', {'data-of': 'points'}, grouped(s.points)),
    h('td', null, stateOf(stateWord(s.paused ? 'paused' : s.reason ? 'broken' : 'active')),
      [s.reason, s.pool, s.gap && `latest gap: ${s.gap}`].map((text) => text ? h('small', null, text) : null)),
    h('td.schedule-actions', null, rig.may('run') ? h('button.button.small', {onclick: run}, 'Run now') : null,
      rig.may('admin') ? [' ', h('button.button.small', {onclick: pause}, s.paused ? 'Resume' : 'Pause …')] : null));
}

/** SeriesList lists series, filtered by the rig. */
class SeriesList {
  /**
   * @param {import('./api.js').Rig} rig
   * @param {URLSearchParams} query
   */
  constructor(rig, query) {
    this.rig = rig;
    this.asked = 0;
    this.box = h('div');
    this.found = h('p.found', {role: 'status'});
    this.filters = names.map((name) => {
      const select = h('select', {'aria-label': name, 'data-filter': name});
      const value = query.get(name) ?? '';
      fill(select, h('option', {value: ''}, `any ${name}`), value ? h('option', {value}, value) : null);
      select.value = value;
      select.addEventListener('change', () => this.load());
      return select;
    });
    this.all = h('input', {type: 'checkbox', checked: query.get('all') === '1'});
    this.all.addEventListener('change', () => this.load());
    this.root = h('section.card', null, h('h2', null, 'Series'), h('div.toolbar', null, this.filters,
      h('label.check', null, this.all, ' rivals and control too'), this.found), this.box);
  }

  load() {
    const asked = ++this.asked;
    const [schedule, test, both, device] = this.filters.map((f) => f.value);
    const [measure, ...value] = both.split('.');
    const role = this.all.checked ? undefined : 'subject';
    note({schedule, test, value: both, device, all: role ? null : '1'});
    const list = (/** @type {import('rig').SeriesListParams} */ params) =>
      ifAny(this.rig.call('series.list', params), {series: [], total: 0});
    return section(this.box, '', Promise.all([list({role, limit: 1000}), list({role, schedule: schedule || undefined,
      test: test || undefined, measure: measure || undefined, value: value.join('.') || undefined,
      device: device || undefined})]), (answers) => asked === this.asked && this.show(...answers));
  }

  /**
   * @param {import('rig').SeriesList} every of which values can be chosen
   * @param {import('rig').SeriesList} found
   */
  show(every, {series, total}) {
    const of = {schedule: (/** @type {Series} */ s) => s.schedule, test: (/** @type {Series} */ s) => s.test,
      value: (/** @type {Series} */ s) => `${s.measure}.${s.value}`, device: (/** @type {Series} */ s) => s.device};
    names.forEach((name, i) => {
      const select = this.filters[i];
      const chosen = select.value;
      const values = [...new Set([...every.series.map(of[name]), chosen])].filter(Boolean).sort();
      fill(select, h('option', {value: ''}, `any ${name}`), values.map((v) => h('option', {value: v}, v)));
      select.value = chosen;
    });
    this.found.textContent = (total > series.length ? `${grouped(series.length)} of ` : '')
      + counted(total, 'series', 'series');
    fill(this.box, series.length ? h('div.scroll', null, h('table.values.labelled', null,
      h('thead', null, h('tr', null, h('th', null, 'Series'), h('th', null, 'Browser'), h('th', null, 'Device'),
        h('th.number', null, 'Latest'), h('th.number', null, 'Points'), h('th', null, 'Newest change'))),
      h('tbody', null, series.map(seriesRow))))
      : h('p.quiet-text', null, every.total ? 'No series matches these filters.'
        : 'No series has a point yet. A schedule’s first job makes them.'));
  }
}

/** @param {Series} s */
const seriesRow = (s) => h('tr', {'data-series': s.series},
  h('th', {scope: 'row'}, h('a', {href: address(['trends', String(s.series)])},
    seriesTitle(s)),
  h('small', null, [s.schedule, s.window && `window ${s.window}`, s.network, generationOf(s)].filter(Boolean)
    .join(' · '))),
  h('td', null, s.product, s.role !== 'subject' ? ` (${s.role})` : '', s.feed ? h('small', null, s.feed) : null),
  h('td', null, s.device), h('td.number', null, s.latest), h('td.number', {'data-of': 'points'}, grouped(s.points)),
  h('td', null, s.change ? stateOf(stateWord(s.change)) : '–'));
