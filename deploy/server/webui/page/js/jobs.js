// Jobs: what waits, what is at work and how far it is, what it came to.

import {arrange, complain, fill, h} from '../shared/dom.js';
import {address} from './router.js';
import {counted, duration, moment, stateWord} from '../shared/words.js';

/** @typedef {import('rig').Job} Job */

/** JobBoard keeps a list of jobs as the rig has them. */
export class JobBoard {
  /**
   * @param {import('./api.js').Rig} rig
   * @param {AbortSignal} signal
   * @param {number} most that have ended
   * @param {() => void} [changed] told when jobs have
   * @param {string} [only] ID of the only job that is shown
   */
  constructor(rig, signal, most, changed, only) {
    this.rig = rig;
    this.only = only;
    this.most = most;
    this.changed = changed;
    /** @type {Map<string, {means: string, bar: Element, root: Element}>} */
    this.cards = new Map();
    this.nothing = h('p.quiet-text', null, 'Nothing waits and nothing is at work.');
    this.ended = h('h3', null, 'Ended');
    /** @type {Map<string, Job>} */
    this.jobs = new Map();
    this.root = h('div.jobs', {'aria-live': 'off'});
    rig.follow(signal, (event) => this.heard(event), () => this.load());
    this.load();
  }

  /** load asks for all jobs. */
  async load() {
    try {
      const [{jobs}, meanwhile] = await this.rig.heed('job.list', {});
      this.jobs = new Map(jobs.map((j) => [j.job, j]));
      meanwhile.forEach((event) => this.take(event));
      this.draw();
    } catch (error) {
      complain(error);
    }
  }

  /** @param {import('./api.js').RigEvent} event */
  heard(event) {
    if (this.take(event)) {
      this.draw();
    }
  }

  /**
   * take says whether the event changed anything.
   * @param {import('./api.js').RigEvent} event
   */
  take(event) {
    if (event.job) {
      const {job} = event;
      const known = this.jobs.get(job.job);
      // an event need not repeat the runs
      this.jobs.set(job.job, {...job, phase: job.phase ?? known?.phase,
        runs: job.runs.length ? job.runs : known?.runs ?? []});
      return true;
    }
    const job = this.jobs.get(event.job_id ?? '');
    if (job && event.phase) {
      job.phase = event.phase;
    } else if (job && event.run && !job.runs.some((m) => m.run === event.run?.run)) {
      job.runs = [...job.runs, event.run];
    } else {
      return false;
    }
    return true;
  }

  /** @param {Job} job that has just been queued; its events may have come first, and know better */
  add(job) {
    if (!this.jobs.has(job.job)) {
      this.jobs.set(job.job, job);
      this.draw();
    }
  }

  draw() {
    const all = [...this.jobs.values()].filter((j) => !this.only || j.job === this.only);
    const open = all.filter(isOpen);
    const over = all.filter((j) => !isOpen(j)).sort((a, b) => b.ended_wall_ns - a.ended_wall_ns).slice(0, this.most);
    arrange(this.root, [...open.map((j) => this.card(j)), ...open.length || this.only ? [] : [this.nothing],
      ...over.length && !this.only ? [this.ended] : [], ...over.map((j) => this.card(j))]);
    for (const id of this.cards.keys()) {
      if (!open.some((j) => j.job === id) && !over.some((j) => j.job === id)) {
        this.cards.delete(id);
      }
    }
    this.changed?.();
  }

  /**
  * card shows a job. Only its progress changes often; the rest stays and can be clicked.
   * @param {Job} j
   */
  card(j) {
    const {phase, ...rest} = j;
    const means = JSON.stringify([rest, this.rig.role]);
    let card = this.cards.get(j.job);
    if (card?.means !== means) {
      const bar = h('div');
      card = {means, bar, root: this.make(j, bar)};
      this.cards.set(j.job, card);
    }
    fill(card.bar, j.state === 'running' ? progress(j, phase) : null);
    return card.root;
  }

  /**
   * @param {Job} j
   * @param {Element} bar how far it is
   */
  make(j, bar) {
    const {mark, look, text} = stateWord(j.state);
    const open = isOpen(j);
    // which is its own run
    const made = j.runs.length || open || j.kind !== 'record' ? j.runs
      : [{run: j.job, variant: 'the recording', state: j.state, reason: ''}];
    return h('div.job', {'data-job': j.job},
      h('div.job-head', null, h('b', null, j.test || kinds[j.kind] || j.kind),
        h(`span.state.${look}`, null, `${mark} ${text}`),
        h('span.quiet-text', null, [j.devices.join(', '), j.browsers.join(', '), j.label].filter(Boolean).join(' · ')),
        open && this.rig.may('run') ? h('button.button.small', {onclick: () =>
          this.rig.call('run.cancel', {job: j.job}).catch(complain)}, j.kind === 'record' ? 'End' : 'Cancel') : null),
      j.state === 'queued' ? h('p.quiet-text', null, `number ${j.position} of those that wait`) : null,
      open && j.reason ? h('p.quiet-text.waits', null, // such as "device a is at job b"
        j.reason.startsWith('device ') ? `waiting for ${j.reason.replace(' is ', ', which is ')}` : j.reason) : null,
      bar,
      j.reason && !open ? h('p.refusal', null, j.reason) : null,
      made.length ? h('ul.made', null, made.slice(-8).map((m) => {
        const s = stateWord(m.state);
        return h('li', null, h('a', {href: address(['runs', m.run])}, m.variant || m.run), ' ',
          h(`span.state.${s.look}`, null, `${s.mark} ${s.text}`), m.reason ? h('small', null, m.reason) : null);
      })) : null,
      !open ? h('p.quiet-text', null, `${moment(j.ended_wall_ns)} · `,
        duration(j.started_wall_ns ? Math.max(0, j.ended_wall_ns - j.started_wall_ns) : 0),
        j.runs.length > 1 ? [' · ', h('a', {href: address(['runs'], {set: j.job})}, 'the set')] : null) : null);
  }
}

/** @type {Record<string, string>} what jobs without a test are called */
const kinds = {record: 'recording', analyze: 'analysis'};

/** @param {Job} j */
const isOpen = (j) => j.state === 'queued' || j.state === 'running';

/**
 * @param {Job} j
 * @param {import('rig').Phase | undefined} phase
 */
function progress(j, phase) {
  const name = phase?.name ?? 'beginning';
  const left = phase?.estimate_ns ? `, ${duration(phase.estimate_ns)} left` : '';
  const bar = h('progress', {'aria-label': name, ...phase?.total ? {max: phase.total} : {}});
  if (phase?.total) {
    bar.value = phase.done;
  }
  return h('div.progress', null, h('span', null, `${phase?.run ? `run ${phase.run}: ` : ''}${name}${left}`), bar,
    h('span.quiet-text', null, j.runs_total ? `${j.runs_done} of ${counted(j.runs_total, 'run')}` : ''));
}
