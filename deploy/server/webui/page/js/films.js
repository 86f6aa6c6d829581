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
      fill(box, await Promise.all(['before', 'after'].map((side) => { // by the names that schedules give variants
        const name = [side, plan.builds?.[side]].filter(Boolean).join(', ');
        const none = (/** @type {unknown} */ why) => h('p.quiet-text', null, `${name}: no film: ${why}`);
        const made = plan.runs.find((/** @type {Made} */ r) => r.variant === side && r.state === 'ok' && !r.warm_up);
        return made ? film(set, made, name).catch((error) => none(error instanceof Error ? error.message : error))
          : none('no run of this build counts');
      })));
    } catch (error) {
      fill(box, h('p.quiet-text', null, `No films: ${error instanceof Error ? error.message : error}`));
    }
  };
  return h('details', {open, ontoggle: () => box.firstChild || show()}, h('summary', null, 'The two films'), box);
}

/**
 * film shows the first frames of a run in its filmstrip, and its video.
 * @param {string} set
 * @param {Made} made
 * @param {string} name
 */
async function film(set, made, name) {
  const run = runOf(set, made.dir);
  const results = whole(await (await fetchFile(run, 'results.json')).json());
  if (!results) throw new Error('its results have another form');
  const strip = [...results.pictures, ...results.windows.flatMap((w) => w.pictures)]
    .find((p) => p.kind === 'filmstrip');
  return filmed([name], name, {video: results.video ? fileURL(run, results.video.file) : '',
    strip: strip ? fileURL(run, strip.file) : ''}, 'metadata');
}
