// The JavaScript of a run: its late frames, longest functions and errors, and a lane of its tasks.

import {h} from './dom.js';
import {Plot, margin} from './plot.js';
import {frameButton} from './pictures.js';
import {counted, titled} from './words.js';
import {grouped, lasts} from './format.js';

/** @typedef {import('rig').Script} Script */
/** @typedef {import('rig').Task} Task */

const longTask = 50e6; // ns, as browsers define a long task
const maxRows = 8; // realms of a lane
const row = 18; // pixels of a realm
const head = 12; // pixels of the marks above
const maxListed = 100;
const firstFunctions = 10;

/**
 * label names a listed function with its place.
 * @param {Script} s
 * @param {number} i index of a function; -1: it is not listed
 */
const label = (s, i) => s.functions[i] ? `${s.functions[i].name} (${s.functions[i].place})` : '';

/**
 * within are the tasks, errors and gaps of a window, with times from its first frame; null without any.
 * @param {Script | undefined} s
 * @param {number} start
 * @param {import('./view.js').View} view
 */
export function within(s, start, view) {
  if (!s) {
    return null;
  }
  const [from, to] = view.whole.map((t) => t + start);
  const tasks = s.tasks.filter((t) => t.end_ns >= from && t.begin_ns <= to)
    .map((t) => ({...t, begin_ns: t.begin_ns - start, end_ns: t.end_ns - start}));
  const errors = s.errors.filter((e) => e.at_ns >= from && e.at_ns <= to).map((e) => ({...e, at_ns: e.at_ns - start}));
  const gaps = s.gaps.filter((g) => g.to_ns >= from && g.from_ns <= to)
    .map((g) => ({...g, from_ns: g.from_ns - start, to_ns: g.to_ns - start}));
  return tasks.length || errors.length || gaps.length ? {script: s, tasks, errors, gaps} : null;
}

/** @typedef {NonNullable<ReturnType<typeof within>>} Within */

/**
 * realmNames names realms for rows: main, then the others by kind.
 * @param {Script} s
 */
function realmNames(s) {
  const kinds = {window: 'main', frame: 'frame', worker: 'worker', node: 'node'};
  /** @type {Record<string, number>} */
  const seen = {};
  return s.realms.map(({kind}) => {
    seen[kind] = (seen[kind] ?? 0) + 1;
    return kinds[/** @type {'node'} */ (kind)] + (seen[kind] > 1 ? ` ${seen[kind]}` : '');
  });
}

/** ScriptLane shows tasks in one row per realm, errors as marks above them, and lost records hatched. */
export class ScriptLane extends Plot {
  /**
   * @param {import('./view.js').View} view
   * @param {import('./timeline.js').Timeline} timeline
   * @param {(frame: number) => void} seek
   * @param {Within} near
   */
  constructor(view, timeline, seek, near) {
    const {script, tasks, gaps} = near;
    const order = ['window', 'frame', 'worker', 'node'];
    const realms = [...new Set([...tasks, ...gaps].map((t) => t.realm))].filter((realm) => script.realms[realm])
      .sort((a, b) => order.indexOf(script.realms[a].kind) - order.indexOf(script.realms[b].kind) || a - b)
      .slice(0, maxRows);
    super(view, timeline, seek, head + Math.max(1, realms.length) * row + 2, 'Tasks of scripts; they are listed below');
    this.near = near;
    this.realms = realms;
    this.names = realmNames(script);
    this.begin();
  }

  /** @param {Element} parent */
  frame(parent) {
    parent.append(...this.realms.map((realm, i) => h('text.tick',
      {x: margin.left - 4, y: head + i * row + 13, 'text-anchor': 'end'}, this.names[realm].slice(0, 9))));
  }

  /** @param {Element} parent */
  paint(parent) {
    const {tasks, errors, gaps} = this.near;
    this.lateBands(parent);
    this.realms.forEach((realm, i) => {
      const y = head + i * row;
      /** @type {Record<string, string[]>} */
      const paths = {task: [], long: []};
      for (const t of tasks) {
        if (t.realm === realm && t.end_ns >= this.view.from && t.begin_ns <= this.view.to) {
          const x = this.x(t.begin_ns);
          const width = Math.max(1, this.x(t.end_ns) - x).toFixed(1);
          const path = `M${x.toFixed(1)} ${y + 3}h${width}v12h-${width}z`;
          paths[t.end_ns - t.begin_ns > longTask ? 'long' : 'task'].push(path);
        }
      }
      parent.append(h('line.grid', {x1: margin.left, x2: margin.left + this.inner, y1: y + 9, y2: y + 9}),
        ...Object.entries(paths).map(([kind, path]) => h(`path.script-${kind}`, {d: path.join('')})));
    });
    for (const g of gaps) {
      const x = this.x(g.from_ns);
      const width = Math.max(2, this.x(g.to_ns) - x);
      const i = this.realms.indexOf(g.realm); // -1: all rows
      parent.append(h('rect.band-lost', {x, y: head + Math.max(0, i) * row, width,
        height: i < 0 ? this.height - head : row}));
    }
    parent.append(h('path.script-error', {d: errors.map((e) => {
      const x = this.x(e.at_ns).toFixed(1);
      return `M${x} ${head - 1}l-5 -9h10zM${x} ${head}v${this.height - head}`;
    }).join('')}));
  }

  /**
   * @param {number} _
   * @param {number} t
   * @param {number} y
   */
  about(_, t, y) {
    const {script, tasks, errors, gaps} = this.near;
    const reach = 6 / this.inner * (this.view.to - this.view.from);
    const realm = this.realms[Math.max(0, Math.floor((y - head) / row))];
    const task = tasks.filter((k) => k.realm === realm && t > k.begin_ns - reach && t < k.end_ns + reach)
      .sort((a, b) => distance(a, t) - distance(b, t) || b.end_ns - b.begin_ns - a.end_ns + a.begin_ns)[0];
    const error = errors.find((e) => Math.abs(e.at_ns - t) < reach);
    return [task && y >= head ? [label(script, task.function), lasts(task.end_ns - task.begin_ns),
      counted(task.calls, 'call')].filter(Boolean).join(', ') : '',
    error ? error.message.slice(0, 100) : '', gaps.some((g) => t >= g.from_ns && t <= g.to_ns &&
      (g.realm === realm || !this.realms.includes(g.realm))) ? 'records lost' : '']
      .filter(Boolean);
  }
}

/**
 * distance is 0 within a task.
 * @param {Task} task
 * @param {number} t
 */
const distance = (task, t) => Math.max(0, task.begin_ns - t, t - task.end_ns);

/** legend explains the looks that a lane has. */
export const legend = (/** @type {Within} */ near) => h('ul.legend.keys-of-strip', null,
  h('li.k-task', null, 'task'), near.tasks.some((t) => t.end_ns - t.begin_ns > longTask)
    ? h('li.k-long', null, 'task over 50 ms') : null,
  near.errors.length ? h('li.k-error', null, 'error (▼)') : null,
  near.gaps.length ? h('li.k-lost', null, 'records lost (hatched)') : null);

/**
 * taskTable lists the longest tasks, for keyboards and for ears.
 * @param {Within} near
 * @param {import('./view.js').View} view
 * @param {(frame: number) => void} seek
 */
export function taskTable({script, tasks}, view, seek) {
  const names = realmNames(script);
  const several = new Set(tasks.map((t) => t.realm)).size > 1;
  const longest = tasks.toSorted((a, b) => b.end_ns - b.begin_ns - a.end_ns + a.begin_ns).slice(0, maxListed);
  return tasks.length ? h('details.more-events', null,
    h('summary', null, tasks.length > maxListed ? `the ${maxListed} longest of ${grouped(tasks.length)} tasks as a list`
      : `${counted(tasks.length, 'task')} as a list`),
    h('div.scroll.low', null, h('table.values.labelled', null,
      h('thead', null, h('tr', null, h('th', null, 'Longest function'), several ? h('th', null, 'Realm') : null,
        h('th.number', null, 'Begins at'), h('th.number', null, 'Lasts'), h('th.number', null, 'Calls'),
        h('th', null, 'Frame'))),
      h('tbody', null, longest.map((t) => h('tr', null,
        h('th', {scope: 'row'}, label(script, t.function) || 'not listed'),
        several ? h('td', null, names[t.realm]) : null,
        h('td.number', {'data-of': 'at'}, view.clock(t.begin_ns)),
        h('td.number', {'data-of': 'lasts'}, lasts(t.end_ns - t.begin_ns)),
        h('td.number', {'data-of': 'calls'}, grouped(t.calls)),
        h('td', null, frameButton(view.frameAt(t.begin_ns), seek)))))))) : null;
}

/**
 * scriptWarnings are never folded; null without any.
 * @param {Script | undefined} s
 */
export function scriptWarnings(s) {
  const all = s ? [s.lost_text, ...s.warnings].filter(Boolean) : [];
  return all.length ? h('div.warnings', {role: 'note'}, all.map((text) => h('p', null, titled(text)))) : null;
}

/**
 * scripts is a fold; null where no page was instrumented.
 * @param {import('./pictures.js').Files} files
 * @param {import('rig').Results | null} results
 * @param {(frame: number) => void} seek
 */
export function scripts(files, results, seek) {
  const s = results?.script;
  if (!s) {
    return null;
  }
  const windows = results.windows.length > 1 ? results.windows : [];
  const log = s.log ? files.url(s.log) : '';
  return h('details.fold.card.scripts', null, h('summary', null, 'Scripts', h('small', null, s.sentence)),
    s.late.length ? [h('h4', null, 'Late frames'), h('ul.late', null, s.late.map((l) => h('li', null,
      frameButton(l.frame, seek), windows[l.window]?.name ? h('b', null, `${windows[l.window].name}: `) : null,
      l.sentence)))] : null,
    s.requests?.length ? [h('h4', null, 'Slow requests'), h('ul.late', null, s.requests.map((r) => h('li',
      {title: r.url}, r.text)))] : null,
    functions(s), errors(s, seek), s.reports?.flatMap((p) => report(p)),
    h('h4', null, 'Coverage and cost'), h('p', null, s.programs.text),
    s.plan ? h('p', null, s.plan.text) : null, plain(s), h('p', null, s.cost.text,
      s.clock_ns > 0 ? ` The clocks of page and frames agree within ${lasts(s.clock_ns)}.` : null),
    h('p.quiet-text', null, `Times are claims of the page. ${counted(s.records, 'record')} arrived.`,
      log ? [' ', h('a', {href: log, download: true}, s.log), ' has all.'] : null));
}

/** @param {Script} s */
function functions(s) {
  if (!s.functions.length) {
    return null;
  }
  const rows = s.functions.map((f, i) => h('tr', {hidden: i >= firstFunctions},
    h('th', {scope: 'row', title: f.url}, h('code', null, f.name), h('small', null, f.place),
      f.natives?.map((n) => h('small', null, `of it ${n.text}`))),
    h('td.number', {'data-of': 'calls'}, grouped(f.calls)),
    h('td.number.self', {'data-of': 'self'}, f.self_text,
      f.self_bounds_text ? h('small', null, f.self_bounds_text) : null),
    h('td.number', {'data-of': 'total'}, f.total_text), h('td.number', {'data-of': 'mean'}, f.mean_text),
    h('td.number', {'data-of': 'longest'}, f.max_text)));
  return [h('h4', null, 'Longest functions'), h('div.scroll', null, h('table.values.labelled.functions', null,
    h('thead', null, h('tr', null, h('th', null, 'Function'), h('th.number', null, 'Calls'),
      h('th.number', {title: 'Without the functions that it called'}, 'Self'),
      h('th.number', {title: 'With the functions that it called'}, 'Total'),
      h('th.number', {title: 'Total of one call'}, 'Mean'), h('th.number', {title: 'Total of one call'}, 'Longest'))),
    h('tbody', null, rows))), showAll(rows, firstFunctions)];
}

/**
 * showAll is a button that shows the rows after the first; null without any.
 * @param {HTMLElement[]} rows
 * @param {number} first rows that are not hidden
 */
export function showAll(rows, first) {
  const more = h('button.button.small', {onclick: () => {
    rows.forEach((r) => r.removeAttribute('hidden'));
    const head = rows[first].querySelector('th');
    head?.setAttribute('tabindex', '-1');
    head?.focus();
    more.remove();
  }}, `Show all ${grouped(rows.length)}`);
  return rows.length > first ? more : null;
}

/**
 * report shows the places that a policy found.
 * @param {Script['reports'][number]} p
 */
function report(p) {
  const shares = p.active < p.points ? ` ${grouped(p.active)} of ${grouped(p.points)} places were tested.` : '';
  const kept = p.rows.slice(0, maxListed);
  const left = p.rows.length - kept.length + p.rows_left_out;
  return [h('h4', null, titled(p.policy)), h('p', null, p.sentence + shares),
    kept.length ? h('div.scroll.low', null, h('table.values.labelled.functions', null,
      h('thead', null, h('tr', null, h('th', null, 'Place'),
        p.columns.map((c) => h('th.number', null, c.name ? titled(c.name) : null)), h('th', null, 'Verdict'))),
      h('tbody', null, kept.map((r) => h('tr', null,
        h('th', {scope: 'row', title: r.url}, h('code', null, r.name), h('small', null, r.place)),
        r.texts.map((text, i) => h('td.number', {'data-of': p.columns[i].name}, text)),
        h('td', {'data-of': 'verdict'}, [r.verdict, r.text].filter(Boolean).join(': '))))))) : null,
    left > 0 ? h('p.quiet-text', null, `${counted(left, 'more place')}.`) : null];
}

/**
 * @param {Script} s
 * @param {(frame: number) => void} seek
 */
function errors(s, seek) {
  const kinds = {error: 'not caught', rejection: 'promise rejected', caught: 'caught', resource: 'did not load'};
  return s.errors.length ? [h('h4', null, 'Errors'), h('ul.errors', null, s.errors.map((e) => h('li', null,
    e.frame >= 0 ? frameButton(e.frame, seek) : null, h('code', null, e.kind === 'resource' ? e.url : e.message),
    h('small', {title: e.url}, [kinds[/** @type {'error'} */ (e.kind)], e.kind === 'resource' ? e.message : e.place,
      e.count > 1 ? `${grouped(e.count)} times` : ''].filter(Boolean).join(' · ')),
    e.stack.length ? h('details', null, h('summary', null, 'Stack'),
      h('ol', null, e.stack.map((p) => h('li', {title: p.url}, h('code', null, p.text))))) : null))),
  s.errors_left_out ? h('p.quiet-text', null, `${counted(s.errors_left_out, 'later error')} not shown.`) : null] : null;
}

/**
 * plain lists programs without instrumentation.
 * @param {Script} s
 */
const plain = (s) => s.plain.length ? h('details', null, h('summary', null, 'Programs without instrumentation'),
  h('ul', null, s.plain.map((p) => h('li', null, h('code', null, p.url),
    h('small', null, p.count > 1 ? `${p.reason} · ${grouped(p.count)} times` : p.reason))))) : null;
