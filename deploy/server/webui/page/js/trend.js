// How a value went over time: each set's median with its interval, and the places where it regressed.

import {complain, fill, h} from './dom.js';
import {library, missing, resolved} from './charts.js';
import {address, note} from './router.js';
import {measureTitle, moment, stateWord, valueText, valueTitle} from './words.js';

/** @typedef {import('../../types/rig.js').Point} Point */
/** @typedef {import('../../types/rig.js').TrendParams} TrendParams */

export class TrendPanel {
  /**
   * @param {import('./api.js').Rig} rig
   * @param {AbortSignal} signal
   * @param {URLSearchParams} query
   */
  constructor(rig, signal, query) {
    this.rig = rig;
    this.signal = signal;
    /** @type {import('uplot') | null} */
    this.plot = null;
    this.asked = 0;
    /** @type {import('../../types/rig.js').Trend | null} */
    this.trend = null;
    /** @type {typeof import('uplot') | null} */
    this.uPlot = null;
    this.test = h('select', {'aria-label': 'Test'});
    this.value = h('select', {'aria-label': 'Value'});
    this.variant = h('select', {'aria-label': 'Device and browser', hidden: true});
    this.branch = h('input', {type: 'text', placeholder: 'any branch', 'aria-label': 'Branch', value: query.get('trend-branch') ?? '', size: 10});
    this.box = h('div.trend-box');
    const wanted = query.get('trend') ?? '';
    this.root = h('details.card.trend', {open: wanted !== ''}, h('summary', null, h('h2', null, 'Trend')), h('div.toolbar', null, this.test, this.value, this.variant, this.branch), this.box);
    this.root.addEventListener('toggle', () => this.root.open && this.begin(wanted), {once: false});
    this.variant.addEventListener('change', () => this.trend && this.show(this.trend, this.uPlot));
    for (const e of [this.test, this.value, this.branch]) {
      e.addEventListener('change', () => e === this.test ? this.values('').then(() => this.draw()) : this.draw());
    }
    const redraw = () => this.plot?.redraw(false, true);
    addEventListener('themechange', redraw, {signal});
    signal.addEventListener('abort', () => this.plot?.destroy());
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
      fill(this.test, (tests.includes(test) || !test ? tests : [test, ...tests]).map((t) => h('option', {value: t}, t)));
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
    this.value.value = names.includes(wanted) ? wanted : names.find((n) => /framerate$|speed_index$/.test(n)) ?? names[0] ?? '';
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
      const trend = await this.rig.call('trend', {test: this.test.value, measure, value: rest.join('.'), branch: this.branch.value.trim() || undefined, limit: 200});
      const uPlot = await library();
      if (asked === this.asked && !this.signal.aborted) {
        this.trend = trend;
        this.uPlot = uPlot;
        this.variants(trend);
        this.show(trend, uPlot);
      }
    } catch (error) {
      complain(error);
    }
  }

  /**
   * variants are what the points are of: a browser on a device is held against itself alone. The latest point's is shown first.
   * @param {import('../../types/rig.js').Trend} trend
   */
  variants({points}) {
    const all = [...new Set(points.map(variantOf))];
    const before = this.variant.value;
    fill(this.variant, all.sort().map((v) => h('option', {value: v}, v)));
    this.variant.hidden = all.length < 2;
    this.variant.value = all.includes(before) ? before : points.length ? variantOf(points[points.length - 1]) : '';
  }

  /**
   * @param {import('../../types/rig.js').Trend} trend
   * @param {typeof import('uplot') | null} uPlot
   */
  show(trend, uPlot) {
    const {unit} = trend;
    const points = trend.points.filter((p) => variantOf(p) === this.variant.value);
    this.plot?.destroy();
    this.plot = null;
    const scale = unit === 'fraction' ? 100 : 1;
    const of = (/** @type {Point} */ p) => valueText({unit, value: p.median, low: p.interval ? p.low : p.median, high: p.interval ? p.high : p.median, state: 'bounded'});
    const bad = points.filter((p) => p.verdict === 'regressed').length;
    const sentence = !points.length ? 'Nothing was measured yet.' : `${points.length} points, the latest ${of(points[points.length - 1])}; ${bad ? `${bad} regressed against the one before` : 'none regressed against the one before'}.`;
    const interval = (/** @type {Point} */ p) => p.interval ? [p.low, p.high].map((v) => valueText({unit, value: v, low: p.low, high: p.high, state: 'bounded'})).join(' – ') : 'too few runs';
    const chart = h('div.trend-chart', {role: 'img', 'aria-label': sentence});
    const table = h('details', null, h('summary', null, 'as a table'), h('div.scroll.low', null, h('table.values', null,
      h('thead', null, h('tr', null, h('th', null, 'When'), h('th.number', null, 'Median'), h('th', null, 'Interval'), h('th', null, 'Runs'), h('th', null, 'Against the one before'), h('th', null, 'Of'))),
      h('tbody', null, [...points].reverse().map((p) => {
        const {mark, look, text} = stateWord(p.verdict);
        return h('tr', null, h('th', {scope: 'row'}, h('a', {href: this.address(p)}, moment(p.started_wall_ns))), h('td.number', null, of(p)), h('td', null, interval(p)),
          h('td', null, String(p.runs)), h('td', null, p.verdict ? h(`span.state.${look}`, null, `${mark} ${text}`) : p.reason ?? ''), h('td', null, [p.label, p.revision].filter(Boolean).join(' · ')));
      })))));
    fill(this.box, h('p.about', null, sentence), uPlot ? chart : missing(), table);
    if (!uPlot || !points.length) {
      return;
    }
    const colours = {regressed: 'bad', improved: 'good'};
    const draw = (/** @type {import('uplot')} */ u) => {
      const {ctx} = u;
      ctx.setLineDash([]);
      const ratio = devicePixelRatio || 1;
      points.forEach((p, i) => {
        const x = u.valToPos(i, 'x', true);
        const y = (/** @type {number} */ v) => u.valToPos(v * scale, 'y', true);
        ctx.strokeStyle = ctx.fillStyle = resolved(colours[/** @type {'regressed'} */ (p.verdict)] ?? 'line-0');
        ctx.lineWidth = 1.5 * ratio;
        ctx.beginPath();
        if (p.interval) {
          ctx.moveTo(x, y(p.low));
          ctx.lineTo(x, y(p.high));
          for (const v of [p.low, p.high]) {
            ctx.moveTo(x - 4 * ratio, y(v));
            ctx.lineTo(x + 4 * ratio, y(v));
          }
        }
        ctx.stroke();
        ctx.beginPath();
        const at = y(p.median);
        const r = 5 * ratio;
        if (p.verdict === 'regressed' || p.verdict === 'improved') { // a triangle that points to where it went
          const way = p.verdict === 'regressed' ? 1 : -1;
          ctx.moveTo(x, at + way * r * 1.4);
          ctx.lineTo(x - r * 1.2, at - way * r);
          ctx.lineTo(x + r * 1.2, at - way * r);
        } else {
          ctx.arc(x, at, r * 0.75, 0, 7);
        }
        ctx.fill();
        if (p.verdict === 'regressed') {
          ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
          ctx.textAlign = 'center';
          ctx.fillText('regressed', x, u.bbox.top + 11 * ratio);
        }
      });
    };
    const low = Math.min(...points.map((p) => p.interval ? p.low : p.median)) * scale;
    const high = Math.max(...points.map((p) => p.interval ? p.high : p.median)) * scale;
    const room = Math.max((high - low) * 0.15, Math.abs(high) * 0.01, 1e-9);
    const line = {stroke: () => resolved('grid'), width: 1};
    const axis = {stroke: () => resolved('muted'), grid: line, ticks: {show: false}, font: '11px system-ui, sans-serif'};
    this.plot = new uPlot({
      width: 600, height: 220, padding: [18, 12, 0, 0], legend: {show: false}, pxAlign: false, cursor: {drag: {x: false, y: false}, y: false, points: {show: false}},
      scales: {x: {time: false, range: () => [-0.6, points.length - 0.4]}, y: {range: () => [low - room, high + room]}},
      axes: [{...axis, size: 24, values: (_, splits) => splits.map((i) => points[i] ? new Date(points[i].started_wall_ns / 1e6).toLocaleDateString('en-GB', {month: 'short', day: 'numeric'}) : ''), incrs: [1, 2, 5, 10, 20, 50, 100]},
        {...axis, size: 62}],
      series: [{}, {stroke: () => resolved('muted'), width: 1, dash: [3, 3], points: {show: false}}],
      hooks: {draw: [draw]},
    }, [points.map((_, i) => i), points.map((p) => p.median * scale)], chart);
    this.plot.over.title = 'Open what is below the pointer with a click';
    this.plot.over.addEventListener('click', () => {
      const i = this.plot?.cursor.idx;
      if (i !== null && i !== undefined && points[i]) {
        location.hash = this.address(points[i]);
      }
    });
    const {plot} = this;
    new ResizeObserver(() => chart.clientWidth && plot === this.plot && plot.setSize({width: chart.clientWidth, height: 220})).observe(chart);
  }

  /** @param {Point} p */
  address(p) {
    return p.runs > 1 ? address(['runs'], {set: p.id}) : address(['runs', p.id]);
  }
}

/** @param {Point} p */
const variantOf = (p) => [p.device, p.browser].filter(Boolean).join(' · ');
