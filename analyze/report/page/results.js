// The values, evidence and checks of results, as tables and cards.

import {h} from './dom.js';
import {clock, grouped} from './format.js';
import {boundsText, counted, measureTitle, plain, titled, valueText, valueTitle} from './words.js';
import {figure, frameButton} from './pictures.js';

/** @typedef {import('rig').Result} Result */
/** @typedef {import('rig').Results} Results */
/** @typedef {import('rig').Window} RunWindow */
/** @typedef {import('./pictures.js').Files} Files */
/** @typedef {(frame: number) => void} Seek */

const maxFrames = 4; // beside a value
const maxLinked = 400; // on demand
const maxCards = 24;
const maxSentences = 6;

/**
 * sentences shows the first few, and the others on demand.
 * @param {string[]} all
 */
export function sentences(all) {
  const texts = all.slice(0, 2000).map((s) => h('p', null, titled(s)));
  const rest = texts.splice(maxSentences);
  return all.length ? h('div.warnings', null, texts, more(rest.length, 'details', rest)) : null;
}

/**
 * more shows nodes on demand.
 * @param {number} n
 * @param {string} name of the element
 * @param {Element[]} nodes
 */
function more(n, name, nodes) {
  return n ? h(name, null, h('summary', null, `${grouped(n)} more`), nodes,
    n > nodes.length ? ` and ${grouped(n - nodes.length)} more in results.json` : null) : null;
}

/**
 * @param {number[]} frames
 * @param {Seek} seek
 */
function frameLinks(frames, seek) {
  const links = frames.slice(0, maxFrames + maxLinked).map((n) => frameButton(n, seek));
  const rest = links.splice(maxFrames);
  return [...links, more(frames.length - links.length, 'details.more', rest)];
}

/** @param {string} name such as wheel.latency, of a group */
function parted(name) {
  const at = name.lastIndexOf('.');
  return at < 0 ? {group: '', last: name} : {group: name.slice(0, at), last: name.slice(at + 1)};
}

/**
 * valuesTable is null without values.
 * @param {Result} r
 * @param {import('rig').Value[]} values of it
 * @param {Record<string, string>} claims texts of the page's, by measure and value
 * @param {Seek} seek
 */
function valuesTable(r, values, claims, seek) {
  if (!values.length) {
    return null;
  }
  const claimed = values.some((v) => `${r.measure}.${v.name}` in claims);
  let group = '';
  const rows = values.flatMap((v) => {
    const name = parted(v.name);
    const begins = name.group && name.group !== group ? h('tr.group', null,
      h('th', {scope: 'rowgroup', colspan: claimed ? 5 : 4}, titled(plain(name.group)))) : null;
    group = name.group;
    const digits = v.low === v.high ? `${v.value} ${v.unit}` : `${v.value} ${v.unit}, between ${v.low} and ${v.high}`;
    return [begins, h('tr', null,
      h('th', {scope: 'row', title: v.meaning ?? ''}, valueTitle(name.last), v.note ? h('small', null, v.note) : null),
      h('td.number', {title: digits}, valueText(v)),
      h('td.bounds', null, boundsText(v) || h(`span.state.${v.state}`, null, v.state)),
      claimed ? h('td.number.claim', null, claims[`${r.measure}.${v.name}`] ?? '') : null,
      h('td.frames', null, v.frames.length ? frameLinks(v.frames, seek) : h('span.quiet-text', null, 'all frames')))];
  });
  return h('div.scroll', null, h('table.values', null,
    h('thead', null, h('tr', null, h('th', null, 'Value'), h('th.number', null, 'Measured'),
      h('th', null, 'Lies between'), claimed ? h('th.number', null, 'The page says') : null, h('th', null, 'Frames'))),
    h('tbody', null, rows)));
}

/**
 * tiles are the values to read first.
 * @param {RunWindow} w
 * @param {Seek} seek
 */
function tiles(w, seek) {
  const shown = w.answer.primary.flatMap((name) => {
    const dot = name.indexOf('.');
    const r = w.results.find((one) => one.measure === name.slice(0, dot));
    const v = r?.values.find((one) => one.name === name.slice(dot + 1));
    const {group, last} = parted(v?.name ?? '');
    return r && v ? [{r, v, title: group ? `${valueTitle(last)} (${plain(group)})` : valueTitle(last)}] : [];
  });
  return h('div.tiles', null, shown.map(({r, v, title}) => {
    const [number, ...unit] = valueText(v).split(' ');
    const claim = w.claim_texts?.[`${r.measure}.${v.name}`];
    const frames = v.frames.filter((n) => !w.answer.moments.some((m) => m.frame === n)); // these have their buttons
    const alike = measureTitle(r.measure) !== title && shown.some((o) => o.title === title && o.r !== r);
    return h(`div.tile.${v.state}`, {title: [v.meaning, v.note].filter(Boolean).join(' ')},
      h('p.of', null, alike ? `${title}, ${measureTitle(r.measure)}` : title),
      h('p.big', null, number, unit.length ? h('small', null, unit.join(' ')) : null),
      h('p.bounds', null, boundsText(v) || v.state), claim ? h('p.what', null, `the page says ${claim}`) : null,
      frames.length ? h('div.frames', null, frameLinks(frames, seek)) : null);
  }));
}

/**
 * answer is what a window shows first: a sentence, the values to read, and moments to look at.
 * @param {RunWindow} w
 * @param {Seek} seek
 */
export function answer(w, seek) {
  const {sentence, moments} = w.answer;
  return [sentence ? h('p.answer', null, sentence) : null, tiles(w, seek),
    moments.length ? h('div.moments', null, moments.map((m) => h('button.moment',
      {'data-frame': m.frame, title: `Show frame ${grouped(m.frame)}`, onclick: () => seek(m.frame)},
      h('b', null, m.at), ' ', titled(m.what)))) : null];
}

/**
 * told are the warnings that stand above the fold: those of measures that were asked for or have a value there. What
 * lacks samples is not among them.
 * @param {RunWindow} w
 * @param {string[]} asked measures
 */
export function told(w, asked) {
  return w.results.filter((r) => !silent(r) && first(w, r, asked))
    .flatMap((r) => r.warnings.filter((s) => !s.includes('are too few for')));
}

/**
 * first reports whether a measure was asked for, or has a value that is shown first.
 * @param {RunWindow} w
 * @param {Result} r
 * @param {string[]} asked
 */
export const first = (w, r, asked) => asked.includes(r.measure)
  || w.answer.primary.some((name) => name.startsWith(r.measure + '.'));

/**
 * rest are the values of a result that are not shown first, without those that repeat another.
 * @param {RunWindow} w
 * @param {Result} r
 */
export const rest = (w, r) => r.values.filter((v) => !w.answer.primary.includes(`${r.measure}.${v.name}`)
  && !(v.name.includes('.crossed_')
    && r.values.some((o) => o.name === v.name.replace('.crossed_', '.complete_') && o.value === v.value)));

/**
 * evidenceCards show the frames that prove something, with their pictures.
 * @param {Files} files
 * @param {Result} r
 * @param {import('rig').Picture[]} pictures
 * @param {Seek} seek
 */
function evidenceCards(files, r, pictures, seek) {
  /** @type {Map<number, import('rig').Evidence[]>} */
  const byFrame = new Map();
  for (const e of r.evidence) {
    byFrame.set(e.frame, [...byFrame.get(e.frame) ?? [], e]);
  }
  if (!byFrame.size) {
    return null;
  }
  const own = pictures.filter((p) => p.kind === 'evidence' && files.url(p.file));
  const cards = [...byFrame].slice(0, maxCards).map(([frame, all]) => {
    const picture = own.find((p) => p.frame === frame && (p.measure === r.measure || !p.measure))
      ?? own.find((p) => p.frame === frame);
    return h('button.proof', {'data-frame': frame, onclick: () => seek(frame)},
      picture ? h('img', {src: files.url(picture.file), alt: '', loading: 'lazy'}) : null,
      h('span.at', null, `frame ${grouped(frame)}`),
      all.slice(0, 6).map((e) => h('span.told', null, h('b', null, plain(e.kind)), ' ', e.text,
        e.region.length === 4 ? `, at ${e.region[0]}, ${e.region[1]}` : '')),
      all.length > 6 ? h('span.told', null, `and ${grouped(all.length - 6)} more in results.json`) : null);
  });
  const rest = [...byFrame.keys()].slice(maxCards);
  return [h('h4', null, 'Frames that show it'), h('div.evidence', null, cards),
    more(rest.length, 'details.more', rest.slice(0, maxLinked).map((n) => frameButton(n, seek)))];
}

/**
 * checks are measured numbers beside drawn ones.
 * @param {RunWindow} w
 * @param {Seek} seek
 */
export function checks(w, seek) {
  if (!w.checks.length) {
    return null;
  }
  const span = (/** @type {import('rig').Span} */ s, /** @type {string} */ unit, text = '', bounds = '') =>
    [text || valueText({...s, unit}), h('small', null, bounds)];
  const verdict = (/** @type {import('rig').Check} */ k) => k.agrees ? h('span.state.exact', null, 'agrees')
    : k.unchecked ? h('span.state.refused', null, 'not checked') : h('span.state.differs', null, 'differs');
  const rows = w.checks.map((k) => h('tr', null,
    h('th', {scope: 'row'}, titled(k.what), k.note ? h('small', null, k.note) : null),
    h('td.number', null, span(k.measured, k.unit, k.measured_text, k.measured_bounds_text)),
    h('td.verdict', null, verdict(k), k.frames.slice(0, 12).map((n) => frameButton(n, seek))),
    h('td.number.drawn', null, span(k.drawn, k.unit, k.drawn_text, k.drawn_bounds_text)),
    h('td.number.claim', null,
      k.claimed === undefined ? '' : k.claimed_text || valueText({value: k.claimed, unit: k.unit}))));
  return h('article.card.checks', null, h('h3', null, 'Measured and drawn'),
    h('div.scroll', null, h('table.values', null,
      h('thead', null, h('tr', null, h('th', null, 'Number'), h('th.number', null, 'Measured'),
        h('th', null, 'Verdict'), h('th.number', null, 'Drawn'), h('th.number', null, 'The page says'))),
      h('tbody', null, rows))));
}

/** @param {Results} r */
function verdict(r) {
  const {lost, unclosed} = r.recording;
  if (r.quality.state === 'refused') {
    return {text: 'The quality of this recording is unknown.', good: false};
  }
  if (lost > 0) {
    return {text: `${lost === 1 ? '1 frame is' : `${grouped(lost)} frames are`} missing from this recording.`,
      good: false};
  }
  if (unclosed) {
    return {text: 'This recording was cut off: frames at its end are missing.', good: false};
  }
  return r.quality.warnings.length ? {text: 'Every frame is there; read the warnings.', good: false}
    : {text: 'Every frame is there.', good: true};
}

/**
 * quality is shown above every other number.
 * @param {Files} files
 * @param {Results} r
 * @param {Seek} seek
 */
export function quality(files, r, seek) {
  const {recording} = r;
  const {text, good} = verdict(r);
  const rate = recording.period_ns ? (1e9 / recording.period_ns).toFixed(3).replace(/\.?0+$/, '') : '';
  const facts = [['recorded', counted(recording.frames, 'frame')], ['duration', clock(recording.duration_ns)],
    ['size', `${recording.width_px} × ${recording.height_px}`], ['rate', rate && `${rate} frames/s`],
    ['pixels', recording.pixel_format], ['clock', recording.own_clock ? 'the file’s own' : '']];
  const times = r.retried_runs === 1 ? 'once' : `${grouped(r.retried_runs)} times`;
  const notes = r.retried_runs > 0 ? [`This is the last attempt; the run was retried ${times}.`, ...r.notes] : r.notes;
  return h(`section.quality.card.${good ? 'good' : 'doubtful'}`, {'aria-label': 'Capture quality'},
    h('div.verdict', null, h('h2', null, 'Capture quality'),
      h('p', null, h('span', {'aria-hidden': 'true'}, good ? '✓ ' : '! '), text)),
    h('dl.facts', null, facts.filter(([, fact]) => fact).map(([name, fact]) =>
      h('div', null, h('dt', null, name), h('dd', null, fact)))),
    r.quality.refusal ? h('p.refusal', null, titled(r.quality.refusal)) : null, sentences(r.quality.warnings),
    notes.length ? h('div.notes', null, notes.slice(0, 20).map((n) => h('p', null, n))) : null,
    h('details.all', null, h('summary', null, 'Environment and all figures'), environment(files, r),
      valuesTable(r.quality, r.quality.values, {}, seek)));
}

/** @type {Record<string, string>} in the order in which they are shown; other keys follow */
const environmentNames = {
  dut: 'device under test', os: 'system', kernel: 'kernel', browser: 'browser', build: 'build', network: 'network',
  signal: 'signal',
  source: 'source', card: 'card', rig: 'rig', rig_build: 'recorded by', rig_os: 'rig’s system',
  analysis_build: 'analysed by', machine_shared: 'browser and recorder on one machine',
};

const region = (/** @type {number[]} */ r) => r.length === 4 ? `${r[2]} × ${r[3]} at ${r[0]}, ${r[1]}` : 'found';

/**
 * environment states where and how a run was measured.
 * @param {Files} files
 * @param {Results} r
 */
function environment(files, r) {
  const keys = [...new Set([...Object.keys(environmentNames), ...Object.keys(r.environment)])];
  const where = keys.filter((key) => r.environment[key])
    .map((key) => [environmentNames[key] ?? plain(key), r.environment[key]]);
  const s = r.settings;
  const how = [['measures', s.measures.join(', ') || 'all that apply'], ['region', region(s.region)],
    ['tolerance', s.tolerance === 0 ? '0, exact' : String(s.tolerance)],
    ['pixels that may differ', grouped(s.min_pixels)], ...s.masks.map((m) => ['masked', region(m)]),
    ...s.strict ? [['strict', 'a lost frame in a window is an error']] : []];
  const names = ['results.json', r.recording.file, r.video?.file ?? ''].filter((name) => name && files.url(name));
  const list = (/** @type {string[][]} */ facts) =>
    h('dl.table', null, facts.flatMap(([name, text]) => [h('dt', null, name), h('dd', null, text)]));
  return h('div.two', null,
    h('section', null, h('h3', null, 'Where'),
      where.length ? list(where) : h('p', null, 'The environment is unknown.')),
    h('section', null, h('h3', null, 'How'), list(how)),
    names.length ? h('section', null, h('h3', null, 'Files'),
      h('ul', null, names.map((name) => h('li', null, h('a', {href: files.url(name)}, name))))) : null);
}

/**
 * refused lists measures that only state why they have no values.
 * @param {Result[]} all
 */
export function refused(all) {
  return all.length ? h('article.card', null, h('h3', null, 'Not measured'), all.map((r) => h('div.refusal', null,
    h('b', null, measureTitle(r.measure)), ' ', h('code', null, r.measure), h('p', null, titled(r.refusal ?? '')),
    sentences(r.warnings)))) : null;
}

/** @param {Result} r */
export const silent = (r) => Boolean(r.refusal) && !r.values.length && !r.series.some((s) => s.frames.length)
  && !r.evidence.length;

/**
 * resultCard is one measure, with its charts.
 * @param {Files} files
 * @param {RunWindow} w
 * @param {Result} r
 * @param {Seek} seek
 * @param {Element[]} charts
 * @param {string[]} said warnings that stand elsewhere
 */
export function resultCard(files, w, r, seek, charts, said) {
  const own = w.pictures.filter((p) => p.measure === r.measure && p.kind !== 'evidence');
  const graphs = own.filter((p) => p.file.endsWith('.svg') && files.url(p.file));
  // Where files can be read the heat map lies over the frame.
  const shown = own.filter((p) => !p.file.endsWith('.svg') && !(p.kind === 'heatmap' && files.read));
  return h('article.card.result', null,
    h('h3', null, measureTitle(r.measure), ' ', h('code', null, r.measure), h(`span.state.${r.state}`, null, r.state)),
    r.refusal ? h('p.refusal', null, `Not measured: ${r.refusal}`) : null,
    sentences(r.warnings.filter((s) => !said.includes(s))), charts,
    graphs.length ? h('p.graphs', null, 'as a picture: ', graphs.map((p) =>
      [h('a', {href: files.url(p.file), download: true, title: p.text}, p.file.split('/').pop()), ' ']).flat()) : null,
    valuesTable(r, rest(w, r), w.claim_texts ?? {}, seek), evidenceCards(files, r, w.pictures, seek),
    shown.map((p) => figure(files, p, seek)));
}
