// A run: its frames and video, and beside them its results, on one timeline. The rig's page and report.html show it.

import {fill, h} from './dom.js';
import {film} from './film.js';
import {Stage} from './stage.js';
import {controls, stepKeys} from './controls.js';
import {title, WindowView} from './window.js';
import {HeatControl} from './heatcontrol.js';
import {quality} from './results.js';
import {figure} from './pictures.js';
import {grouped} from './format.js';
import {scripts, scriptWarnings} from './scripts.js';
import {profile, profileWarnings} from './profile.js';
import {vitals} from './vitals.js';

/** @typedef {import('./pictures.js').Files} Files */

/**
 * @typedef {object} Run
 * @property {string} name
 * @property {Files} files
 * @property {import('./stage.js').Stills | null} stills
 * @property {import('rig').Results | null} results null where nothing was measured
 * @property {import('rig').Map | null} map of the video
 * @property {import('rig').RecordedEvent[]} events of the recording
 * @property {number} frames of the recording
 */

const lead = 15; // frames before a window that its video shows at least

export class RunView {
  /** @param {Run} run */
  constructor(run) {
    const {files, results} = run;
    this.files = files;
    this.results = results;
    this.shown = film(files, results, run.map, run.frames);
    const size = {width: results?.recording.width_px || 16, height: results?.recording.height_px || 9};
    this.stage = run.frames > 0 ? new Stage(run.stills, this.shown, size, run.name) : null;
    this.events = run.events.map((e) => ({...e, at_ns: e.at_ns - this.shown.base}));
    /** @type {WindowView | null} */
    this.window = null;
    /** @type {Element[]} rows of the overview, one for each window */
    this.rows = [];
    this.place = h('div.windows');
    this.seek = (/** @type {number} */ frame) => this.stage?.player.seekFrame(frame);
    const player = this.stage && (run.stills || this.shown.hasVideo) ? this.player(this.stage) : null;
    const found = h('div.found', null, this.overview(), this.place);
    this.root = h('div', null, results ? quality(files, results, this.seek) : null,
      player ? h('div.with-film', null, player, found) : found);
    if (results && !results.windows.length) {
      fill(this.place, h('p.refusal.card', null, 'Nothing was measured in this recording.'));
    }
    found.append(...[scriptWarnings(results?.script), profileWarnings(results?.profile),
      profile(results, this.seek), scripts(files, results, this.seek),
      vitals(results?.vitals, this.seek)].filter(Boolean));
    const own = (results?.pictures ?? []).map((p) => figure(files, p, this.seek)).filter(Boolean);
    if (own.length) {
      found.append(h('article.card', null, h('h3', null, 'Pictures'), own));
    }
    this.stage?.timeline.onMove(() => this.moved());
  }

  /** @param {number} [frame] that is shown first; else the first of the first window */
  begin(frame = this.shown.windows[0]?.start ?? 0) {
    this.stage?.player.seek(this.stage.timeline.placeFor(frame));
  }

  /** @param {Stage} stage */
  player(stage) {
    this.heat = new HeatControl(this.files, stage);
    const where = () => {
      const w = this.current();
      return w ? {name: this.shown.windows.length > 1 ? w.name : '', t: stage.timeline.time - w.from - (w.t0 ?? 0)}
        : null;
    };
    return h('aside.player', {'aria-label': 'Frames and video'}, stage.root,
      controls(stage, this.shown.hasVideo, where), this.heat.root,
      h('p.keys-hint', null, h('kbd', null, '←'), ' ', h('kbd', null, '→'), ' one frame · ', h('kbd', null, '?'),
        ' all keys'));
  }

  /** overview lists the windows where there are several. */
  overview() {
    const {windows} = this.shown;
    if (windows.length < 2) {
      return null;
    }
    this.rows = windows.map(({whole: w}) => h('tr', null, h('th', {scope: 'row'},
      h('button.link', {onclick: () => this.seek(w.start_frame)}, title(w)),
      h('small', null, `frames ${grouped(w.start_frame)} – ${grouped(w.end_frame)}`)),
    h('td', null, w.answer.sentence)));
    return h('nav.card.contents', {'aria-label': 'Windows'}, h('table', null,
      h('thead', null, h('tr', null, h('th', null, 'Window'), h('th', null, 'Answer'))),
      h('tbody', null, this.rows)));
  }

  /** current is the window at the timeline's place. */
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
      this.window = this.windowView(stage, w);
      fill(this.place, this.window.root);
      this.heat?.show(w);
      this.rows.forEach((row, i) => row.classList.toggle('here', shown.windows[i] === w));
    }
    this.window?.moved();
    const {frame, time} = stage.timeline;
    stage.nothing.hidden = !shown.windows.some((o) => o.green >= 0 && frame >= 0 && frame < o.start
      && (frame >= o.start - lead || time >= o.from + (o.t0 ?? 0)));
    const {whole} = this.window?.data ?? {};
    const evidence = (whole?.results ?? []).flatMap((r) => r.evidence).filter((e) => e.frame === frame);
    stage.mark(evidence, whole?.region ?? []);
  }

  /**
   * @param {Stage} stage
   * @param {import('./film.js').WindowData} w
   */
  windowView(stage, w) {
    return new WindowView(this.files, w, stage, this.events, this.seek, this.results);
  }

  /** print shows all windows, one below the other, until end is called. */
  print() {
    const {stage} = this;
    if (!stage || !this.window) {
      return {end: () => {}};
    }
    const {unfolded} = stage;
    const all = this.shown.windows.map((w) => this.windowView(stage, w));
    fill(this.place, all.map((w) => w.root));
    all.forEach((w) => w.draw());
    return {end: () => {
      stage.unfolded = unfolded;
      all.reverse().forEach((w) => w.close());
      fill(this.place, this.window?.root);
    }};
  }

  /**
   * keys are those of the run.
   * @returns {import('./keys.js').Key[]}
   */
  keys() {
    const {stage, shown: {windows}} = this;
    const step = (/** @type {number} */ n) => {
      const next = windows[windows.findIndex((w) => w === this.window?.data) + n];
      if (next) {
        this.seek(next.start);
      }
    };
    return [
      ...stage ? stepKeys(stage.player) : [],
      {keys: ['Home'], about: 'first frame of the window', act: () => this.window && this.seek(this.window.data.start)},
      {keys: ['End'], about: 'last frame of the window', act: () => this.window && this.seek(this.window.data.end)},
      {keys: ['n'], about: 'next window', act: () => step(1)},
      {keys: ['N'], about: 'window before', act: () => step(-1)},
      {keys: ['e'], about: 'next frame with evidence', act: () => this.evidence()},
      ...this.results?.profile?.late.length
        ? [{keys: ['l'], about: 'next late frame', act: () => this.window?.late?.next()}] : [],
      {keys: ['h'], about: 'heat map over the frame', act: () => this.heat?.toggle()},
      {keys: ['+', '='], about: 'zoom the charts in', act: () => this.window?.zoom(0.5)},
      {keys: ['-'], about: 'zoom the charts out', act: () => this.window?.zoom(2)},
      {keys: ['0'], about: 'charts show all of the window', act: () => this.window?.view.all()},
      {keys: ['f'], about: 'full screen', act: () => this.fullScreen()},
    ];
  }

  fullScreen() {
    if (document.fullscreenElement) {
      document.exitFullscreen();
    } else {
      this.stage?.root.requestFullscreen().catch(() => {}); // a browser may refuse it
    }
  }

  /** evidence goes to the next frame that proves something. */
  evidence() {
    const all = (this.results?.windows ?? []).flatMap((w) => w.results.flatMap((r) => r.evidence.map((e) => e.frame)));
    const frames = [...new Set(all)].sort((a, b) => a - b);
    const now = this.stage?.timeline.frame ?? -1;
    const next = frames.find((n) => n > now) ?? frames[0];
    if (next !== undefined) {
      this.seek(next);
    }
  }

  close() {
    this.window?.close();
    this.stage?.close();
  }
}
