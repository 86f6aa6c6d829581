// Fleet: the rigs of a hub with their live pictures, its one queue, and a rig's own connection to its hub.

import {complain, fill, h, later} from '../shared/dom.js';
import {counted, moment, stateWord} from '../shared/words.js';
import {grouped} from '../shared/format.js';
import {stateOf} from './changes.js';
import {QueueBoard, runsOf} from './fleetjobs.js';
import {jobForm} from './fleetstart.js';
import {inviteForm, RigBoard} from './fleetrigs.js';

const every = 3000; // ms between two looks; events bring the next one forward

/** @param {import('./main.js').Page} page */
export async function fleetPage({main, rig, route: {path: [, ...set]}, signal}) {
  let status = await rig.call('fleet.status', {});
  if (signal.aborted) {
    return;
  }
  const head = h('p.about');
  const own = h('section.card', {'aria-label': 'This rig'});
  const top = h('header.top', null, h('h1', null, 'Fleet'), head);
  const isHub = () => status.role === 'hub' || status.role === 'both';
  const drawStatus = () => {
    fill(head, isHub() ? [counted(status.rigs, 'rig'), status.away ? `${grouped(status.away)} away` : '',
      waiting(status), `${grouped(status.running)} running`].filter(Boolean).map((s) => h('span', null, s)) : []);
    own.hidden = !status.hub;
    fill(own, status.hub ? connection(status) : null);
  };
  drawStatus();
  if (!isHub()) {
    fill(main, top, status.hub ? own
      : h('p.card', null, 'This rig is in no fleet. Make a hub or join one: docs/fleet.md'));
  }
  const rigs = new RigBoard(rig, signal, () => soon());
  const queue = new QueueBoard(rig, signal, () => soon());
  const form = jobForm(rig, () => rigs.all, () => soon());
  if (isHub()) {
    main.className = 'wide';
    const linked = set.length === 2 ? linkedSet(set.join('/'), signal)
      : set.length === 1 ? await linkedJob(rig, queue, set[0]) : null;
    if (signal.aborted) {
      return;
    }
    fill(main, top, own, linked, h('div.two-columns.rig.fleet', null,
      h('section.card', {'aria-label': 'Rigs'},
        h('div.card-head', null, h('h2', null, 'Rigs'), rigs.filter, rigs.found), rigs.root,
        rig.may('admin') ? inviteForm(rig, () => soon()) : null),
      h('div', null, h('section.card', {'aria-label': 'Queue'}, h('h2', null, 'Queue'),
        rig.may('run') ? form : null, queue.live),
      h('section.card', {'aria-label': 'Ended jobs'}, h('h2', null, 'Ended'), queue.ended))));
  }
  const load = async () => {
    const [now, all, jobs] = await Promise.all([rig.call('fleet.status', {}),
      isHub() ? rig.call('fleet.rigs', {}) : null, isHub() ? rig.call('fleet.jobs', {}) : null]);
    status = now;
    drawStatus();
    if (all && jobs && !signal.aborted) {
      rigs.draw(all.rigs);
      queue.draw(jobs);
    }
  };
  const again = () => document.visibilityState === 'visible' && !signal.aborted && load().catch((error) => {
    if (error.message !== failed) { // not each time
      failed = error.message;
      complain(error);
    }
  });
  let failed = '';
  const soon = later(again, 150);
  const timer = setInterval(again, every);
  signal.addEventListener('abort', () => clearInterval(timer));
  rig.follow(signal, (event) => (event.fleet || event.store) && soon(), soon);
  await load();
}

/**
 * linkedSet shows the runs of a set that an address names.
 * @param {string} set RIG/ID
 * @param {AbortSignal} signal
 */
function linkedSet(set, signal) {
  const runs = runsOf(set, signal);
  runs.open = true;
  return h('section.card.fleet', {'aria-label': 'Set'}, h('h2', null, set), runs);
}

/**
 * linkedJob shows a job that an address names, as it is now.
 * @param {import('./api.js').Rig} rig
 * @param {QueueBoard} queue
 * @param {string} job
 */
async function linkedJob(rig, queue, job) {
  const shown = await rig.call('fleet.job', {job}).then((j) => queue.card(j),
    (error) => h('p.refusal', null, `The hub does not have job ${job} any more: ${error.message}`));
  shown.querySelector('details')?.setAttribute('open', '');
  return h('section.card.fleet', {'aria-label': 'Job'}, h('h2', null, job), shown);
}

/** @param {import('rig').FleetStatus} status */
function waiting({waiting: by}) {
  const all = Object.entries(by ?? {}).filter(([, n]) => n);
  const sum = all.reduce((total, [, n]) => total + n, 0);
  return sum ? `${counted(sum, 'job waits', 'jobs wait')} (${all.map(([name, n]) => `${name} ${n}`).join(', ')})`
    : 'no job waits';
}

/** @param {import('rig').FleetStatus} status of a rig with a hub */
function connection({hub, rig, connected, reason, since_wall_ns: since, results}) {
  const web = /^https?:\/\//.test(hub ?? '');
  const facts = [['hub', web ? h('a', {href: hub}, hub) : hub], ['name in the fleet', rig ?? ''],
    [connected ? 'connected since' : 'not connected since', since ? moment(since) : 'never connected'],
    ['results that the hub does not have', grouped(results)]];
  return [h('h2', null, 'This rig ', stateOf({...stateWord(connected ? 'ready' : 'away'),
    text: connected ? 'connected' : 'not connected'})), reason ? h('p.refusal', null, reason) : null,
  h('dl.facts', null, facts.map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text))))];
}
