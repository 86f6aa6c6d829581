// A series: its values over builds beside rivals and control, its changes, and a table of what is shown.

import {announce, fill, h, later} from '../shared/dom.js';
import {setHere} from '../shared/keys.js';
import {rounded, spoken} from '../shared/format.js';
import {changeItem, changeWord, generationOf, seriesTitle} from './changes.js';
import {Order} from './order.js';
import {note, setAddress} from './router.js';
import {nearest, SeriesPlot} from './seriesplot.js';
import {counted, moment} from '../shared/words.js';

/** @typedef {import('rig').SeriesData} Data */
/** @typedef {import('rig').SeriesPoint} Point */
/** @typedef {import('./seriesplot.js').Spot & {point?: Point, tile?: import('rig').SeriesTile}} Shown */
/** @typedef {{data: Data, name: string, look: string, spots: Shown[]}} Row */

const height = 320; // pixels
const rivals = 4; // more cannot be told apart
const before = 30; // builds
const power = (1.96 + 0.84) / 1.96; // half of an interval times this is what four of five tests show

/** @param {import('./main.js').Page} page */
export async function seriesPage({main, rig, route: {path, query}, signal}) {
  main.className = 'wide';
  fill(main, h('h1.unseen', null, 'Series'), h('p.loading', null, 'Reading the series …'));
  const page = new SeriesPage(rig, Number(path[1]) || 0, signal);
  page.range = [Number(query.get('from')) || 0, Number(query.get('to')) || 0];
  await page.load(main.clientWidth);
  if (signal.aborted || !page.rows.length) {
    return;
  }
  fill(main, page.root);
  setHere([
    {keys: ['ArrowRight'], about: 'next build', act: () => page.step(1)},
    {keys: ['ArrowLeft'], about: 'build before', act: () => page.step(-1)},
    {keys: ['Enter'], about: 'open the build’s runs', act: () => page.open()},
    {keys: ['+', '='], about: 'zoom in', act: () => page.zoom(0.5)},
    {keys: ['-'], about: 'zoom out', act: () => page.zoom(2)},
    {keys: ['0'], about: 'all builds', act: () => page.show(0, 0)},
    {keys: ['Shift+ArrowRight'], about: 'later builds', act: () => page.pan(1)},
    {keys: ['Shift+ArrowLeft'], about: 'earlier builds', act: () => page.pan(-1)},
  ]);
  const again = later(() => page.load(), 1500);
  rig.follow(signal, (event) => (event.store || event.trend) && again(), again);
}

class SeriesPage {
  /**
   * @param {import('./api.js').Rig} rig
   * @param {number} id
   * @param {AbortSignal} signal
   */
  constructor(rig, id, signal) {
    this.rig = rig;
    this.id = id;
    this.signal = signal;
    this.range = [0, 0];
    this.asked = 0;
    this.means = '';
    this.order = new Order({level: 0, points: [], tiles: [], gaps: []});
    this.at = -1; // index of the picked spot
    /** @type {Row[]} the series first */
    this.rows = [];
    /** @type {Set<number>} series that are not drawn */
    this.hidden = new Set();
    this.head = h('header.top');
    this.legend = h('div.legend.choices');
    this.about = h('p.spot-about');
    this.plot = new SeriesPlot(height, (place, open) => this.pick(nearest(this.rows[0].spots, place), open),
      (from, to) => this.show(this.order.seq(from), this.order.seq(to)));
    const button = (/** @type {string} */ text, /** @type {string} */ name, /** @type {() => void} */ act) =>
      h('button', {title: name, 'aria-label': name, onclick: act}, text);
    this.zooms = h('div.zoom', null, button('←', 'Earlier builds', () => this.pan(-1)),
      button('−', 'Zoom out', () => this.zoom(2)), button('+', 'Zoom in', () => this.zoom(0.5)),
      button('→', 'Later builds', () => this.pan(1)), button('all', 'All builds', () => this.show(0, 0)));
    this.table = h('details', null, h('summary', null, 'as a table'));
    this.table.addEventListener('toggle', () => this.tabulate());
    this.compared = h('section.card');
    this.changes = h('section.card');
    this.root = h('div.series-page', null, this.head, h('section.card', {'aria-label': 'Chart'},
      h('div.chart-head', null, this.legend, this.zooms), this.plot.root, this.about, this.table),
      h('div.two-columns.below', null, this.changes, this.compared));
  }

  /** @param {number} [width] pixels, before the plot has its own */
  async load(width = this.plot.root.clientWidth) {
    const asked = ++this.asked;
    const [from, to] = this.range;
    const params = (/** @type {number} */ series) => ({series, from_seq: from || undefined, to_seq: to || undefined,
      limit: Math.max(50, Math.min(2000, Math.floor(width / 3)))});
    const own = await this.rig.call('series.get', params(this.id));
    // the control comes last
    const beside = [...own.with].filter((s) => s.series !== this.id)
      .sort((a, b) => Number(a.role === 'control') - Number(b.role === 'control')).slice(-rivals - 1);
    const others = await Promise.all(beside.map((s) => this.rig.call('series.get', params(s.series))));
    const means = JSON.stringify([own, others]);
    if (asked !== this.asked || this.signal.aborted || means === this.means) {
      return; // buttons stay as long as nothing has changed
    }
    this.means = means;
    this.order = new Order(own);
    let rival = 0;
    this.rows = [own, ...others].map((data, i) => ({data, spots: this.spots(data),
      name: data.series.role === 'control' ? 'control' : nameOf(data.series),
      look: !i ? 'line-0' : data.series.role === 'control' ? 'line-5' : `line-${++rival}`}));
    note({from: from || null, to: to || null});
    this.draw();
  }

  /**
   * @param {Data} data
   * @returns {Shown[]}
   */
  spots({level, points, tiles}) {
    return level ? tiles.map((tile) => ({x: (this.order.place(tile.first_seq) + this.order.place(tile.last_seq)) / 2,
      y: tile.median, low: tile.min, high: tile.max, tile}))
      : points.map((point) => ({x: this.order.place(point.seq), y: point.median, point,
        low: point.low, high: point.high, range: !point.interval}));
  }

  draw() {
    const [{data, spots}] = this.rows;
    const s = data.series;
    const n = data.level ? data.tiles.reduce((sum, t) => sum + t.points, 0) : data.points.length;
    const sentence = `${counted(n, 'build')}${data.level ? `, in ${counted(data.tiles.length, 'group')}` : ''}`
      + `${data.gaps.length ? `, ${data.gaps.length} without a point` : ''}; `
      + `${counted(data.changes.length, 'change')}. The latest of all is ${s.latest}.`;
    fill(this.head, h('p.about', null, h('a', {href: '#/trends'}, 'Trends'), ` / ${s.schedule}`),
      h('h1', null, seriesTitle(s)),
      h('p.about', null, [nameOf(s), `on ${s.device}`, s.network, s.window && `window ${s.window}`, generationOf(s),
        s.better ? `${s.better} is better` : ''].filter(Boolean).map((text) => h('span', null, text))),
      h('p.about', null, sentence));
    fill(this.legend, this.rows.map((r, i) => {
      const box = h('input', {type: 'checkbox', checked: !this.hidden.has(r.data.series.series), disabled: !i});
      box.addEventListener('change', () => {
        this.hidden[box.checked ? 'delete' : 'add'](r.data.series.series);
        this.picture(sentence);
      });
      return h(`label.${r.look}`, null, box, h('span.swatch'), `${nameOf(r.data.series)} (${r.data.series.role})`);
    }));
    this.picture(sentence);
    fill(this.changes, h('h2', null, 'Changes'), data.changes.length ? h('ul.changes', null,
      [...data.changes].reverse().map((c) => changeItem(this.rig, c, false, () => this.load())))
      : h('p.quiet-text', null, 'No change was found in these builds.'));
    this.compare();
    fill(this.about);
    this.pick(Math.min(this.at < 0 ? Infinity : this.at, Math.max(0, spots.length - 1)), false);
    this.table.replaceChildren(this.table.firstChild);
    this.tabulate();
  }

  /** @param {string} label */
  picture(label) {
    const [{data, spots}] = this.rows;
    this.plot.show({label, unit: data.series.unit, places: this.order.places,
      lines: this.rows.filter((r) => !this.hidden.has(r.data.series.series)).map((r, i) => ({look: r.look,
        name: r.data.series.role === 'control' ? 'control' : r.data.series.product, spots: r.spots,
        bars: !i && !data.level})),
      signs: important(data.changes).map((c) => ({...changeWord(c), from: this.order.place(c.first_seq),
        to: this.order.place(c.last_seq)})),
      gaps: data.gaps.map((g) => ({x: this.order.place(g.seq), text: `${g.build}: ${g.reason}`})),
      tick: (place) => {
        const seq = this.order.seq(place);
        const build = data.points.find((p) => p.seq === seq)?.build ?? data.gaps.find((g) => g.seq === seq)?.build;
        return build ? build.length > 12 ? build.slice(0, 11) + '…' : build : `#${seq}`;
      }});
    if (spots.length) {
      this.plot.point(spots[Math.max(0, Math.min(spots.length - 1, this.at))].x);
    }
  }

  /**
   * pick shows a spot of the series in words, with those of others at the same build.
   * @param {number} i
   * @param {boolean} open
   */
  pick(i, open) {
    const [{spots}] = this.rows;
    const s = spots[i];
    if (!s) {
      fill(this.about, 'No build of this range has a point.');
      return;
    }
    if (i !== this.at || !this.about.firstChild) {
      this.at = i;
      fill(this.about, this.words(s));
    }
    this.plot.point(s.x);
    if (open && s.tile) {
      this.show(s.tile.first_seq, s.tile.last_seq);
    } else if (open && matchMedia('(pointer: fine)').matches) { // a finger picks; the link opens
      this.open();
    }
  }

  /** @param {Shown} s */
  words({point, tile}) {
    const [{data: {series: {unit}}}] = this.rows;
    if (tile) {
      return [h('b', null, `#${tile.first_seq} – #${tile.last_seq}`), ` ${counted(tile.points, 'build')}: median `,
        h('b', null, spoken(tile.median, unit)), `, from ${spoken(tile.min, unit)} to ${spoken(tile.max, unit)}`];
    }
    if (!point) {
      return [];
    }
    const others = this.rows.slice(1).flatMap((r) => {
      const p = r.data.points.find((one) => one.seq === point.seq);
      return p ? [`${r.name} ${p.text}`] : [];
    });
    return [h('b', null, point.build), point.revision ? ` (${point.revision})` : '', ': ', h('b', null, point.text),
      ` (${intervalText(unit, point)})`, ` in ${counted(point.runs, 'run')} · `,
      h('a', {href: setAddress(point.set)}, 'its runs'), ` · ${moment(point.wall_ns)} · set `,
      h('code', null, point.set),
      others.length ? h('small', null, `beside it: ${others.join(' · ')}`) : ''];
  }

  /** @param {number} by builds */
  step(by) {
    const [{spots}] = this.rows;
    this.pick(Math.max(0, Math.min(spots.length - 1, this.at + by)), false);
    announce(this.about.textContent);
  }

  open() {
    const s = this.rows[0].spots[this.at];
    if (s?.point) {
      location.hash = setAddress(s.point.set);
    } else if (s?.tile) {
      this.show(s.tile.first_seq, s.tile.last_seq);
    }
  }

  /** shownRange are the first and last build that are shown. */
  shownRange() {
    const {first_seq: first, last_seq: last} = this.rows[0].data.series;
    return [this.range[0] || first, this.range[1] || last, first, last];
  }

  /**
   * show loads a range of builds; 0: up to the end.
   * @param {number} from
   * @param {number} to
   */
  show(from, to) {
    const [, , first, last] = this.shownRange();
    this.range = [from > first ? from : 0, to < last ? to : 0];
    this.at = -1;
    return this.load();
  }

  /** @param {number} factor of the shown range; it stays around the picked build */
  zoom(factor) {
    const [from, to] = this.shownRange();
    const spot = this.rows[0].spots[this.at];
    const middle = factor < 1 && spot ? this.order.seq(spot.x) : (from + to) / 2;
    const half = Math.max(2, (to - from) * factor / 2);
    return this.show(Math.round(middle - half), Math.round(middle + half));
  }

  /** @param {number} way 1: later builds */
  pan(way) {
    const [from, to, first, last] = this.shownRange();
    const by = way > 0 ? Math.min(last - to, Math.ceil((to - from) / 2))
      : -Math.min(from - first, Math.ceil((to - from) / 2));
    return by ? this.show(from + by, to + by) : undefined;
  }

  /** compare holds the latest point that is shown against rivals and an earlier build. */
  compare() {
    const [{data}, ...others] = this.rows;
    const now = data.points.at(-1);
    const then = data.points.at(-1 - before);
    const rows = !now ? [] : [...others.flatMap((r) => {
      const p = r.data.points.find((one) => one.seq === now.seq);
      return p ? [this.against(now, p, `${nameOf(r.data.series)} (${r.data.series.role})`)] : [];
    }), data.release ? this.against(now, data.release, 'last release') : null,
    then ? this.against(now, then, `${before} builds before`) : null];
    fill(this.compared, h('h2', null, 'Compared'), rows.length ? [h('p.about', null, `Build ${now?.build} is at `
      + `${now?.text}. Differences are of medians. A confirmation tests them. `
      + `${rounded(100 * data.series.threshold)} % is a relevant difference.`), h('table.values.labelled', null,
      h('thead', null, h('tr', null, h('th', null, 'With'), h('th.number', null, 'Median'),
        h('th.number', null, 'Difference'), h('th', null, '95 % interval, smallest that shows'))),
      h('tbody', null, rows))]
      : h('p.quiet-text', null, data.level ? 'Zoom in until each build has its point.'
        : 'The last build has no rivals, no release and no 30 builds before it.'));
  }

  /**
   * against compares two builds. Bounds are those of Zou and Donner (2008) for the difference of independent values
   * with asymmetric intervals.
   * @param {Point} now
   * @param {Point} then
   * @param {string} name
   */
  against(now, then, name) {
    const {unit, better} = this.rows[0].data.series;
    const by = now.median - then.median;
    const word = !by || !better ? '' : by > 0 === (better === 'higher') ? 'better' : 'worse';
    const shown = (/** @type {number} */ d) => then.median ? `${rounded(100 * d / Math.abs(then.median))} %`
      : spoken(d, unit);
    const signed = (/** @type {number} */ d) => `${d > 0 ? '+' : ''}${shown(d)}`;
    const low = by - Math.hypot(now.median - now.low, then.high - then.median);
    const high = by + Math.hypot(now.high - now.median, then.median - then.low);
    const sure = now.interval && then.interval;
    const least = power * (high - low) / 2;
    const apart = now.low > then.high || now.high < then.low;
    return h('tr', null, h('th', {scope: 'row'}, name,
      h('small', null, then.build ? `build ${then.build}` : 'installed')),
      h('td.number', {'data-of': 'median'}, then.text), h('td.number', {'data-of': 'difference'}, signed(by),
        word && `, ${word}`), h('td', null, sure ? `${signed(low)} to ${signed(high)}, ${shown(least)}`
        : Math.min(now.runs, then.runs) < 2 ? 'unknown from one run'
          : `ranges of few runs ${apart ? 'are apart' : 'overlap'}`));
  }

  /** tabulate fills the table of the shown points, once it is open. */
  tabulate() {
    if (!this.table.open || this.table.children.length > 1) {
      return;
    }
    const [{data, spots}, ...others] = this.rows;
    const {unit} = data.series;
    const all = data.level ? spots.map(({tile}) => [tile?.first_seq ?? 0, h('tr', null,
      h('th', {scope: 'row'}, `#${tile?.first_seq} – #${tile?.last_seq}`), h('td', null, `${tile?.points} builds`),
      h('td.number', null, spoken(tile?.median ?? 0, unit)),
      h('td', null, `${spoken(tile?.min ?? 0, unit)} – ${spoken(tile?.max ?? 0, unit)}`), others.map(() => h('td')))])
      : data.points.map((p) => [p.seq, h('tr', null, h('th', {scope: 'row'}, h('a', {href: setAddress(p.set)}, p.build),
        p.revision ? h('small', null, p.revision) : null), h('td', null, counted(p.runs, 'run')),
        h('td.number', null, p.text), h('td', null, intervalText(unit, p)),
        others.map((r) => h('td.number', {'data-of': r.name},
          r.data.points.find((one) => one.seq === p.seq)?.text ?? '–')))]);
    const rows = [...all, ...data.gaps.map((g) => [g.seq, h('tr.gap', null, h('th', {scope: 'row'}, g.build),
      h('td', {colspan: 3 + others.length}, `no point: ${g.reason}`))])].sort((a, b) => b[0] - a[0]);
    this.table.append(h('div.scroll.low', {tabindex: 0, role: 'group', 'aria-label': 'Points'},
      h('table.values.labelled', null, h('thead', null, h('tr', null, h('th', null, 'Build'), h('th', null, 'Of'),
        h('th.number', null, 'Median'), h('th', null, data.level ? 'From – to' : 'Interval, or range of few runs'),
        others.map((r) => h('th.number', null, r.name)))), h('tbody', null, rows.map((r) => r[1])))));
  }
}

/** @param {import('rig').ApiSeries} s */
const nameOf = (s) => s.feed ? `${s.product} · ${s.feed}` : s.product;

const ranks = ['confirmed', 'confirming', 'candidate', 'lab'];

/** @param {import('rig').SeriesShift[]} changes */
const important = (changes) => {
  const rank = (/** @type {string} */ state) => (ranks.indexOf(state) + 9) % 9; // others are last
  return [...changes].sort((a, b) => rank(a.state) - rank(b.state));
};

/**
 * @param {string} unit
 * @param {Point} p
 */
const intervalText = (unit, p) => (p.interval ? '' : 'runs ')
  + [p.low, p.high].map((v) => rounded(unit === 'fraction' ? 100 * v : v)).join(' – ');
