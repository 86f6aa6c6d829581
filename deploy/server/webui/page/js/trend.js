// How a value went over time: each set's median with its interval, and the places where it regressed.

import {complain, fill, h} from '../shared/dom.js';
import {address, note} from './router.js';
import {SeriesPlot} from './seriesplot.js';
import {measureTitle, moment, stateWord, valueTitle} from '../shared/words.js';

/** @typedef {import('rig').Point} Point */
/** @typedef {import('rig').TrendParams} TrendParams */

const height = 220; // pixels

export class TrendPanel {
  /**
   * @param {import('./api.js').Rig} rig
   * @param {AbortSignal} signal
   * @param {URLSearchParams} query
   */
  constructor(rig, signal, query) {
    this.rig = rig;
    this.signal = signal;
    this.asked = 0;
    /** @type {import('rig').Trend | null} */
    this.trend = null;
    this.test = h('select', {'aria-label': 'Test'});
    this.value = h('select', {'aria-label': 'Value'});
    this.variant = h('select', {'aria-label': 'Device and browser', hidden: true});
    this.branch = h('input', {type: 'text', placeholder: 'any branch', 'aria-label': 'Branch',
      value: query.get('trend-branch') ?? '', size: 10});
    this.box = h('div.trend-box');
    const wanted = query.get('trend') ?? '';
    this.root = h('details.card.trend', {open: wanted !== ''}, h('summary', null, h('h2', null, 'Trend')),
      h('div.toolbar', null, this.test, this.value, this.variant, this.branch), this.box);
    this.root.addEventListener('toggle', () => this.root.open && this.begin(wanted), {once: false});
    this.variant.addEventListener('change', () => this.trend && this.show(this.trend));
    for (const e of [this.test, this.value, this.branch]) {
      e.addEventListener('change', () => e === this.test ? this.values('').then(() => this.draw()) : this.draw());
    }
  }

  /** @param {string} wanted test and value, such as framerate/fps.framerate */
  async begin(wanted) {
    if (this.begun) {
      return;
    }
    this.begun = true;
    try {
      const {sets} = await this.rig.call('set.list', {limit: 200});
      const tests = [...new Set(sets.map((s) => s.test).filter(Boolean))].sort();
      const [test, value] = wanted.split('/');
      fill(this.test, (tests.includes(test) || !test ? tests : [test, ...tests])
        .map((t) => h('option', {value: t}, t)));
      if (test) {
        this.test.value = test;
      }
      if (!this.test.value) {
        fill(this.box, h('p.quiet-text', null, 'There is no run of a test yet.'));
        return;
      }
      await this.values(value ?? '');
      await this.draw();
    } catch (error) {
      complain(error);
    }
  }

  /** @param {string} wanted */
  async values(wanted) {
    const {runs} = await this.rig.call('run.list', {test: this.test.value, state: 'ok', limit: 1});
    const values = runs.length ? (await this.rig.call('run.get', {run: runs[0].run})).values : [];
    const names = [...new Set(values.map((v) => `${v.measure}.${v.name}`))];
    fill(this.value, names.map((n) => {
      const [measure, ...rest] = n.split('.');
      return h('option', {value: n}, `${measureTitle(measure)} · ${valueTitle(rest.join('.'))}`);
    }));
    this.value.value = names.includes(wanted) ? wanted
      : names.find((n) => /framerate$|speed_index$/.test(n)) ?? names[0] ?? '';
  }

  async draw() {
    const asked = ++this.asked;
    const [measure, ...rest] = this.value.value.split('.');
    if (!measure) {
      fill(this.box, h('p.quiet-text', null, 'No run of this test has a value yet.'));
      return;
    }
    note({trend: `${this.test.value}/${this.value.value}`, 'trend-branch': this.branch.value.trim()});
    try {
      const trend = await this.rig.call('trend', {test: this.test.value, measure, value: rest.join('.'),
        branch: this.branch.value.trim() || undefined, limit: 200});
      if (asked === this.asked && !this.signal.aborted) {
        this.trend = trend;
        this.variants(trend);
        this.show(trend);
      }
    } catch (error) {
      complain(error);
    }
  }

  /**
   * variants are what the points are of: a browser on a device is held against itself alone. The
   * latest point's is shown first.
   * @param {import('rig').Trend} trend
   */
  variants({points}) {
    const all = [...new Set(points.map(variantOf))];
    const before = this.variant.value;
    fill(this.variant, all.sort().map((v) => h('option', {value: v}, v)));
    this.variant.hidden = all.length < 2;
    this.variant.value = all.includes(before) ? before : points.length ? variantOf(points[points.length - 1]) : '';
  }

  /** @param {import('rig').Trend} trend */
  show(trend) {
    const points = trend.points.filter((p) => variantOf(p) === this.variant.value);
    const bad = points.filter((p) => p.verdict === 'regressed').length;
    const sentence = !points.length ? 'Nothing was measured yet.'
      : `${points.length} points, the latest ${points[points.length - 1].text}; `
      + (bad ? `${bad} regressed against the one before.` : 'none regressed against the one before.');
    const rows = [...points].reverse().map((p) => {
      const {mark, look, text} = stateWord(p.verdict);
      return h('tr', null, h('th', {scope: 'row'}, h('a', {href: this.address(p)}, moment(p.started_wall_ns))),
        h('td.number', null, p.text), h('td', null, p.interval ? p.interval_text : 'too few runs'),
        h('td', null, String(p.runs)),
        h('td', null, p.verdict ? h(`span.state.${look}`, null, `${mark} ${text}`) : p.reason ?? ''),
        h('td', null, [p.label, p.revision].filter(Boolean).join(' · ')));
    });
    const plot = new SeriesPlot(height, (place, open) => {
      if (open && points.length) {
        location.hash = this.address(points[Math.min(points.length - 1, Math.floor(place))]);
      }
    });
    fill(this.box, h('p.about', null, sentence), plot.root,
      h('details', null, h('summary', null, 'as a table'), h('div.scroll.low', null, h('table.values', null,
        h('thead', null, h('tr', null, h('th', null, 'When'), h('th.number', null, 'Median'), h('th', null, 'Interval'),
          h('th', null, 'Runs'), h('th', null, 'Against the one before'), h('th', null, 'Of'))),
        h('tbody', null, rows)))));
    plot.show({label: sentence, unit: trend.unit, places: points.length, gaps: [],
      lines: [{name: '', look: 'line-0', bars: true, spots: points.map((p, i) => ({x: i + 0.5, y: p.median,
        ...p.interval ? {low: p.low, high: p.high} : {},
        look: p.verdict === 'regressed' || p.verdict === 'improved' ? p.verdict : undefined}))}],
      signs: points.flatMap((p, i) => p.verdict === 'regressed'
        ? [{from: i + 0.5, to: i + 0.5, mark: '▼', look: 'bad', text: p.verdict}] : []),
      tick: (x) => new Date(points[Math.floor(x)].started_wall_ns / 1e6).toLocaleDateString('en-GB',
        {month: 'short', day: 'numeric'})});
  }

  /** @param {Point} p */
  address(p) {
    return p.runs > 1 ? address(['runs'], {set: p.id}) : address(['runs', p.id]);
  }
}

/** @param {Point} p */
const variantOf = (p) => [p.device, p.browser].filter(Boolean).join(' · ');
