// Texts of values, states and times.

import {grouped, rounded, spoken} from './format.js';

/**
 * @typedef {object} Measured
 * @property {number} value
 * @property {number} [low]
 * @property {number} [high]
 * @property {string} unit
 * @property {string} [state]
 * @property {string} [text] the value as all reports print it; results of an older program have none
 * @property {string} [bounds_text]
 */

/** @param {Measured} v */
export const valueText = (v) => v.text || (v.state === 'refused' ? 'not measured' : spoken(v.value, v.unit));

/** @param {Measured} v */
export function boundsText(v) {
  if (v.text || v.state !== 'bounded' || v.low === undefined || v.high === undefined) {
    return v.bounds_text ?? '';
  }
  const scale = v.unit === 'fraction' ? 100 : 1;
  return `${rounded(scale * v.low)} – ${rounded(scale * v.high)}`;
}

/** @param {string} name */
export const plain = (name) => name.replaceAll('_', ' ').replaceAll('.', ' · ');

/** @param {string} text */
export const titled = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @type {Record<string, string>} */
const measures = {
  fps: 'Framerate', loadhist: 'Load histogram', speedindex: 'Load figures', heatmap: 'Heat map',
  windowopen: 'Window opening', response: 'Responsiveness',
  strip: 'Code strip', scroll: 'Scrolling', quality: 'Capture quality', vitals: 'The page’s claims',
};

/** @param {string} name */
export const measureTitle = (name) => measures[name] ?? titled(plain(name));

/** @param {string} name */
export function valueTitle(name) {
  const percent = /^(complete|crossed)_(\d+)$/.exec(name);
  if (percent) {
    return `${percent[2]} % ${percent[1] === 'complete' ? 'complete' : 'first reached'}`;
  }
  return titled(plain(name.replace('_1pct', '_1_%')));
}

/** @type {Record<string, [string, string]>} a mark beside the word, so that colour is not all there is */
const states = {
  ok: ['✓', 'good'], passed: ['✓', 'good'], running: ['▶', 'bounded'], queued: ['…', 'refused'], failed: ['✕', 'bad'],
  rejected: ['!', 'doubt'], unreadable: ['?', 'bad'],
  cancelled: ['–', 'refused'], interrupted: ['!', 'doubt'], free: ['○', 'good'], keeping: ['●', 'bounded'],
  reserved: ['⚑', 'doubt'], quarantined: ['✕', 'bad'],
  elsewhere: ['↗', 'doubt'], regressed: ['▼', 'bad'], improved: ['▲', 'good'], unchanged: ['=', 'refused'],
  different: ['≠', 'bounded'], inconclusive: ['?', 'doubt'], untested: ['–', 'refused'],
  candidate: ['◇', 'bounded'], confirming: ['◆', 'bounded'], confirmed: ['▼', 'bad'], refuted: ['✕', 'refused'],
  lab: ['■', 'doubt'], dismissed: ['–', 'refused'],
  open: ['!', 'bad'], acknowledged: ['✓', 'doubt'], fixed: ['✓', 'good'], wontfix: ['–', 'refused'],
  ready: ['○', 'good'], busy: ['▶', 'bounded'], draining: ['‖', 'doubt'], drained: ['‖', 'doubt'], away: ['✕', 'bad'],
  searching: ['◆', 'bounded'], 'first bad': ['▼', 'bad'], 'several changes': ['≠', 'doubt'],
  'not reproduced': ['=', 'refused'], 'not decided': ['?', 'doubt'],
  suspended: ['!', 'bad'], assigned: ['→', 'bounded'], lost: ['✕', 'bad'],
  paused: ['‖', 'doubt'], active: ['○', 'good'], broken: ['✕', 'bad'],
};

/**
 * stateWord is a state's mark, name and look.
 * @param {string} state
 */
export function stateWord(state) {
  const [mark, look] = states[state] ?? ['', 'refused'];
  return {mark, look, text: state};
}

/** @param {number} n */
export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${n.toLocaleString('en-US', {maximumFractionDigits: i > 0 && n < 100 ? 1 : 0})} ${units[i]}`;
}

/**
 * duration is a time that people wait.
 * @param {number} ns
 */
export function duration(ns) {
  const s = ns / 1e9;
  if (s < 60) {
    return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  }
  const min = Math.floor(s / 60);
  return min < 60 ? `${min} min ${Math.round(s % 60)} s` : `${Math.floor(min / 60)} h ${min % 60} min`;
}

/**
 * moment is when something was, in the reader's own time.
 * @param {number} ns since 1970
 */
export function moment(ns) {
  return new Date(ns / 1e6).toLocaleString('en-GB',
    {year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit'});
}

/**
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (n, one, many = one + 's') => `${grouped(n)} ${n === 1 ? one : many}`;
