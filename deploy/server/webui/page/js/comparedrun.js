// One of two runs that are compared: which of its frames stands at which step.

import {fetchFile, RigError, runFiles} from './api.js';
import {film, whole} from '../shared/film.js';
import {Frames} from './frames.js';
import {Stage} from '../shared/stage.js';
import {View} from '../shared/view.js';
import {below} from '../shared/format.js';

export class ComparedRun {
  /**
   * load finds the run that stands for a run, a set or a baseline.
   * @param {import('./api.js').Rig} rig
   * @param {string} id
   * @param {any} compared what the comparison says of it
   * @param {AbortSignal} signal
   */
  static async load(rig, id, compared, signal) {
    const detail = await rig.call('run.get', {run: id}).catch((error) => {
      if (error instanceof RigError) {
        return null; // it names a set, or a baseline
      }
      throw error;
    }) ?? await rig.call('run.get', {run: await shownRun(rig, id, compared?.shown_run ?? '')});
    const there = new Set(detail.files.map((f) => f.name));
    const json = async (/** @type {string} */ name) => there.has(name)
      ? (await fetchFile(detail.run, name, signal)).json() : null;
    const [results, map] = await Promise.all([json('results.json'), json('video.mp4.json')]);
    return new ComparedRun(detail, whole(results), map);
  }

  /**
   * @param {import('rig').RunDetail} detail
   * @param {import('rig').Results | null} results
   * @param {import('rig').Map | null} map
   */
  constructor(detail, results, map) {
    this.id = detail.run;
    const shown = film(runFiles(detail.run), results, map, results?.recording.frames ?? detail.frames);
    this.windows = shown.windows;
    this.known = results?.recording.period_ns ?? 0; // ns; 0: the source has no beat
    this.period = this.known || 1e9 / 60;
    this.frames = results?.recording.frames ?? detail.frames;
    const size = {width: results?.recording.width_px || 16, height: results?.recording.height_px || 9};
    this.stage = new Stage(new Frames(detail.run), shown, size, detail.run);
    this.search = new Frames(detail.run);
    /** @type {import('../shared/film.js').WindowData | null} */
    this.window = null;
    /** @type {View | null} */
    this.view = null;
    /** @type {number[] | null} frames in which a pixel that counts is another than before; null: not known */
    this.changes = null;
    /** @type {number[]} frames by their steps; -1: not recorded */
    this.places = [];
    /** @type {Map<number, number>} */
    this.stepOf = new Map();
    /** @type {any} */
    this.label = null;
  }

  /** @param {import('../shared/film.js').WindowData} w of the other run */
  windowLike(w) {
    return this.windows.find((own) => own.name === w.name) ?? (this.windows.length === 1 ? this.windows[0] : null);
  }

  /**
   * begin tells the frames off by steps, from a window's start.
   * @param {import('../shared/film.js').WindowData | null} w
   * @param {number} tick ns from one step to the next; 0: each frame of the source is a step
   */
  begin(w, tick) {
    this.window = w;
    this.view = w && new View(w);
    this.changes = w?.whole.results.find((r) => r.measure === 'fps')?.series.find((s) =>
      s.name === 'frame_time')?.frames ?? null;
    this.places = w && this.view ? placed(w, this.view, this.known, tick)
      : Array.from({length: this.frames}, (_, i) => i);
    this.stepOf.clear();
    this.places.forEach((frame, step) => frame >= 0 && !this.stepOf.has(frame) && this.stepOf.set(frame, step));
  }

  /**
   * changedIn says whether a pixel that counts may have changed behind one frame and up to another.
   * @param {number} from
   * @param {number} to
   */
  changedIn(from, to) {
    return !this.changes || below(this.changes, to, true) > below(this.changes, from, true);
  }

  /** steps is how many there are, to the last frame of what was measured. */
  get steps() {
    return this.places.length;
  }

  /**
   * timeAt is from where it begins, in ns.
   * @param {number} step
   */
  timeAt(step) {
    const [t, t0] = [this.places[step] ?? -1, this.places[0]].map((frame) => this.view?.timeOf(frame) ?? NaN);
    return Number.isNaN(t - t0) ? step * this.period : t - t0;
  }

  /**
   * frameAt is the captured frame at a step; -1 where none was recorded, or the run is over.
   * @param {number} step
   */
  frameAt(step) {
    return this.places[step] ?? -1;
  }

  stepNow() {
    const {timeline} = this.stage;
    const frame = timeline.frame >= 0 || !this.view || !this.window ? timeline.frame
      : this.view.frameAt(timeline.time - this.window.from);
    return this.stepOf.get(frame) ?? (frame > (this.window?.end ?? 0) ? this.steps - 1 : 0);
  }

  /** @param {number} step */
  go(step) {
    let last = Math.min(step, this.steps - 1);
    while (last > 0 && this.places[last] < 0) {
      last--; // what was on the screen then is not known, but what was before
    }
    this.stage.player.seekFrame(this.places[last] ?? 0);
  }

  /**
   * jump moves a playing video.
   * @param {number} step
   */
  jump(step) {
    const frame = this.frameAt(step);
    if (frame >= 0) {
      this.stage.player.seek(this.stage.timeline.placeFor(frame));
    }
  }

}

const mostLost = 100000; // steps of a hole; what lies behind a larger one is not stepped through

/**
* placed returns a window's frames by their steps; -1 for a missing frame.
 * @param {Pick<import('../shared/film.js').WindowData, 'start' | 'end' | 'lost'>} w
 * @param {Pick<View, 'timeOf'>} view
 * @param {number} period
 * @param {number} tick
 */
export function placed(w, view, period, tick) {
  const first = w.start;
  const lost = new Map(w.lost.map((l) => [l.before_frame, l.frames]));
  const tickAt = (/** @type {number} */ frame) =>
    Math.round((view.timeOf(frame) - view.timeOf(first)) / (tick || period));
  /** @type {number[]} */
  const places = [];
  for (let frame = first; frame <= w.end; frame++) {
    const hole = frame === first ? 0 : tick || period ? tickAt(frame) - places.length : lost.get(frame) ?? 0;
    if (hole > mostLost) {
      break;
    }
    for (let i = 0; i < hole; i++) {
      places.push(-1);
    }
    let ticks = 1;
    if (tick && !lost.has(frame + 1)) {
      ticks = Math.min(mostLost, tickAt(frame + 1) - places.length); // until the next one comes
    }
    for (let i = 0; i < ticks || i === 0 && frame === w.end; i++) {
      places.push(frame);
    }
  }
  return places;
}

/**
* tickOf returns the length of a step of two runs in ns. 0: the rates are equal, and a step is a frame.
 * @param {ComparedRun} a
 * @param {ComparedRun} b
 */
export const tickOf = (a, b) => Math.abs(a.period / b.period - 1) > 0.01 ? Math.min(a.period, b.period) : 0;

/**
 * @param {import('./api.js').Rig} rig
 * @param {string} id of a set, or the name of a baseline
 * @param {string} name of the run within it that stands for it
 */
async function shownRun(rig, id, name) {
  const {baselines} = await rig.call('baseline.list', {});
  const set = baselines.find((one) => one.name === id)?.id ?? id;
  const {runs} = await rig.call('run.list', {set, state: 'ok', limit: 200});
  const shown = runs.find((r) => name && r.run.endsWith(name.replaceAll('/', '~'))) ?? runs[0];
  return shown?.run ?? set;
}
