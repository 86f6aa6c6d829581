// The native profile of a run: what ran and waited before late frames, its functions, tests and traces.

import {fill, h} from './dom.js';
import {banded, grouped, lasts, rounded} from './format.js';
import {frameButton} from './pictures.js';
import {showAll} from './scripts.js';
import {bytes, counted, titled} from './words.js';

/** @typedef {import('rig').Profile} Profile */
/** @typedef {import('rig').ProfileNode} ProfileNode */
/** @typedef {import('rig').ProfileActive} ProfileActive */
/** @typedef {import('./tracks.js').Late} Late */

const firstRows = 10;
const parts = /** @type {const} */ ([
  ['running_ns', 'running', 'ran'], ['runnable_ns', 'runnable', 'was ready'], ['waiting_ns', 'waiting', 'waited'],
]);

/** @type {Record<string, string>} languages that are named beside a function */
const languages = {javascript: 'JavaScript', kernel: 'kernel', category: 'browser'};

/**
 * called is a function with its place.
 * @param {Profile} p
 * @param {number} i
 */
function called(p, i) {
  const f = p.functions[i];
  const tag = languages[f?.language];
  const parts = (f?.text || f?.name || 'another function').split('::');
  return [h('code', {title: f?.file || null}, parts.flatMap((part, k) => k ? ['::', h('wbr'), part] : part)),
    tag ? h('span.tag', null, tag) : null];
}

/** LateFrames lets people choose a late frame, by pointer, keys or the timeline, and shows its threads. */
export class LateFrames {
  /**
   * @param {import('./view.js').View} view
   * @param {import('./timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   * @param {import('./tracks.js').Within} near
   */
  constructor(view, timeline, seek, {profile, start, late}) {
    this.view = view;
    this.timeline = timeline;
    this.seek = seek;
    this.profile = profile;
    this.start = start; // of the window
    this.late = late;
    this.panel = h('div.late-frame', {tabindex: -1, role: 'group', 'aria-label': 'Late frame'});
    this.choices = late.map((l) => h('input', {type: 'radio', name: `late-${view.data.start}`, value: String(l.frame),
      onchange: () => { this.show(l); seek(l.frame); },
      onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === 'Enter' && this.panel.focus()}));
    this.root = h('div.late-frames', null, h('fieldset.late-choice', null,
      h('legend', null, 'Arrow keys choose one, and Enter leads to its details'),
      late.map((l, i) => h('label', null, this.choices[i], h('b', null, grouped(l.frame)),
        ` ${lasts(l.to - l.from)}`))),
    this.panel);
    timeline.onMove(() => this.follow());
    // The longest one that has a cause comes first. In others the page may wait for input.
    const explained = late.filter(({threads: [t], from, to}) => t &&
      (t.blocked || t.function >= 0 && 4 * t.function_ns.value >= to - from));
    this.show((explained.length ? explained : late)
      .reduce((most, l) => l.to - l.from > most.to - most.from ? l : most));
  }

  /** follow shows the late frame at the timeline's place. */
  follow() {
    const {frame, time} = this.timeline;
    const t = time - this.view.data.from;
    const here = this.late.filter((l) => l.frame === frame || (t > l.from && t < l.to));
    if (here.length && !here.some((l) => l === this.view.chosen)) {
      this.show(here[0]);
    }
  }

  /** next goes to the late frame after the timeline's place. */
  next() {
    const l = this.late.find((o) => o.frame > this.timeline.frame) ?? this.late[0];
    this.seek(l.frame);
  }

  /** @param {Late} l */
  show(l) {
    this.view.chosen = l;
    this.late.forEach((o, i) => { this.choices[i].checked = o === l; });
    for (const e of document.querySelectorAll('.band-late')) {
      e.classList.toggle('chosen', e.getAttribute('data-late') === String(this.late.indexOf(l)));
    }
    const spread = this.profile.traces.filter((t) => t.clock_ns > 0);
    const rows = l.threads.map((t, i) => this.thread(l, t, i === 0));
    fill(this.panel, h('h4', null, 'Frame ', frameButton(l.frame, this.seek),
      `came ${lasts(l.to - l.from)} after ${
        l.load ? 'the load began' : l.response ? 'an input' : 'the frame before it'}, at ${this.view.clock(l.to)}`),
    l.sentence ? h('p', null, l.sentence) : null,
    l.suspected ? h('p.quiet-text.suspected', null, l.suspected) : null,
    h('ul.legend.keys-of-strip', null, parts.map(([, look, name]) => h(`li.k-${look}`, null, name)),
      h('li.k-unknown', null, 'unknown')),
    rows, rows.length ? null : h('p.quiet-text', null, 'No thread was seen meanwhile.'),
    spread.map((t) => h('p.quiet-text', null, `Times of ${t.name} are known within ${lasts(t.clock_ns)}.`)));
  }

  /**
   * thread is a fold of what a thread did before a late frame.
   * @param {Late} l
   * @param {ProfileActive} t
   * @param {boolean} open
   */
  thread(l, t, open) {
    const name = this.profile.threads[t.thread];
    const body = h('div.activity');
    const fold = h('details.active', {open}, h('summary', null,
      h('span.name', null, name?.text?.startsWith('main thread (') ? 'main thread'
        : name?.name || name?.text || 'thread not listed',
        name?.name ? h('small', null, `${name.process_name} ${name.process}`) : null), bar(t, l.to - l.from),
      h('span.times', null, parts.filter(([field], i) => t[field].high > 0 || i === 0)
        .map(([field, look, word]) => h(`span.${look}`, null, `${word} ${banded(t[field])}`)))), body);
    lazily(fold, () => fill(body,
      h('section', null, h('h5', null, 'What ran, and below it the callers'),
        t.tree.length ? tree(this.profile, t.tree, l.to - l.from, true)
          : h('p.quiet-text', null, 'The traces have no functions of it.')),
      h('section', null, h('h5', null, 'What it waited for'),
        t.waits.length ? h('ul.waits', null, t.waits.map((w) => this.wait(w)))
          : h('p.quiet-text', null, t.waiting_ns.high > 0 ? 'No wait is listed.' : 'No wait was recorded.'))));
    return fold;
  }

  /** @param {import('rig').ProfileWait} w */
  wait(w) {
    return h('li', null, titled(w.text), h('small', null, `from ${this.view.clock(w.begin_ns - this.start)}`,
      this.profile.threads[w.woken_by] ? null : '; the thread that woke it is unknown'),
    w.functions.length > 1 ? h('small', null, h('code', null, w.functions.map((i) =>
      this.profile.functions[i]?.name || called(this.profile, i)[0].textContent).join(' ← '))) : null);
  }
}

/**
 * percent is a part of a span, for drawings of any width.
 * @param {number} ns
 * @param {number} span
 */
const percent = (ns, span) => `${Math.max(0, Math.min(100, 100 * ns / span)).toFixed(2)}%`;

/**
 * bar stacks the times of a thread; their bounds are hatched.
 * @param {ProfileActive} t
 * @param {number} span
 */
function bar(t, span) {
  let at = 0;
  return h('svg.stack', {height: 14, 'aria-hidden': 'true'}, h('rect.unknown', {width: '100%', height: 14}),
    parts.map(([field, look]) => {
      const {value, low, high} = t[field];
      const from = at;
      at += value;
      return [h(`rect.${look}`, {x: percent(from, span), width: percent(value, span), height: 14}),
        high > low ? h('rect.bounds-of', {x: percent(from + low, span), width: percent(high - low, span), y: 10,
          height: 4}) : null];
    }).flat());
}

/**
 * lazily fills a fold when it is opened first.
 * @param {HTMLDetailsElement} fold
 * @param {() => void} make
 */
function lazily(fold, make) {
  if (fold.open) {
    make();
  } else {
    fold.addEventListener('toggle', make, {once: true});
  }
}

/**
 * tree lists functions with their callers. A chain of single callers stays on one level.
 * @param {Profile} p
 * @param {ProfileNode[]} nodes
 * @param {number} span
 * @param {boolean} first whether its longest function is open
 * @returns {Element}
 */
function tree(p, nodes, span, first) {
  return h('ul.tree', null, nodes.map((n, i) => {
    /** @type {Element[]} */
    const chain = [];
    let last = n;
    for (; last.callers.length === 1; last = last.callers[0]) {
      chain.push(h('li.caller', null, '←\u00a0', called(p, last.callers[0].function)));
    }
    const head = [
      h('span.ms', {title: n.samples ? counted(n.samples, 'sample') : 'measured calls'},
        banded({value: n.ns, low: n.low_ns, high: n.high_ns})),
      h('svg.stack', {height: 8, 'aria-hidden': 'true'}, h('rect.unknown', {width: '100%', height: 8}),
        h('rect.running', {width: percent(n.ns, span), height: 8})),
      h('span.function', null, called(p, n.function))];
    if (!last.callers.length && !chain.length) {
      return h('li', null, h('div.leaf', null, head));
    }
    const inside = h('div');
    const fold = h('details', {open: first && i === 0}, h('summary', null, head), inside);
    lazily(fold, () => fill(inside, chain.length ? h('ul.chain', null, chain) : null,
      last.callers.length ? tree(p, last.callers, span, false) : null));
    return h('li', null, fold);
  }));
}

/**
 * profileWarnings are never folded; null without any.
 * @param {Profile | undefined} p
 */
export function profileWarnings(p) {
  return p?.warnings.length ? h('div.warnings', {role: 'note'}, p.warnings.map((text) => h('p', null, titled(text))))
    : null;
}

/**
 * profile is a fold; null where no trace was recorded.
 * @param {import('rig').Results | null} results
 * @param {(frame: number) => void} seek
 */
export function profile(results, seek) {
  const p = results?.profile;
  if (!p) {
    return null;
  }
  const windows = results.windows.length > 1 ? results.windows : [];
  return h('details.fold.card.profile', null,
    h('summary', null, 'Native profile', h('small', null, p.sentence)),
    p.late.length ? [h('h4', null, 'Late frames'), h('ul.late', null, p.late.map((l) => h('li', null,
      frameButton(l.frame, seek), windows[l.window]?.name ? h('b', null, `${windows[l.window].name}: `) : null,
      l.sentence, l.suspected ? h('p.quiet-text.suspected', null, l.suspected) : null)))] : null,
    p.test_text || p.tests.length
      ? [h('h4', null, 'Late frames compared with others'), h('p', null, p.test_text)] : null,
    tests(p), functions(p), threads(p), sockets(p, results, seek), claims(p, windows, seek), traces(p));
}

/**
 * table is null without rows.
 * @param {string} title
 * @param {(string | [string, string])[]} columns names; those with a text below the pointer are numbers
 * @param {HTMLElement[]} rows
 */
function table(title, columns, rows) {
  rows.slice(firstRows).forEach((r) => r.setAttribute('hidden', ''));
  return rows.length ? [title ? h('h4', null, title) : null,
    h('div.scroll', null, h('table.values.labelled.functions', null,
      h('thead', null, h('tr', null, columns.map((c) => typeof c === 'string' ? h('th', null, c)
        : h('th.number', {title: c[1] || null}, c[0])))), h('tbody', null, rows))), showAll(rows, firstRows)] : null;
}

/**
 * cell is a number with its name, which narrow screens show.
 * @param {string} of
 * @param {import('./dom.js').Child | import('./dom.js').Child[]} text
 */
const cell = (of, text) => h('td.number', {'data-of': of}, text);

/** @param {Profile} p */
const tests = (p) => table('', ['Function', ['In late frames', 'Mean, and its 95 % interval'], ['In others', 'Mean'],
  ['Of', 'Mean length of late frames'], ['Late frames', ''], ['p', 'After Holm’s correction']],
p.tests.map((t) => h('tr', null,
  h('th', {scope: 'row'}, called(p, t.function)),
  h(`td.number${t.named ? '.self' : ''}`, {'data-of': 'late'},
    banded({value: t.late_ns, low: t.low_ns, high: t.high_ns})), cell('others', lasts(t.other_ns)),
  cell('of', lasts(t.frame_ns)), cell('late frames', grouped(t.frames)),
  h('td.number', {'data-of': 'p'}, [t.p < 1e-4 ? '< 0.0001' : rounded(t.p),
    ...t.named ? [' ', h('span.state.good', null, 'differs')] : []]))));

/** @param {Profile} p */
const functions = (p) => table('Longest functions', ['Function', ['Calls', ''],
  ['Self', 'Without the functions that it called'], ['Total', 'With the functions that it called']],
p.functions.map((f, i) => ({f, i})).sort((a, b) => b.f.self_ns - a.f.self_ns).map(({f, i}) => h('tr', null,
  h('th', {scope: 'row'}, called(p, i), h('small', null,
    [f.language === 'kernel' ? '' : f.module, f.file && f.line ? `${f.file}:${f.line}` : f.file]
      .filter((part) => part && !f.text.includes(part)).join(' · '))),
  cell('calls', f.calls < 0 ? 'sampled' : grouped(f.calls)), h('td.number.self', {'data-of': 'self'}, lasts(f.self_ns)),
  cell('total', lasts(f.total_ns)))));

/** @param {Profile} p */
const threads = (p) => table('Busiest threads', ['Thread', ['On a CPU', '']], p.threads.map((t) => h('tr', null,
  h('th', {scope: 'row'}, t.text), cell('on a CPU', lasts(t.running_ns)))));

/**
 * @param {Profile} p
 * @param {import('rig').Results} results
 * @param {(frame: number) => void} seek
 */
function sockets(p, results, seek) {
  const at = (/** @type {number} */ ns) => {
    const w = results.windows.find((o) => ns >= o.start_ns && ns <= o.end_ns);
    const after = w?.frame_times.time_ns.findIndex((t) => w.start_ns + t >= ns) ?? -1;
    return w && after >= 0 ? frameButton(w.frame_times.first_frame + after, seek) : 'outside';
  };
  const linked = p.sockets.some((s) => s.link_ns);
  const woke = p.sockets.some((s) => s.woken_ns);
  const next = (/** @type {Profile['sockets'][number]} */ s) => (s.woken_ns
    ? [p.threads[s.woken_thread]?.text ?? 'thread unknown',
      h('small', null, `after ${lasts(Math.max(0, s.woken_ns - s.end_ns))}`)] : 'unknown');
  return table('Longest waits for sockets', ['Call', 'Thread', ['Waited', ''], ['Bytes', ''],
    ...linked ? [/** @type {[string, string]} */ (['Lay unread',
      'From the arrival of the last byte at the device to the return of the call'])] : [],
    ...woke ? ['Then woke'] : [], 'Frame after it'],
  p.sockets.map((s) => h('tr', null,
    h('th', {scope: 'row'}, h('code', null, s.call), s.request ? h('small', null, s.request) : null,
      s.text ? h('small', null, s.text) : null),
    h('td', null, p.threads[s.thread]?.text ?? 'thread unknown'), cell('waited', lasts(s.end_ns - s.begin_ns)),
    cell('bytes', bytes(s.bytes)),
    linked ? cell('lay unread', s.link_ns ? lasts(Math.max(0, s.end_ns - s.link_ns)) : 'unknown') : null,
    woke ? h('td.woken', {'data-of': 'then woke'}, next(s)) : null,
    h('td', null, at(s.end_ns)))));
}

/**
 * claims are those of the traces about frames, beside the captured frames.
 * @param {Profile} p
 * @param {import('rig').Window[]} windows
 * @param {(frame: number) => void} seek
 */
const claims = (p, windows, seek) => table('Frames that the traces claim', ['Trace',
  ['With a captured frame', 'Of the frames that the trace claims to be presented'],
  ['Delay', 'From the claimed present to the captured frame: median, and the bounds of 95 %'],
  ['Claims of jank', 'Late, partial and dropped frames'], ['Jank without effect', 'The captured frame is not late'],
  ['Late frames', 'Of the captured ones'], ['Late, called good', 'The trace claims no jank'], 'Called good'],
p.claims.map((c) => h('tr', null,
  h('th', {scope: 'row'}, c.trace, windows[c.window]?.name ? h('small', null, windows[c.window].name) : null,
    c.by ? h('small', null, `matched by ${c.by}`) : null),
  cell('with a captured frame', `${grouped(c.matched)} of ${grouped(c.frames)}`),
  cell('delay', c.matched ? banded(c.delay_ns) : 'unknown'), cell('claims of jank', grouped(c.jank)),
  cell('jank without effect', grouped(c.jank_without_effect)), cell('late frames', grouped(c.late)),
  cell('late, called good', grouped(c.late_called_good)),
  h('td.frames', null, c.good_frames.map((n) => frameButton(n, seek))))));

/** @param {Profile} p */
function traces(p) {
  const part = (/** @type {number} */ share) => `${(100 * share).toFixed(share && share < 0.1 ? 1 : 0)} %`;
  return p.traces.length ? [h('h4', null, 'Traces'), h('div.traces', null, p.traces.map((t) => h('dl.table', null,
    [['trace', `${t.name}: ${t.way} by ${t.engine}`], ['reason', t.why], ['records', grouped(t.events)],
      ['lost', t.lost ? counted(t.lost, 'record') : 'none'], ['length', lasts(t.end_ns - t.begin_ns)],
      ['clock', t.clock_text || (t.clock_ns ? `± ${lasts(t.clock_ns)}` : 'that of the recording')],
      ['without a name', part(t.unnamed)], ['stacks cut', part(t.cut)]]
      .filter(([, text]) => text).flatMap(([name, text]) => [h('dt', null, name), h('dd', null, text)]))))] : null;
}
