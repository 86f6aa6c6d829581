// A job while it waits and is at work. When it has ended, its run or set is shown.

import {fill, h} from '../shared/dom.js';
import {JobBoard} from './jobs.js';
import {address} from './router.js';

/** @param {import('./main.js').Page} page */
export async function jobPage({main, rig, route: {path}, signal}) {
  const id = path[1] ?? '';
  const over = (/** @type {import('rig').Job} */ job) => {
    const made = job.ended_wall_ns && (job.runs.length > 0 || job.runs_done > 0);
    if (made && !signal.aborted) {
      location.replace(address(['runs', id]));
    }
  };
  const job = await rig.call('job.get', {job: id});
  if (signal.aborted) {
    return;
  }
  const board = new JobBoard(rig, signal, 1, () => over(board.jobs.get(id) ?? job), id);
  main.className = 'comparison';
  fill(main, h('header.top', null, h('p.brand', null, h('a', {href: '#/tests'}, 'Tests'), ' / ', h('code', null, id)),
    h('h1', null, job.test || 'Job')),
  h('section.card', {'aria-label': 'Job'}, board.root,
    h('p.quiet-text', null, 'The results are shown when it has ended. Its runs have links before.')));
  over(job);
}
