// The program of compare.html: it shows the comparison that is inlined in the page.

import {fill, get, h} from './dom.js';
import {doubts, functions, others, primary, test, verdict} from './compared.js';
import {figure} from './pictures.js';
import {objectURL} from './player.js';
import {base, filmstrips, waterfalls} from './side.js';
import {counted, titled} from './words.js';

/** @typedef {import('./side.js').Side} Side */

/**
 * @typedef {object} Inlined
 * @property {any} comparison as eideticker compare --json prints it
 * @property {string} sum
 * @property {string} level
 * @property {Side} a
 * @property {Side} b
 * @property {Record<string, string>} files addresses of the folder's files, by name
 */

/** @type {Inlined} */
const {comparison: c, sum, a, b, files: addresses} = JSON.parse(get('data').textContent);
const files = {url: (/** @type {string} */ name) => addresses[name] ?? '', read: null};
const sides = [a, b];
const names = [c.a.shown_run, c.b.shown_run];

/**
 * section is a card with a heading, or nothing where it has no content.
 * @param {string} title
 * @param {string} about
 * @param {...any} content
 */
function section(title, about, ...content) {
  return h('section.card', {'aria-label': title}, h('h2', null, title), about ? h('p.quiet-text', null, about) : null,
    ...content.flat(2));
}

/** @param {string} [refusal] */
const refused = (refusal) => refusal ? h('p.refusal', null, titled(refusal)) : null;

function head() {
  const {mark, look, text, sentence: told} = verdict(c.outcome, '', c);
  return h(`header.top.verdict-head.${look}`, null,
    h('p.brand', null, h('span.mark', {'aria-hidden': 'true'}), 'Eideticker comparison'),
    h('p', null, h(`span.state.${look}`, null, `${mark} ${text}`)), h('h1', null, told),
    h('p.about', null, titled(sum)),
    h('dl.sides', null, sides.flatMap((s, i) => [h('dt', null, 'AB'[i]), h('dd', null, s.about, s.report
      ? [' ', h('a', {href: s.report}, `report of ${names[i]}`)] : null)])));
}

function strips() {
  const s = c.filmstrips;
  if (!s) {
    return null;
  }
  const zero = s.zero === 'T0' ? 'the navigation or command (T0)' : 'the first change';
  return section('Side by side', s.refusal ? '' : `What each was showing, from ${zero}.${
    c.a.runs.length + c.b.runs.length > 2 ? ' These runs are closest to the median.' : ''}`,
    s.refusal ? refused(s.refusal) : h('div.along', {tabindex: 0, role: 'region', 'aria-label': 'Filmstrips'},
      h('div.track', wide(s.frames_a.length), filmstrips(files, s, names))));
}

/**
 * wide makes room for many pictures: the page scrolls them.
 * @param {number} cells
 */
const wide = (cells) => cells > 12 ? {style: `min-width: ${cells * 5}rem`} : null;

function network() {
  const span = c.filmstrips?.step_ns * c.filmstrips?.frames_a.length;
  return a.network || b.network ? section('Network', 'Requests of the same runs, over the same time.',
    h('div.along', {tabindex: 0, role: 'region', 'aria-label': 'Requests'},
      h('div.track', wide(c.filmstrips?.frames_a.length ?? 0), waterfalls(sides, span || 1e10)))) : null;
}

function heat() {
  const m = c.heat_map;
  if (!m || m.refusal) {
    return m ? section('Where pixels changed more often', '', refused(m.refusal)) : null;
  }
  const changes = m.more_changes + m.fewer_changes;
  return section('Where pixels changed more often', changes
    ? `Pixels of B change ${counted(m.more_changes, 'time')} more and ${counted(m.fewer_changes, 'time')} fewer.`
    : 'Every pixel changed equally often in both.',
    changes ? picture(m.picture, 'The difference of both heat maps.', m.numbers) : null);
}

/**
 * @param {string} path
 * @param {string} text
 * @param {string} [data]
 */
const picture = (path, text, data) => path ? figure(files,
  {kind: 'difference', file: base(path), text, measure: '', frame: -1, data: data && base(data)}, () => {}) : null;

function first() {
  const d = c.divergence;
  if (!d) {
    return null;
  }
  const at = (/** @type {number} */ ns) => `${(ns / 1e9).toFixed(3)} s`;
  const about = d.refusal ? '' : !d.found ? `No difference in ${counted(d.alike_frames, 'pair')} of frames.`
    : `After ${counted(d.alike_frames, 'equal pair')} of frames, ${counted(d.pixels, 'pixel')} differ within ${
      d.region[2]} × ${d.region[3]} at ${d.region[0]}, ${d.region[1]}.`;
  const texts = [`A: frame ${d.frame_a}, ${at(d.since_start_a_ns)} after the start`,
    `B: frame ${d.frame_b}, ${at(d.since_start_b_ns)} after the start`];
  return section('First difference', about, refused(d.refusal),
    h('div.pair-of', null, texts.map((text, i) => picture(d.pictures[i] ?? '', text))));
}

function video() {
  const p = c.pair;
  const address = p && !p.refusal ? files.url(base(p.video)) : '';
  const about = 'A on the left, B on the right, aligned at their first change.';
  return p ? section('Both in one video', address ? about : '', refused(p.refusal), address
    ? h('video', {controls: true, preload: 'metadata', 'aria-label': 'Both runs side by side',
      src: address.startsWith('data:') ? objectURL(address) : address}) : null) : null;
}

const rest = others(c);
const ran = functions(c);
get('main').className = 'comparison';
fill(get('main'), head(), section('Primary values', '', primary(c), test(c)),
  ran ? section('Functions', 'With the functions that they call, and not part of the outcome.', ran) : null,
  c.warnings.length + c.environment_differences.length ? section('Differences and warnings', '', doubts(c)) : null,
  strips(), network(), heat(), first(), video(), rest.length ? section('Other values', '', rest) : null);
