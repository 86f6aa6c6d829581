// A list of any length: pages of it are asked for as they come in sight, and only rows in sight are elements.

import {arrange, complain, h} from '../shared/dom.js';
import {address} from './router.js';
import {bytes, duration, measureTitle, moment, stateWord, valueText, valueTitle} from '../shared/words.js';
import {grouped} from '../shared/format.js';

/** @typedef {import('rig').RunInfo} RunInfo */

const pageSize = 200;
const spare = 6; // rows on either side of those in sight

/** @param {RunInfo} run */
const inSet = (run) => run.set !== '' && run.set !== run.run;

/**
 * @typedef {object} Told
 * @property {(total: number) => void} found
 * @property {(run: RunInfo, yes: boolean) => void} pick
 * @property {(id: string) => boolean} picked
 */

export class RunList {
  /**
   * @param {import('./api.js').Rig} rig
   * @param {AbortSignal} signal
   * @param {Told} told
   */
  constructor(rig, signal, told) {
    this.rig = rig;
    this.told = told;
    /** @type {RunInfo[]} */
    this.runs = [];
    this.total = 0;
    this.next = '';
    this.asked = 0; // number of the search
    this.loading = false;
    this.selected = 0;
    /** @type {Map<string, {means: string, root: any, box: any}>} rows that are elements, by run */
    this.kept = new Map();
    this.rows = h('div.rows', {role: 'list'});
    this.root = h('div.run-list', {tabindex: 0, role: 'group', 'aria-label': 'List of runs'}, this.rows);
    this.root.addEventListener('scroll', () => this.draw(), {passive: true});
    const resized = new ResizeObserver(() => this.draw());
    resized.observe(this.root);
    signal.addEventListener('abort', () => resized.disconnect());
  }

  get current() {
    return this.runs[this.selected];
  }

  get height() {
    return this.root.clientWidth < 700 ? 92 : 46; // as the style has it
  }

  /**
  * search asks for the first page. The same search again keeps the shown runs until the answer.
   * @param {import('rig').ListParams} wanted
   * @param {boolean} [same]
   */
  async search(wanted, same = false) {
    this.wanted = {...wanted};
    const asked = ++this.asked;
    try {
      // What keys go to is read again too, wherever it is: it stays what they go to.
      const inSight = same ? Math.max(Math.ceil((this.root.scrollTop + this.root.clientHeight) / this.height) + spare,
        this.selected + 1 + spare) : 0;
      let {runs, next, total} = await this.rig.call('run.list',
        {...this.wanted, limit: Math.min(pageSize, Math.max(50, inSight))});
      while (next && runs.length < inSight && asked === this.asked) {
        const page = await this.rig.call('run.list', {...this.wanted, limit: pageSize, cursor: next});
        runs = [...runs, ...page.runs];
        next = page.next;
      }
      if (asked !== this.asked) {
        return;
      }
      const at = same ? runs.findIndex((r) => r.run === this.current?.run) : 0; // others may have come before it
      this.selected = at < 0 ? Math.max(0, Math.min(this.selected, runs.length - 1)) : at;
      this.runs = runs;
      this.next = next;
      this.total = total;
      this.loading = false;
      if (!same) {
        this.root.scrollTop = 0;
      }
      this.told.found(total);
      this.draw();
    } catch (error) {
      complain(error);
    }
  }

  /** more asks for the next page. */
  async more() {
    if (this.loading || !this.next) {
      return;
    }
    this.loading = true;
    const {asked} = this;
    try {
      const {runs, next, total} = await this.rig.call('run.list', {...this.wanted, limit: pageSize, cursor: this.next});
      if (asked === this.asked) {
        this.runs.push(...runs);
        this.next = next;
        this.total = total;
      }
    } catch (error) {
      this.next = '';
      complain(error);
    } finally {
      this.loading = false;
    }
    if (asked === this.asked) {
      this.draw();
    }
  }

  draw() {
    const {height, root} = this;
    const total = this.next ? Math.max(this.total, this.runs.length + 1) : this.runs.length;
    this.rows.style.height = `${total * height}px`;
    const from = Math.max(0, Math.floor(root.scrollTop / height) - spare);
    const to = Math.min(total, Math.ceil((root.scrollTop + root.clientHeight) / height) + spare);
    const elements = [];
    const {kept} = this;
    this.kept = new Map();
    for (let i = from; i < to; i++) {
      const run = this.runs[i];
      const row = run ? this.row(run, i, kept) : h('div.row-run.waiting', null, 'loading …');
      row.style.top = `${i * height}px`;
      elements.push(row);
    }
    if (!total) {
      const filtered = Object.values(this.wanted ?? {}).some(Boolean);
      elements.push(h('p.nothing', null, filtered ? 'No run is like that.' : ['No runs are here yet. ',
        h('a', {href: '#/tests'}, 'Run a test'), this.rig.inFleet ? [', or see ', h('a', {href: '#/fleet'},
          'those of the fleet')] : null, '.']));
    }
    arrange(this.rows, elements);
    if (to >= this.runs.length && this.next) {
      this.more();
    }
  }

  /**
   * row is a run's. It stays the same element while the run is the same: it may have the focus, or be being clicked.
   * @param {RunInfo} run
   * @param {number} i
   * @param {Map<string, {means: string, root: any, box: any}>} kept
   */
  row(run, i, kept) {
    const means = JSON.stringify(run);
    let one = kept.get(run.run);
    if (one?.means !== means) {
      one = {means, ...this.make(run)};
    }
    this.kept.set(run.run, one);
    one.box.checked = this.told.picked(run.run);
    one.root.classList.toggle('selected', i === this.selected);
    one.root.classList.toggle('first-of-set', inSet(run) && run.set !== this.runs[i - 1]?.set);
    one.root.setAttribute('aria-setsize', String(this.total));
    one.root.setAttribute('aria-posinset', String(i + 1));
    return one.root;
  }

  /** @param {RunInfo} run */
  make(run) {
    const {mark, look, text} = stateWord(run.state);
    const verdict = stateWord(run.verdict);
    const box = h('input', {type: 'checkbox', 'aria-label': `Pick ${run.run}`,
      onchange: () => this.told.pick(run, box.checked)});
    const values = (run.values ?? []).slice(0, 2).map((v) =>
      h('span.value', {title: `${measureTitle(v.measure)}: ${v.name}`},
        h('small', null, valueTitle(v.name.split('.').pop() ?? v.name)), valueText(v)));
    const about = [run.verdict && `${verdict.mark} ${verdict.text}`, run.warm_up && 'warm-up', run.label, run.branch,
      run.revision && run.revision.slice(0, 10), run.device].filter(Boolean);
    const root = h(inSet(run) ? 'div.row-run.of-set' : 'div.row-run', {role: 'listitem', 'data-run': run.run,
      onclick: () => this.select(this.runs.findIndex((r) => r.run === run.run))},
      box, h('span.what', null, h('a', {href: address(['runs', run.run]), title: run.run}, run.test || 'recording'),
        inSet(run) ? h('a.set-link', {href: address(['runs', run.set]), title: run.set}, 'set') : null,
        ' ', h('span.browser', null, run.browser_version || run.browser),
        about.length ? h('small', null, about.join(' · ')) : null),
      h(`span.state.${look}`, {title: run.reason ?? ''}, `${mark} ${text}`,
        run.pinned ? h('span', {title: 'pinned'}, ' ⚑ pinned') : null),
      h('span.values-short', null, values),
      h('span.size', null, `${grouped(run.frames)} frames`,
        run.lost_frames ? h('b.lost', null, `${grouped(run.lost_frames)} lost`) : null,
        h('small', null, `${bytes(run.bytes)} · ${duration(run.elapsed_ns)}`)),
      h('time.when', {datetime: new Date(run.started_wall_ns / 1e6).toISOString()}, moment(run.started_wall_ns)));
    return {root, box};
  }

  /** @param {number} i */
  select(i) {
    this.selected = i;
    for (const row of this.rows.querySelectorAll('.row-run')) {
      row.classList.toggle('selected', row.getAttribute('aria-posinset') === String(i + 1));
    }
  }

  /** @param {number} n rows */
  move(n) {
    this.selected = Math.max(0, Math.min(this.runs.length - 1, this.selected + n));
    const {height, root} = this;
    const top = this.selected * height;
    if (top < root.scrollTop) {
      root.scrollTop = top;
    } else if (top + height > root.scrollTop + root.clientHeight) {
      root.scrollTop = top + height - root.clientHeight;
    }
    this.draw();
    /** @type {HTMLElement | null} */ (this.rows.querySelector('.selected a'))?.focus({preventScroll: true});
  }

  toggle() {
    if (this.current) {
      this.told.pick(this.current, !this.told.picked(this.current.run));
      this.draw();
    }
  }
}
