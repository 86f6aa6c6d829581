// The two films of a confirmed change: runs of the builds before and after it.

import {fetchFile, fileURL, runOf} from './api.js';
import {fill, h} from '../shared/dom.js';
import {filmed, whole} from '../shared/film.js';

/** @typedef {{dir: string, variant?: string, state: string, reason?: string, warm_up?: boolean}} Made of set.json */

/**
 * twoFilms shows the first run that counts of each build, once it is opened.
 * @param {string} set of the fresh runs; RIG/SET in a fleet
 * @param {boolean} open
 */
export function twoFilms(set, open) {
  const box = h('div.films');
  const show = async () => {
    try {
      const plan = await (await fetchFile(set, 'set.json')).json();
      fill(box, await Promise.all(['before', 'after'].map((side) => // by the names that schedules give variants
        film(set, plan.runs.find((/** @type {Made} */ r) => r.variant === side && r.state === 'ok' && !r.warm_up),
          [side, plan.builds?.[side]].filter(Boolean).join(', ')))));
    } catch (error) {
      fill(box, h('p.quiet-text', null, `No films: ${error instanceof Error ? error.message : error}`));
    }
  };
  return h('details', {open, ontoggle: () => box.firstChild || show()}, h('summary', null, 'The two films'), box);
}

/**
 * film shows the first frames of a run in its filmstrip, and its video.
 * @param {string} set
 * @param {Made | undefined} made
 * @param {string} name
 */
async function film(set, made, name) {
  const run = made ? runOf(set, made.dir) : '';
  const results = run ? whole(await (await fetchFile(run, 'results.json')).json()) : null;
  const strip = results && [...results.pictures, ...results.windows.flatMap((w) => w.pictures)]
    .find((p) => p.kind === 'filmstrip');
  return filmed([name], name, {video: results?.video ? fileURL(run, results.video.file) : '',
    strip: strip ? fileURL(run, strip.file) : ''}, 'metadata');
}
