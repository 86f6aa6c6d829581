// One run: its frames and video, and beside them what was measured, all on one timeline.

import {fetchFile, fileURL} from './api.js';
import {announce, ask, complain, fill, h} from './dom.js';
import {setHere} from './keys.js';
import {address, go, note} from './router.js';
import {film, whole} from './film.js';
import {Stage} from './stage.js';
import {controls, stepKeys} from './controls.js';
import {WindowView} from './window.js';
import {HeatControl} from './heatcontrol.js';
import {quality, headline} from './results.js';
import {figure} from './pictures.js';
import {bytes, counted, duration, measureTitle, moment, stateWord, valueText} from './words.js';
import {grouped} from '../shared/format.js';

/** @typedef {import('../../types/rig.js').RunDetail} RunDetail */

/** @param {import('./main.js').Page} page */
export async function runPage(page) {
  const {main, rig, route: {path, query}, signal} = page;
  const id = path[1];
  fill(main, h('p.loading', null, 'Loading the run …'));
  const detail = await rig.call('run.get', {run: id});
  const there = new Set(detail.files.map((f) => f.name));
  const json = async (/** @type {string} */ name) => there.has(name) ? (await fetchFile(id, name, signal)).json() : null;
  const [results, map, events] = await Promise.all([json('results.json'), json('video.mp4.json'), recorded(id, there, signal)]);
  if (!signal.aborted) {
    new RunView(page, detail, whole(results), map, events).begin(query);
  }
}

/**
 * recorded are the events of a recording.
 * @param {string} id
 * @param {Set<string>} there
 * @param {AbortSignal} signal
 * @returns {Promise<import('./lanes.js').RecordedEvent[]>}
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

class RunView {
  /**
   * @param {import('./main.js').Page} page
   * @param {RunDetail} detail
   * @param {import('../../types/rig.js').Results | null} results
   * @param {import('../../types/rig.js').Map | null} map
   * @param {import('./lanes.js').RecordedEvent[]} events
   */
  constructor(page, detail, results, map, events) {
    this.page = page;
    this.detail = detail;
    this.results = results;
    const frames = results?.recording.frames ?? detail.frames;
    this.shown = film(detail.run, results, map, frames);
    this.stage = frames > 0 ? new Stage(detail.run, this.shown, {width: results?.recording.width_px || 16, height: results?.recording.height_px || 9}, title(detail)) : null;
    this.events = events.map((e) => ({...e, at_ns: e.at_ns - this.shown.base}));
    /** @type {WindowView | null} */
    this.window = null;
    this.place = h('div.windows');
  }

  /** @param {URLSearchParams} query */
  begin(query) {
    const {page: {main, signal}, stage, results, shown} = this;
    main.className = 'wide';
    fill(main, this.heading(), results ? quality(results, (n) => this.seek(n)) : null,
      h('div.with-film', null, stage ? this.player(stage) : h('p.refusal.card', null, 'Nothing was recorded.'), h('div.found', null, this.overview(), this.place)));
    if (!results) {
      this.unmeasured();
    }
    if (results && !shown.windows.length) {
      fill(this.place, h('p.refusal.card', null, 'Nothing was measured in this recording.'), results.pictures.map((p) => figure(this.detail.run, p, (n) => this.seek(n))));
    }
    if (stage) {
      stage.timeline.onMove(() => this.moved());
      signal.addEventListener('abort', () => {
        this.window?.close();
        stage.close();
      });
      const frame = query.get('frame');
      stage.player.seek(stage.timeline.placeFor(frame === null ? shown.windows[0]?.start ?? 0 : Number(frame) || 0));
    }
    this.keys();
    this.page.rig.follow(signal, (event) => {
      if (event.store?.id === this.detail.run && event.store.what === 'deleted') {
        fill(main, h('p.refusal.card', null, 'This run has been deleted. ', h('a', {href: '#/runs'}, 'To the runs')));
      }
    });
  }

  /** unmeasured says why there are no results; those of a recording can be had. */
  unmeasured() {
    const {detail: d, page: {rig, signal}} = this;
    if (d.state === 'running') {
      fill(this.place, h('p.refusal.card', null, 'This run is at work; it is measured when it has ended.'));
      return;
    }
    const can = rig.may('run') && d.files.some((f) => f.name === 'recording.eid');
    const told = h('p.quiet-text', {role: 'status'});
    const button = h('button.button.main', {onclick: async () => {
      button.disabled = true;
      try {
        const [{job}, meanwhile] = await rig.heed('analyze.start', {run: d.run});
        told.textContent = 'waiting …';
        const look = (/** @type {import('../../types/rig.js').Job} */ j) => {
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
    fill(this.place, h('div.card', null, h('p.refusal', null, `Nothing was measured. ${d.reason ?? ''}`), can ? h('div.row', null, button, told) : null));
  }

  /** @param {number} frame */
  seek(frame) {
    this.stage?.player.seekFrame(frame);
  }

  heading() {
    const {detail: d, page: {rig}} = this;
    const {mark, look, text} = stateWord(d.state);
    const pin = h('button.button', {'aria-pressed': String(d.pinned), title: 'A pinned run is never deleted to make room (p)', onclick: () => this.pin()}, d.pinned ? 'Pinned' : 'Pin');
    this.pinButton = pin;
    const files = d.files.filter((f) => !f.name.startsWith('pictures/'));
    return h('header.top', null,
      h('p.brand', null, h('a', {href: '#/runs'}, 'Runs'), ' / ', d.set && d.set !== d.run ? [h('a', {href: address(['runs'], {set: d.set})}, 'its set'), ' / '] : null, h('code', null, d.run)),
      h('div.title-row', null, h('h1', null, title(d)), h(`span.state.${look}`, null, `${mark} ${text}`),
        h('div.actions', null, rig.may('run') ? pin : null,
          h('a.button', {href: address(['compare'], {a: d.run})}, 'Compare with …'),
          h('details.menu', null, h('summary.button', null, 'Download'), h('ul', null,
            h('li', null, h('a', {href: fileURL(d.run, 'zip'), download: true}, 'all of it, as a zip')),
            this.stage ? h('li', null, h('button.link', {onclick: () => this.download()}, 'this frame, as PNG')) : null,
            files.map((f) => h('li', null, h('a', {href: fileURL(d.run, f.name), download: true}, f.name), ` ${bytes(f.bytes)}`)))),
          rig.may('admin') ? h('button.button.danger', {onclick: () => this.delete()}, 'Delete …') : null)),
      h('p.about', null, [moment(d.started_wall_ns), `took ${duration(d.elapsed_ns)}`, d.device && `on ${d.device}`, d.browser_version || d.browser, d.label && `label ${d.label}`, d.branch && `branch ${d.branch}`,
        d.revision && `revision ${d.revision}`, `${counted(d.frames, 'frame')}, ${grouped(d.lost_frames)} lost`, bytes(d.bytes)].filter(Boolean).map((s) => h('span', null, s))),
      d.verdict ? h('p.about', null, h('span', null, `${stateWord(d.verdict).mark} ${d.verdict} against `, h('a', {href: address(['compare'], {a: d.base, b: d.set || d.run})}, 'its baseline'))) : null,
      d.reason ? h('p.refusal', null, d.reason) : null);
  }

  /** @param {Stage} stage */
  player(stage) {
    const heat = new HeatControl(this.detail.run, stage);
    this.heat = heat;
    return h('aside.player', {'aria-label': 'Frames and video'}, stage.root, controls(stage, this.shown.hasVideo, () => {
      const w = this.current();
      return w ? {name: this.shown.windows.length > 1 ? w.name : '', t: stage.timeline.time - w.from} : null;
    }), heat.root, h('p.keys-hint', null, h('kbd', null, '←'), ' ', h('kbd', null, '→'), ' one frame · ', h('kbd', null, '?'), ' all keys'));
  }

  /** overview lists the windows where there are several. */
  overview() {
    const windows = this.results?.windows ?? [];
    if (windows.length < 2) {
      return null;
    }
    const columns = [...new Set(windows.flatMap((w) => w.results.filter((r) => headline(r)).map((r) => r.measure)))];
    this.rows = windows.map((w, i) => {
      const cells = columns.map((measure) => {
        const r = w.results.find((one) => one.measure === measure);
        const v = r && headline(r);
        return h('td', {'data-of': measureTitle(measure)}, v ? h('span', null, valueText(v)) : null);
      });
      return h('tr', null, h('th', {scope: 'row'}, h('button.link', {onclick: () => this.seek(w.start_frame)}, w.name || `Window ${i + 1}`), h('small', null, `frames ${grouped(w.start_frame)} – ${grouped(w.end_frame)}`)), cells);
    });
    return h('nav.card.contents', {'aria-label': 'What was measured'}, h('table', null,
      h('thead', null, h('tr', null, h('th', null, 'Window'), columns.map((c) => h('th', null, measureTitle(c))))), h('tbody', null, this.rows)));
  }

  /** current is the window in which the timeline stands. */
  current() {
    const t = this.stage?.timeline.time ?? NaN;
    return this.shown.windows.find((w) => {
      const room = 0.02 * (w.to - w.from);
      return t >= w.from + Math.min(0, w.t0 ?? 0) - room && t <= w.to + room;
    });
  }

  moved() {
    const {stage, shown} = this;
    if (!stage) {
      return;
    }
    const w = this.current() ?? (this.window ? null : shown.windows[0]);
    if (w && this.window?.data !== w) {
      this.window?.close();
      this.window = new WindowView(this.detail.run, w, stage, this.events, (n) => this.seek(n), this.results?.network);
      fill(this.place, this.window.root);
      this.heat?.show(w);
      this.rows?.forEach((row, i) => row.classList.toggle('here', shown.windows[i] === w));
    }
    this.window?.moved();
    const {frame} = stage.timeline;
    const evidence = (this.window?.data.whole.results ?? []).flatMap((r) => r.evidence).filter((e) => e.frame === frame);
    stage.mark(evidence, this.window?.data.whole.region ?? []);
    if (!stage.playing && frame >= 0) {
      clearTimeout(this.noting);
      this.noting = setTimeout(() => !this.page.signal.aborted && note({frame: stage.timeline.frame}), 250);
    }
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
    if (!await ask('Delete this run?', `${this.detail.run}: recording, results and pictures, ${bytes(this.detail.bytes)}. It cannot be brought back.`, 'Delete')) {
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
      h('a', {href: fileURL(this.detail.run, `frames/${frame}.png`), download: `${this.detail.run}-${frame}.png`}).click();
    }
  }

  keys() {
    const {stage} = this;
    const windows = this.shown.windows;
    const step = (/** @type {number} */ n) => {
      const i = windows.findIndex((w) => w === this.window?.data);
      const next = windows[i + n];
      if (next) {
        this.seek(next.start);
      }
    };
    setHere([
      ...stage ? stepKeys(stage.player) : [],
      {keys: ['Home'], about: 'first frame of the window', act: () => this.window && this.seek(this.window.data.start)},
      {keys: ['End'], about: 'last frame of the window', act: () => this.window && this.seek(this.window.data.end)},
      {keys: ['n'], about: 'next window', act: () => step(1)},
      {keys: ['N'], about: 'window before', act: () => step(-1)},
      {keys: ['e'], about: 'next frame with evidence', act: () => this.evidence()},
      {keys: ['h'], about: 'heat map over the frame', act: () => this.heat?.toggle()},
      {keys: ['+', '='], about: 'zoom the charts in', act: () => this.window?.zoom(0.5)},
      {keys: ['-'], about: 'zoom the charts out', act: () => this.window?.zoom(2)},
      {keys: ['0'], about: 'charts show all of the window', act: () => this.window?.view.all()},
      {keys: ['f'], about: 'full screen', act: () => document.fullscreenElement ? document.exitFullscreen() : stage?.root.requestFullscreen().catch(complain)},
      {keys: ['s'], about: 'save this frame as PNG', act: () => this.download()},
      {keys: ['p'], about: 'pin', act: () => this.page.rig.may('run') && this.pin()},
    ]);
  }

  /** evidence goes to the next frame that shows something. */
  evidence() {
    const all = [...new Set((this.results?.windows ?? []).flatMap((w) => w.results.flatMap((r) => r.evidence.map((e) => e.frame))))].sort((a, b) => a - b);
    const now = this.stage?.timeline.frame ?? -1;
    const next = all.find((n) => n > now) ?? all[0];
    if (next !== undefined) {
      this.seek(next);
    }
  }
}

/** @param {RunDetail} d */
export const title = (d) => [d.test || 'Recording', d.browser].filter(Boolean).join(', ');
