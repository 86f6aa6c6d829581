// What was measured, as tables, charts and evidence: the page's counterpart of report.html.

import {h} from './dom.js';
import {fileURL} from './api.js';
import {clock, grouped} from '../shared/format.js';
import {boundsText, measureTitle, plain, shortValue, titled, valueText, valueTitle} from './words.js';
import {figure, frameButton} from './pictures.js';

/** @typedef {import('../../types/rig.js').Result} Result */
/** @typedef {import('../../types/rig.js').Results} Results */
/** @typedef {import('../../types/rig.js').Window} RunWindow */
/** @typedef {(frame: number) => void} Seek */

const mostFrames = 4; // linked beside a value
const mostLinked = 400;
const mostEvidence = 24;

/**
 * sentences are shown up to some, and the others on demand.
 * @param {string[]} all
 */
export function sentences(all) {
  const some = all.slice(0, 6).map((s) => h('p', null, titled(s)));
  const rest = all.slice(6, 2000).map((s) => h('p', null, titled(s)));
  return all.length ? h('div.warnings', null, some, rest.length ? h('details', null, h('summary', null, `${grouped(rest.length)} more`), rest) : null) : null;
}

/**
 * @param {number[]} frames
 * @param {Seek} seek
 */
function frameLinks(frames, seek) {
  const rest = frames.slice(mostFrames, mostFrames + mostLinked);
  return [frames.slice(0, mostFrames).map((n) => frameButton(n, seek)),
    rest.length ? h('details.more', null, h('summary', null, `${grouped(frames.length - mostFrames)} more`), rest.map((n) => frameButton(n, seek))) : null].flat();
}

/**
 * @param {Result} r
 * @param {Record<string, number>} claims by the page
 * @param {Seek} seek
 */
export function valuesTable(r, claims, seek) {
  if (!r.values.length) {
    return null;
  }
  const claimed = r.values.some((v) => `${r.measure}.${v.name}` in claims);
  let group = '';
  const rows = r.values.flatMap((v) => {
    const at = v.name.lastIndexOf('.');
    const [of, name] = at < 0 ? ['', v.name] : [v.name.slice(0, at), v.name.slice(at + 1)];
    const begins = of && of !== group ? h('tr.group', null, h('th', {scope: 'rowgroup', colspan: claimed ? 5 : 4}, titled(plain(of)))) : null;
    group = of;
    const bounds = boundsText(v);
    const claim = claims[`${r.measure}.${v.name}`];
    return [begins, h('tr', null,
      h('th', {scope: 'row'}, valueTitle(name), v.note ? h('small', null, v.note) : null),
      h('td.number', {title: `${v.value} ${v.unit}`}, valueText(v)),
      h('td.bounds', null, bounds || h(`span.state.${v.state}`, null, v.state)),
      claimed ? h('td.number.claim', null, claim === undefined ? '' : valueText({...v, value: claim, low: claim, high: claim, state: 'exact'})) : null,
      h('td.frames', null, v.frames.length ? frameLinks(v.frames, seek) : h('span.quiet-text', null, 'all frames')))];
  });
  return h('div.scroll', null, h('table.values', null,
    h('thead', null, h('tr', null, h('th', null, 'Value'), h('th.number', null, 'Measured'), h('th', null, 'Lies between'), claimed ? h('th.number', null, 'The page says') : null, h('th', null, 'Frames'))),
    h('tbody', null, rows)));
}

/**
 * headline is the value that stands for a measure.
 * @param {Result} r
 */
export function headline(r) {
  const measured = r.values.filter((v) => v.state !== 'refused');
  return measured.find((v) => /(^|\.)(framerate|speed_index)$/.test(v.name)) ?? measured.find((v) => v.better === 'higher' || v.better === 'lower') ?? null;
}

/** @param {RunWindow} w */
export function tiles(w) {
  const shown = w.results.flatMap((r) => {
    const v = headline(r);
    return v ? [{r, v}] : [];
  }).slice(0, 6);
  return h('div.tiles', null, shown.map(({r, v}) => {
    const [number, unit] = shortValue(v);
    return h(`div.tile.${v.state}`, null, h('p.of', null, measureTitle(r.measure)), h('p.big', null, number, unit ? h('small', null, unit) : null),
      h('p.what', null, valueTitle(v.name.split('.').pop() ?? v.name)), h('p.bounds', null, boundsText(v) || v.state));
  }));
}

/**
 * evidence shows the frames that show something, with their pictures.
 * @param {string} run
 * @param {Result} r
 * @param {import('../../types/rig.js').Picture[]} pictures
 * @param {Seek} seek
 */
export function evidenceCards(run, r, pictures, seek) {
  /** @type {Map<number, import('../../types/rig.js').Evidence[]>} */
  const byFrame = new Map();
  for (const e of r.evidence) {
    byFrame.set(e.frame, [...byFrame.get(e.frame) ?? [], e]);
  }
  if (!byFrame.size) {
    return null;
  }
  const cards = [...byFrame].slice(0, mostEvidence).map(([frame, all]) => {
    const picture = pictures.find((p) => p.kind === 'evidence' && p.frame === frame && (p.measure === r.measure || !p.measure)) ?? pictures.find((p) => p.kind === 'evidence' && p.frame === frame);
    return h('button.proof', {'data-frame': frame, onclick: () => seek(frame)},
      picture ? h('img', {src: fileURL(run, picture.file), alt: '', loading: 'lazy'}) : null,
      h('span.at', null, `frame ${grouped(frame)}`),
      all.slice(0, 6).map((e) => h('span.told', null, h('b', null, plain(e.kind)), ' ', e.text, e.region.length === 4 ? `, at ${e.region[0]}, ${e.region[1]}` : '')),
      all.length > 6 ? h('span.told', null, `and ${all.length - 6} more in results.json`) : null);
  });
  const rest = [...byFrame.keys()].slice(mostEvidence);
  return [h('h4', null, 'Frames that show it'), h('div.evidence', null, cards),
    rest.length ? h('details.more', null, h('summary', null, `${grouped(rest.length)} more frames`), rest.slice(0, mostLinked).map((n) => frameButton(n, seek))) : null];
}

/**
 * checks hold what was measured beside what was drawn.
 * @param {RunWindow} w
 * @param {Seek} seek
 */
export function checks(w, seek) {
  if (!w.checks.length) {
    return null;
  }
  const span = (/** @type {import('../../types/rig.js').Span} */ s, /** @type {string} */ unit) => {
    const v = {unit, ...s, state: s.low === s.high ? 'exact' : 'bounded'};
    return [valueText(v), h('small', null, boundsText(v))];
  };
  return h('article.card.checks', null, h('h3', null, 'Measured and drawn'), h('div.scroll', null, h('table.values', null,
    h('thead', null, h('tr', null, h('th', null, 'What'), h('th.number', null, 'Measured'), h('th', null, ''), h('th.number', null, 'Drawn'), h('th.number', null, 'The page says'))),
    h('tbody', null, w.checks.map((k) => h('tr', null, h('th', {scope: 'row'}, titled(k.what), k.note ? h('small', null, k.note) : null),
      h('td.number', null, span(k.measured, k.unit)), h('td.verdict', null, h(`span.state.${k.agrees ? 'exact' : k.unchecked ? 'refused' : 'differs'}`, null, k.agrees ? 'agrees' : k.unchecked ? 'not checked' : 'differs'), k.frames.slice(0, 12).map((n) => frameButton(n, seek))),
      h('td.number.drawn', null, span(k.drawn, k.unit)),
      h('td.number.claim', null, k.claimed === undefined ? '' : valueText({unit: k.unit, value: k.claimed, low: k.claimed, high: k.claimed, state: 'exact'}))))))));
}

/**
 * quality stands above every other number.
 * @param {Results} r
 * @param {Seek} seek
 */
export function quality(r, seek) {
  const {recording} = r;
  const [verdict, good] = r.quality.state === 'refused' ? ['Nothing is known about the quality of this recording.', false]
    : recording.lost > 0 ? [`${recording.lost === 1 ? '1 frame is' : `${grouped(recording.lost)} frames are`} missing from this recording.`, false]
      : recording.unclosed ? ['This recording was cut off: what came at its end is missing.', false]
        : r.quality.warnings.length ? ['Every frame is there; see what else is to be known.', false] : ['Every frame is there.', true];
  const facts = [['recorded', `${grouped(recording.frames)} frames`], ['duration', clock(recording.duration_ns)], ['size', `${recording.width_px} × ${recording.height_px}`],
    recording.period_ns ? ['rate', `${(1e9 / recording.period_ns).toFixed(3).replace(/\.?0+$/, '')} frames/s`] : null, recording.pixel_format ? ['pixels', recording.pixel_format] : null,
    recording.own_clock ? ['clock', 'the file’s own'] : null, ...['dut', 'browser', 'os', 'network'].map((key) => r.environment[key] ? [environmentNames[key] ?? key, r.environment[key]] : null)].filter((f) => f !== null);
  const notes = [...r.retried_runs > 0 ? [`This run was begun again ${r.retried_runs === 1 ? 'once' : `${r.retried_runs} times`} before it came out.`] : [], ...r.notes];
  return h(`section.quality.card.${good ? 'good' : 'doubtful'}`, {'aria-label': 'Capture quality'},
    h('div.verdict', null, h('h2', null, 'Capture quality'), h('p', null, h('span', {'aria-hidden': 'true'}, good ? '✓ ' : '! '), verdict)),
    h('dl.facts', null, facts.map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text)))),
    r.quality.refusal ? h('p.refusal', null, r.quality.refusal) : null, sentences(r.quality.warnings),
    notes.length ? h('div.notes', null, notes.slice(0, 20).map((n) => h('p', null, n))) : null,
    h('details.all', null, h('summary', null, 'Environment and all figures'), environment(r), valuesTable(r.quality, {}, seek)));
}

/** @type {Record<string, string>} */
const environmentNames = {
  dut: 'device under test', os: 'system', rig_build: 'recorded by', rig_os: 'rig’s system', analysis_build: 'analysed by', machine_shared: 'browser and recorder on one machine',
};

/** @param {Results} r */
function environment(r) {
  const all = Object.entries(r.environment);
  const s = r.settings;
  const settings = [['measures', s.measures.join(', ') || 'all that apply'], ['tolerance', s.tolerance === 0 ? '0, exact' : String(s.tolerance)], ['pixels that may differ', grouped(s.min_pixels)]];
  return h('div.two', null, h('section', null, h('h3', null, 'Where'), all.length ? h('dl.table', null, all.flatMap(([key, text]) => [h('dt', null, environmentNames[key] ?? plain(key)), h('dd', null, text)]))
    : h('p', null, 'Nothing is known of the environment.')),
  h('section', null, h('h3', null, 'How'), h('dl.table', null, settings.flatMap(([name, text]) => [h('dt', null, name), h('dd', null, text)]))));
}

/**
 * refused are the measures that say nothing but why.
 * @param {RunWindow} w
 */
export function refused(w) {
  const all = w.results.filter(silent);
  return all.length ? h('article.card', null, h('h3', null, 'Not measured'), all.map((r) => h('div.refusal', null, h('b', null, measureTitle(r.measure)), ' ', h('code', null, r.measure), h('p', null, titled(r.refusal ?? '')), sentences(r.warnings)))) : null;
}

/** @param {Result} r */
export const silent = (r) => Boolean(r.refusal) && !r.values.length && !r.series.some((s) => s.frames.length) && !r.evidence.length;

/**
 * resultCard is one measure, with room for its charts.
 * @param {string} run
 * @param {RunWindow} w
 * @param {Result} r
 * @param {Seek} seek
 * @param {Element[]} charts
 */
export function resultCard(run, w, r, seek, charts) {
  const own = w.pictures.filter((p) => p.measure === r.measure && p.kind !== 'evidence');
  return h('article.card.result', null,
    h('h3', null, measureTitle(r.measure), ' ', h('code', null, r.measure), h(`span.state.${r.state}`, null, r.state)),
    r.refusal ? h('p.refusal', null, `Not measured: ${r.refusal}`) : null, sentences(r.warnings), charts,
    valuesTable(r, w.claims, seek), evidenceCards(run, r, w.pictures, seek),
    own.filter((p) => p.kind !== 'heatmap' && !p.file.endsWith('.svg')).map((p) => figure(run, p, seek)));
}
