// One run: its heading and actions, above what it shows.

import {baselineOf} from './baseline.js';
import {fetchFile, fileURL, RigError, runFiles} from './api.js';
import {announce, ask, complain, fill, h} from '../shared/dom.js';
import {whole} from '../shared/film.js';
import {setHere} from '../shared/keys.js';
import {RunView} from '../shared/runview.js';
import {grouped} from '../shared/format.js';
import {bytes, counted, duration, moment, stateWord} from '../shared/words.js';
import {Frames} from './frames.js';
import {address, go, note} from './router.js';
import {setPage} from './set.js';

/** @typedef {import('rig').RunDetail} RunDetail */

/** @param {import('./main.js').Page} page */
export async function runPage(page) {
  const {main, rig, route: {path, query}, signal} = page;
  const id = path[1];
  fill(main, h('p.loading', null, 'Loading the run …'));
  const detail = await rig.call('run.get', {run: id}).catch(async (error) => {
    if (error instanceof RigError && await setPage(page, id)) {
      return null; // it was a set
    }
    throw error;
  });
  if (!detail) {
    return;
  }
  const there = new Set(detail.files.map((f) => f.name));
  const json = async (/** @type {string} */ name) => there.has(name) ? (await fetchFile(id, name, signal)).json()
    : null;
  const [results, map, events] = await Promise.all([json('results.json'), json('video.mp4.json'),
    recorded(id, there, signal)]);
  if (!signal.aborted) {
    new RunPage(page, detail, whole(results), map, events).begin(query);
  }
}

/**
 * recorded are the events of a recording.
 * @param {string} id
 * @param {Set<string>} there
 * @param {AbortSignal} signal
 * @returns {Promise<import('../shared/lanes.js').RecordedEvent[]>}
 */
async function recorded(id, there, signal) {
  if (!there.has('recording.eid')) {
    return [];
  }
  try {
    return (await (await fetchFile(id, 'events.json', signal)).json()).events;
  } catch (error) {
    complain(error);
    return [];
  }
}

class RunPage {
  /**
   * @param {import('./main.js').Page} page
   * @param {RunDetail} detail
   * @param {import('rig').Results | null} results
   * @param {import('rig').Map | null} map
   * @param {import('rig').RecordedEvent[]} events
   */
  constructor(page, detail, results, map, events) {
    this.page = page;
    this.detail = detail;
    this.results = results;
    const frames = results?.recording.frames ?? detail.frames;
    const stills = frames > 0 ? new Frames(detail.run) : null;
    this.view = new RunView({name: title(detail), files: runFiles(detail.run, page.signal), stills, results, map,
      events, frames});
    this.stage = this.view.stage;
  }

  /** @param {URLSearchParams} query */
  begin(query) {
    const {page: {main, signal, rig}, stage, results, view} = this;
    main.className = 'wide';
    fill(main, this.heading(), stage ? null : h('p.refusal.card', null, 'Nothing was recorded.'), view.root);
    if (!results) {
      this.unmeasured();
    }
    if (stage) {
      stage.timeline.onMove(() => this.moved(stage.timeline));
      signal.addEventListener('abort', () => view.close());
      const frame = query.get('frame');
      view.begin(frame === null ? undefined : Number(frame) || 0);
    }
    setHere([...view.keys(),
      {keys: ['s'], about: 'save this frame as PNG', act: () => this.download()},
      {keys: ['p'], about: 'pin', act: () => rig.may('run') && this.pin()}]);
    rig.follow(signal, (event) => {
      if (event.store?.id === this.detail.run && event.store.what === 'deleted') {
        fill(main, h('h1.unseen', null, 'Deleted run'),
          h('p.refusal.card', null, 'This run has been deleted. ', h('a', {href: '#/runs'}, 'To the runs')));
      }
    });
  }

  /**
   * moved notes the frame in the address.
   * @param {import('../shared/timeline.js').Timeline} timeline
   */
  moved(timeline) {
    if (!this.stage?.playing && timeline.frame >= 0) {
      clearTimeout(this.noting);
      this.noting = setTimeout(() => !this.page.signal.aborted && note({frame: timeline.frame}), 250);
    }
  }

  /** unmeasured says why there are no results; those of a recording can be had. */
  unmeasured() {
    const {detail: d, page: {rig, signal}} = this;
    if (d.state === 'running') {
      fill(this.view.place, h('p.refusal.card', null, 'This run is at work; it is measured when it has ended.'));
      return;
    }
    const can = rig.may('run') && d.files.some((f) => f.name === 'recording.eid');
    const told = h('p.quiet-text', {role: 'status'});
    const button = h('button.button.main', {onclick: async () => {
      button.disabled = true;
      try {
        const [{job}, meanwhile] = await rig.heed('analyze.start', {run: d.run});
        told.textContent = 'waiting …';
        const look = (/** @type {import('rig').Job} */ j) => {
          if (j.job === job && j.ended_wall_ns && !signal.aborted) {
            dispatchEvent(new Event('hashchange')); // the page is made anew, with what was found
          }
        };
        const heard = (/** @type {import('./api.js').RigEvent} */ event) => {
          if (event.job_id === job && event.phase) {
            told.textContent = `${event.phase.name} …`;
          } else if (event.job) {
            look(event.job);
          }
        };
        rig.follow(signal, heard, () => rig.call('job.get', {job}).then(look, complain));
        meanwhile.forEach(heard);
      } catch (error) {
        button.disabled = false;
        complain(error);
      }
    }}, 'Measure it');
    fill(this.view.place, h('div.card', null, h('p.refusal', null, `Nothing was measured. ${d.reason ?? ''}`),
      can ? h('div.row', null, button, told) : null));
  }

  heading() {
    const {detail: d, page: {rig}} = this;
    const {mark, look, text} = stateWord(d.state);
    const pin = h('button.button', {'aria-pressed': String(d.pinned),
      title: 'A pinned run is never deleted to make room (p)', onclick: () => this.pin()}, d.pinned ? 'Pinned' : 'Pin');
    this.pinButton = pin;
    const files = d.files.filter((f) => !f.name.startsWith('pictures/'));
    return h('header.top', null,
      h('p.brand', null, h('a', {href: '#/runs'}, 'Runs'), ' / ', d.set && d.set !== d.run
        ? [h('a', {href: address(['runs'], {set: d.set})}, 'its set'), ' / '] : null, h('code', null, d.run)),
      h('div.title-row', null, h('h1', null, title(d)), h(`span.state.${look}`, null, `${mark} ${text}`),
        h('div.actions', null, rig.may('run') ? pin : null, baselineOf(rig, d.set || d.run, d.test),
          h('a.button', {href: address(['compare'], {a: d.run})}, 'Compare with …'),
          h('details.menu', null, h('summary.button', null, 'Download'), h('ul', null,
            h('li', null, h('a', {href: fileURL(d.run, 'zip'), download: true}, 'all of it, as a zip')),
            this.stage ? h('li', null, h('button.link', {onclick: () => this.download()}, 'this frame, as PNG')) : null,
            files.map((f) => h('li', null, h('a', {href: fileURL(d.run, f.name), download: true}, f.name),
              ` ${bytes(f.bytes)}`)))),
          rig.may('admin') ? h('button.button.danger', {onclick: () => this.delete()}, 'Delete …') : null)),
      h('p.about', null, [moment(d.started_wall_ns), `took ${duration(d.elapsed_ns)}`, d.device && `on ${d.device}`,
        d.browser_version || d.browser, d.label && `label ${d.label}`, d.branch && `branch ${d.branch}`,
        d.revision && `revision ${d.revision}`, `${counted(d.frames, 'frame')}, ${grouped(d.lost_frames)} lost`,
        bytes(d.bytes)].filter(Boolean).map((s) => h('span', null, s))),
      d.verdict ? h('p.about', null, h('span', null, `${stateWord(d.verdict).mark} ${d.verdict} against `,
        h('a', {href: address(['compare'], {a: d.base, b: d.set || d.run})}, 'its baseline'))) : null,
      d.reason ? h('p.refusal', null, d.reason) : null);
  }

  async pin() {
    try {
      const {pinned} = await this.page.rig.call('run.pin', {run: this.detail.run, pinned: !this.detail.pinned});
      this.detail.pinned = pinned;
      if (this.pinButton) {
        this.pinButton.textContent = pinned ? 'Pinned' : 'Pin';
        this.pinButton.setAttribute('aria-pressed', String(pinned));
      }
      announce(pinned ? 'Pinned' : 'No longer pinned');
    } catch (error) {
      complain(error);
    }
  }

  async delete() {
    const {run, bytes: size} = this.detail;
    const all = `${run}: recording, results and pictures, ${bytes(size)}. This cannot be undone.`;
    if (!await ask('Delete this run?', all, 'Delete')) {
      return;
    }
    try {
      await this.stage?.rest();
      await this.page.rig.call('run.delete', {run: this.detail.run});
      go(['runs']);
    } catch (error) {
      complain(error);
      if (this.stage) {
        this.stage.resting = false;
      }
    }
  }

  download() {
    const frame = this.stage?.timeline.frame ?? -1;
    if (frame >= 0) {
      h('a', {href: fileURL(this.detail.run, `frames/${frame}.png`),
        download: `${this.detail.run}-${frame}.png`}).click();
    }
  }
}

/** @param {RunDetail} d */
export const title = (d) => [d.test || 'Recording', d.browser].filter(Boolean).join(', ');
