// The frames of a run in order, with its video and its windows.

import {h} from './dom.js';

/** @typedef {import('rig').Results} Results */
/** @typedef {import('rig').Window} RunWindow */
/** @typedef {import('./timeline.js').Film} Film */

/**
 * @typedef {import('./view.js').ViewData & {
 *   name: string, green: number, end: number, red: number, lost: import('rig').Loss[], whole: RunWindow,
 * }} WindowData
 */

/**
 * windowData is what the timeline and the graphs read of a window. Times are in ns from a base that keeps them small.
 * @param {RunWindow} w
 * @param {number} base
 * @returns {WindowData}
 */
export function windowData(w, base) {
  return {
    name: w.name, green: w.green_frame, start: w.start_frame, end: w.end_frame, red: w.red_frame,
    from: w.start_ns - base, to: w.end_ns - base, t0: w.t0 ? w.t0.at_ns - w.start_ns : null,
    first: w.frame_times.first_frame, times: w.frame_times.time_ns, lost: w.frame_times.lost, whole: w,
  };
}

/**
 * headline is the value that stands for a measure: its namesake, or the first with a direction.
 * @param {import('rig').Result} r
 */
function headline(r) {
  const measured = r.values.filter((v) => v.state !== 'refused');
  return measured.find((v) => /(^|\.)(framerate|speed_index)$/.test(v.name))
    ?? measured.find((v) => v.better === 'higher' || v.better === 'lower');
}

/**
 * answerOf stands in for the answer that an older program did not write.
 * @param {import('rig').Result[]} all
 * @returns {import('rig').Answer}
 */
function answerOf(all) {
  const primary = all.flatMap((r) => headline(r) ? [`${r.measure}.${headline(r)?.name}`] : []);
  return {sentence: '', primary: primary.slice(0, 6), moments: []};
}

/**
 * whole fills in what results that were written by an older program of the same version lack.
 * @param {any} results
 * @returns {Results | null}
 */
export function whole(results) {
  if (results?.schema !== 'eideticker.results' || results.version !== 1) {
    return null;
  }
  const result = (/** @type {any} */ r) => ({values: [], series: [], evidence: [], warnings: [], ...r});
  return {
    environment: {}, pictures: [], notes: [], retried_runs: 0,
    settings: {measures: [], masks: [], region: [], tolerance: 0, min_pixels: 0, strict: false}, ...results,
    quality: result(results.quality),
    ...results.profile && {profile: {claims: [], ...results.profile}},
    windows: (results.windows ?? []).map((/** @type {any} */ w) => ({
      answer: answerOf((w.results ?? []).map(result)),
      region: [], masks: [], claims: {}, checks: [], pictures: [], warnings: [], tolerance: 0, min_pixels: 0, ...w,
      frame_times: {first_frame: w.start_frame, time_ns: [], lost: [], ...w.frame_times},
      results: (w.results ?? []).map(result),
    })),
  };
}

/**
* film joins video and windows. Without a video or its map, it has the recording's frames only.
 * @param {import('./pictures.js').Files} files
 * @param {Results | null} results
 * @param {import('rig').Map | null} map
 * @param {number} frames of the recording
 */
export function film(files, results, map, frames) {
  const windows = results?.windows ?? [];
  const seen = map?.slots.find((s) => s.frame >= 0);
  const base = seen?.time_ns ?? windows[0]?.start_ns ?? 0;
  const period = results?.recording.period_ns || 1e9 / 60;
  const source = results?.video ? files.url(results.video.file) : '';
  /** @type {Film} */
  const shown = map && source ? {
    source, rate: map.rate_num / map.rate_den,
    frames: map.slots.map((s) => s.frame), times: map.slots.map((s) => s.frame >= 0 ? s.time_ns - base : NaN),
    content: content(map),
  } : {
    source: '', rate: 0, frames: Array.from({length: frames}, (_, i) => i),
    times: Array.from({length: frames}, (_, i) => windows.length ? NaN : i * period), content: [0, 0, 1, 1],
  };
  return {film: shown, hasVideo: shown.source !== '', base, windows: windows.map((w) => windowData(w, base))};
}

/**
 * content is the part of the video that shows the recording's picture, as fractions.
 * @param {import('rig').Map} map
 */
function content({content: c, width, height}) {
  const inside = c && c.x >= 0 && c.y >= 0 && c.width > 0 && c.height > 0 && c.x + c.width <= width &&
    c.y + c.height <= height;
  return inside ? [c.x / width, c.y / height, c.width / width, c.height / height] : [0, 0, 1, 1];
}

/**
 * filmed shows a film: its video and its filmstrip, as far as they are there.
 * @param {(Node | string)[]} name
 * @param {string} about
 * @param {{video?: string, strip?: string}} addresses
 * @param {'none' | 'metadata'} [preload]
 */
export function filmed(name, about, {video, strip}, preload = 'none') {
  const gone = (/** @type {Event} */ event) => /** @type {Element} */ (event.target).remove();
  return h('figure', null, h('figcaption', null, name),
    video ? h('video', {src: video, controls: true, muted: true, preload, playsinline: true, onerror: gone,
      'aria-label': `Film of ${about}`}) : null,
    strip ? h('img', {src: strip, loading: 'lazy', alt: `Filmstrip of ${about}`}) : null);
}
