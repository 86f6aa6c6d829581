// The one queue of a fleet: why jobs wait, their attempts, and the runs of ended ones.

import {complain, fill, h} from '../shared/dom.js';
import {counted, duration, moment, stateWord} from '../shared/words.js';
import {fetchFile, fileURL, runOf} from './api.js';
import {stateOf} from './changes.js';
import {Cards} from './fleetrigs.js';

/** @typedef {import('rig').FleetJob} FleetJob */
/** @typedef {import('rig').FleetAttempt} Attempt */
/** @typedef {import('./films.js').Made} Made */

const live = ['queued', 'assigned', 'running'];

/** QueueBoard shows jobs of a fleet. */
export class QueueBoard {
  /**
   * @param {import('./api.js').Rig} rig
   * @param {AbortSignal} signal
   * @param {() => void} changed
   */
  constructor(rig, signal, changed) {
    this.rig = rig;
    this.signal = signal;
    this.changed = changed;
    this.boards = [new Cards(), new Cards()];
    this.live = h('div.jobs');
    this.ended = h('div.jobs');
  }

  /** @param {import('rig').FleetJobs} jobs */
  draw({jobs, total}) {
    const parts = [jobs.filter((j) => live.includes(j.state)), jobs.filter((j) => !live.includes(j.state))];
    const none = ['No job waits or runs.', 'No job has ended yet.'];
    [this.live, this.ended].forEach((box, i) => {
      this.boards[i].show(box, parts[i], (j) => j.job, (j) => this.card(j), (j) => [j, this.rig.role]);
      if (!parts[i].length) {
        fill(box, h('p.quiet-text', null, none[i]));
      }
    });
    if (total > jobs.length) {
      this.ended.append(h('p.quiet-text', null, `${counted(total - jobs.length, 'more job')} not shown`));
    }
  }

  /** @param {FleetJob} j */
  card(j) {
    const open = live.includes(j.state);
    const cancel = async () => {
      await this.rig.call('fleet.cancel', {job: j.job}).catch(complain);
      this.changed();
    };
    const mine = this.rig.may('admin') || this.rig.may('run') && j.owner === this.rig.owner;
    const winner = j.attempts.find((a) => a.attempt === j.winner);
    return h('div.job', {'data-job': j.job},
      h('div.job-head', null, h('b', null, j.test), stateOf(stateWord(j.state)),
        j.verdict ? stateOf(stateWord(j.verdict)) : null,
        h('span.quiet-text', null, [j.class, j.owner, j.label].filter(Boolean).join(' · ')),
        open && mine ? h('button.button.small', {'data-do': 'cancel', onclick: cancel,
          'aria-label': `Cancel ${j.job}`}, 'Cancel') : null),
      j.needs.length ? h('ul.labels', {'aria-label': 'Needs'}, j.needs.map((n) => h('li', null, n))) : null,
      j.position ? h('p.quiet-text.waits', null, `number ${j.position} of class ${j.class}`) : null,
      j.reason ? h(open ? 'p.why' : 'p.refusal', null, j.reason) : null,
      j.attempts.length ? h('ul.attempts', null, j.attempts.map((a) => attemptItem(a, j.attempts.length > 1))) : null,
      winner?.set ? runsOf(winner.set, this.signal) : null,
      h('p.quiet-text', null, h('code', null, j.job), ` · ${open ? `asked for ${moment(j.queued_wall_ns)}`
        : `${moment(j.ended_wall_ns)}${tookText(winner)}`}`));
  }
}

/**
 * runsOf lists the runs of a set once it is opened.
 * @param {string} set RIG/ID
 * @param {AbortSignal} signal
 */
export function runsOf(set, signal) {
  const list = h('ul.made');
  const show = async () => {
    try {
      const {runs} = await (await fetchFile(set, 'set.json', signal)).json();
      fill(list, runs.map((/** @type {Made} */ r) => h('li', null,
        h('a', {href: fileURL(runOf(set, r.dir), 'report.html')}, r.dir), ' ',
        stateOf(stateWord(r.state)), r.reason ? h('small', null, r.reason) : null)));
    } catch (error) {
      complain(error);
    }
  };
  return h('details', {ontoggle: () => list.firstChild || show()}, h('summary', null, `Runs on ${set.split('/')[0]}`),
    list);
}

/** @param {Attempt | undefined} a */
const tookText = (a) => a?.ended_wall_ns && a.started_wall_ns
  ? `, ${duration(Math.max(0, a.ended_wall_ns - a.started_wall_ns))}` : '';

/**
 * @param {Attempt} a
 * @param {boolean} several
 */
function attemptItem(a, several) {
  const where = a.devices.map((d) => `${a.rig}/${d}`).join(', ') || a.rig;
  const fault = a.fault === 'lab' ? 'fault of the lab' : a.fault === 'product' ? 'fault of the product' : '';
  return h(a.superseded ? 'li.superseded' : 'li', null, several ? `attempt ${a.attempt} on ` : 'on ',
    h('b', null, where), ' ', stateOf(stateWord(a.state)),
    a.superseded ? [' ', stateOf({mark: '–', look: 'refused', text: 'superseded: it does not count'})] : null,
    h('small', null, [a.progress, fault, a.reason].filter(Boolean).join(' · ')));
}
