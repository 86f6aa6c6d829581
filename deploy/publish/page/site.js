// The public site: an overview of values, or the page of one.

import {fill, get, h} from './dom.js';
import {rounded, spoken} from './format.js';
import {filmed} from './film.js';
import {counted, measureTitle, valueTitle} from './words.js';
import {Order} from './order.js';
import {nearest, SeriesPlot} from './seriesplot.js';

const data = JSON.parse(get('data').textContent);

const look = (i) => `line-${i % 6}`;

function valueName({measure, value, window}) {
  const [first, second] = [measureTitle(measure), valueTitle(value)];
  return `${first === second ? first : `${first}, ${second}`}${window ? ` (${window})` : ''}`;
}

const title = (v) => v.test.toLowerCase() === valueName(v).toLowerCase() ? valueName(v) : `${v.test}: ${valueName(v)}`;

const facts = (v) => h('p.about', null, [v.device, v.network, v.better && `${v.better} is better`]
  .filter(Boolean).map((text) => h('span', null, text)));

const percent = (part) => `${(100 * part).toLocaleString('en-US', {maximumSignificantDigits: 2})} %`;

function lead(v) {
  const l = v.lead;
  if (!l) {
    return null;
  }
  return h('p.lead', null, l.product ? [h('b', null, l.product), ` is ahead of ${l.next} by `,
    h('b', null, percent(l.by)), `, since ${l.longer ? 'before ' : ''}build `, build(l.since), ' ',
    h('span.day', null, `(${l.day}).`)]
    : `No product is clearly ahead: intervals overlap, or have too few runs.`);
}

function shifted(c) {
  const text = (x) => c.relative ? percent(Math.abs(x)) : spoken(Math.abs(x), c.value.unit);
  const way = c.shift < 0 ? 'lower' : 'higher';
  return [h(`span.state.${c.direction === 'worse' ? 'bad' : c.direction === 'better' ? 'good' : 'bounded'}`, null,
    c.direction === 'worse' ? '▼ worse' : c.direction === 'better' ? '▲ better' : '≠ changed'),
  ` ${c.product} is ${text(c.shift)} ${way} since build `, build(c.to), ' ',
  h('span.day', null, c.day ? `(${c.day}).` : '.')];
}

const scaled = (x, unit) => rounded(unit === 'fraction' ? 100 * x : x);

// build is the name of a build, which may be long.
const build = (name) => h('span', {title: name}, name.length > 28 ? name.slice(0, 27) + '…' : name);

// named and built name a build; an installed browser has none.
const named = (name) => name ? `build ${name}` : 'installed';

const built = (name) => name ? ['build ', build(name)] : 'installed';

const products = (v) => h('ul.products', null, v.products.map((p, i) => h('li', null,
  h(`span.name.${look(i)}`, null, h('span.swatch'), p.name), h('span.latest', null, p.text),
  h('small', null, p.latest.interval ? `${scaled(p.latest.low, v.unit)} to ${scaled(p.latest.high, v.unit)}` : ''),
  h('small', null, built(p.latest.build), ', ', h('span.day', null, p.latest.day)))));

const spots = (p, order) => p.level
  ? p.tiles.map((t) => ({x: (order.place(t.first_seq) + order.place(t.last_seq)) / 2, y: t.median, low: t.min,
    high: t.max, tile: t}))
  : p.points.map((d) => ({x: order.place(d.seq), y: d.median, low: d.low, high: d.high, range: !d.interval, point: d}));

// chart draws the products of a value over the builds of the first one.
function chart(v, height, changes, about) {
  const [first] = v.products;
  const order = new Order({...first, gaps: []});
  const lines = v.products.map((p, i) => ({name: p.name, look: look(i), spots: spots(p, order), bars: !i && !p.level}));
  const plot = new SeriesPlot(height, (place) => {
    const s = lines[0].spots[nearest(lines[0].spots, place)];
    plot.point(s.x);
    fill(about, lines.map((l, i) => {
      const near = l.spots[nearest(l.spots, s.x)];
      return near && Math.abs(near.x - s.x) < 1 ? h(`span.${l.look}`, null, i ? ' · ' : '', h('b', null, l.name), ' ',
        spoken(near.y, v.unit), ` (${near.tile ? counted(near.tile.points, 'build') : `${named(near.point.build)},
        ${near.point.day}, ${counted(near.point.runs, 'run')}`})`) : null;
    }));
  });
  plot.show({label: `${title(v)}: ${v.products.map((p) => `${p.name} ${p.text}`).join(', ')}`, unit: v.unit,
    places: order.places, lines, gaps: [],
    signs: changes.map((c) => ({from: order.place(c.first_seq), to: order.place(c.last_seq),
      mark: c.direction === 'worse' ? '▼' : c.direction === 'better' ? '▲' : '≠', text: c.direction,
      look: c.direction === 'worse' ? 'bad' : c.direction === 'better' ? 'good' : 'bounded'})),
    tick: (place) => {
      const build = first.points.find((p) => p.seq === order.seq(place))?.build ?? '';
      return build.length > 12 ? build.slice(0, 11) + '…' : build;
    }});
  return plot.root;
}

const address = (name) => name ? data.folder + name : '';

const figure = (name, film) => film ? filmed([`${name}, `, built(film.build)].flat(), `${name}, ${named(film.build)}`,
  {video: address(film.video), strip: address(film.strip)}) : null;

const changeItem = (c, link) => h('li.change', null, link
  ? h('p', null, h('a', {href: data.folder + c.value.address}, title(c.value)), ` on ${c.value.device}`) : null,
h('p', null, shifted(c)), c.before || c.after ? h('details', null, h('summary', null, 'the two films'),
  h('div.films', null, figure('before', c.before), figure('after', c.after))) : null);

function changesCard(changes, link) {
  return h('section.card', null, h('h2', null, 'Changes'), changes.length
    ? h('ul.changes', null, changes.map((c) => changeItem(c, link)))
    : h('p.about', null, 'No change was confirmed.'));
}

function overview() {
  return [data.values.length ? h('div.values', null, data.values.map((v) => h('section.card', null,
    h('h2', null, h('a', {href: data.folder + v.address}, title(v))), facts(v), lead(v), products(v),
    chart(v, 170, [], h('p'))))) : h('p.card', null, 'No test has public results yet.'),
  data.values.length ? changesCard(data.changes, true) : null];
}

function valuePage() {
  const [v] = data.values;
  const about = h('p.spot-about', null, 'Point at the chart to read a build.');
  const films = v.products.filter((p) => p.film).map((p) => figure(p.name, p.film));
  return [h('p.back', null, h('a', {href: data.home}, '← all tests')),
    h('section.card', null, h('h2', null, valueName(v)), facts(v), lead(v),
      h('div.legend', null, v.products.map((p, i) => h(`span.${look(i)}`, null, h('span.swatch'), p.name))),
      chart(v, 320, data.changes, about), about, products(v)),
    films.length ? h('section.card', null, h('h2', null, 'Films of the latest builds'),
      h('div.films', null, films)) : null,
    changesCard(data.changes, false)];
}

fill(get('main'), data.kind === 'overview' ? overview() : valuePage());
