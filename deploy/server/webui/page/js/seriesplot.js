// A plot of values in an order: medians with their intervals or bands, gaps, and signs of changes.

import {h} from '../shared/dom.js';
import {linePath, margin, ticks, tickText} from '../shared/plot.js';

/**
 * @typedef {object} Spot a median
 * @property {number} x its place
 * @property {number} y
 * @property {number} [low] of its interval
 * @property {boolean} [range] low and high are of runs: too few for an interval
 * @property {number} [high]
 * @property {string} [look] "regressed" or "improved": a triangle
 */

/**
 * @typedef {object} Line
 * @property {string} name at its end; empty: none
 * @property {string} look class of its colour
 * @property {Spot[]} spots ascending by x
 * @property {boolean} bars draw intervals as bars, else as a band
 */

/** @typedef {{from: number, to: number, mark: string, look: string, text: string}} Sign */

/**
 * @typedef {object} Picture
 * @property {string} label all of it in a sentence
 * @property {string} unit
 * @property {number} places from 0 to here
 * @property {Line[]} lines the first one can be picked from
 * @property {Sign[]} signs
 * @property {{x: number, text: string}[]} gaps
 * @property {(x: number) => string} tick text of a place
 */

export class SeriesPlot {
  /**
   * @param {number} height
   * @param {(x: number, open: boolean) => void} pick a place that is pointed at, or clicked
   * @param {(from: number, to: number) => void} [zoom] places between which somebody has dragged
   */
  constructor(height, pick, zoom) {
    this.height = height;
    this.svg = h('svg.plot', {height});
    this.root = h('div.trend-chart', {role: 'img'}, this.svg);
    this.inner = 0; // pixels of all places
    this.at = -1; // picked place
    /** @type {Picture | null} */
    this.picture = null;
    this.pointing(pick, zoom);
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  /** @param {Picture} picture */
  show(picture) {
    this.picture = picture;
    this.at = -1;
    this.root.setAttribute('aria-label', picture.label);
    this.draw();
  }

  /** @param {number} place */
  x(place) {
    return margin.left + place / Math.max(1, this.picture?.places ?? 1) * this.inner;
  }

  /** @param {MouseEvent} event */
  place(event) {
    const part = (event.clientX - this.svg.getBoundingClientRect().left - margin.left) / Math.max(1, this.inner);
    return Math.max(0, Math.min(1, part)) * (this.picture?.places ?? 1);
  }

  draw() {
    const {picture, svg, height} = this;
    const width = this.root.clientWidth;
    if (!picture || !width) {
      return;
    }
    const {lines, unit} = picture;
    const names = width > 640 && lines.some((l) => l.name) ? 100 : margin.right;
    this.inner = Math.max(10, width - margin.left - names);
    svg.setAttribute('width', width);
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.replaceChildren();
    const scale = unit === 'fraction' ? 100 : 1;
    const [top, bottom] = [picture.signs.length ? 40 : 18, height - margin.bottom - (picture.gaps.length ? 10 : 0)];
    let [low, high] = [Infinity, -Infinity];
    for (const s of lines.flatMap((l) => l.spots)) {
      low = Math.min(low, scale * Math.min(s.y, s.low ?? s.y));
      high = Math.max(high, scale * Math.max(s.y, s.high ?? s.y));
    }
    if (low > high) {
      return; // without points
    }
    const room = Math.max((high - low) * 0.12, Math.abs(high) * 0.01, 1e-9);
    const y = (/** @type {number} */ v) => top + (high + room - scale * v) / (high - low + 2 * room) * (bottom - top);
    const values = ticks(low - room, high + room, 5);
    for (const v of values.all) {
      svg.append(h('line.grid', {x1: margin.left, x2: width - names, y1: y(v / scale), y2: y(v / scale)}),
        h('text.tick', {x: margin.left - 7, y: y(v / scale) + 4, 'text-anchor': 'end'}, tickText(v, values.step)));
    }
    svg.append(h('text.tick', {x: 2, y: 11}, unit === 'fraction' ? '%' : unit));
    const steps = ticks(0, picture.places, Math.max(1, Math.min(picture.places, this.inner / 90)));
    for (const i of steps.all.filter((n) => Number.isInteger(n) && n < picture.places)) {
      svg.append(h('text.tick', {x: Math.max(20, this.x(i + 0.5)), y: height - 5, 'text-anchor': 'middle'},
        picture.tick(i + 0.5)));
    }
    this.signs(picture.signs, bottom, width);
    for (const g of picture.gaps) {
      const x = this.x(g.x);
      svg.append(h('path.gap', {d: `M${x - 3} ${bottom + 2}l6 6m0 -6l-6 6`}, h('title', null, g.text)));
    }
    this.cursor = h('line.cursor', {y1: top, y2: bottom, visibility: 'hidden'});
    this.drag = h('rect.dragged', {y: top, height: bottom - top, visibility: 'hidden'});
    svg.append(this.drag, this.cursor);
    for (const line of [...lines].reverse()) { // the first one is on top
      this.line(line, y, picture.gaps);
    }
    if (names > margin.right) {
      this.names(lines, y, width - names);
    }
    this.point(this.at);
  }

  /**
   * @param {Line} line
   * @param {(v: number) => number} y
   * @param {{x: number}[]} gaps
   */
  line({spots, look, bars}, y, gaps) {
    const apart = this.inner / Math.max(1, this.picture?.places ?? 1);
    const radius = Math.max(1.6, Math.min(4, apart / 3));
    const all = [...spots, ...gaps.map(({x}) => ({x, y: NaN}))].sort((a, b) => a.x - b.x);
    const between = all.map((s) => Number.isNaN(s.y) ? null : {x: this.x(s.x), y: y(s.y)});
    /** @type {Spot[][]} */
    const parts = [[]]; // between gaps
    for (const s of all) {
      Number.isNaN(s.y) ? parts.push([]) : parts.at(-1)?.push(s);
    }
    const edge = (/** @type {Spot} */ s, /** @type {number | undefined} */ v) =>
      `${this.x(s.x).toFixed(1)} ${y(v ?? s.y).toFixed(1)}`;
    for (const part of bars || spots.every((s) => s.low === undefined) ? [] : parts.filter((p) => p.length > 1)) {
      this.svg.append(h(`path.area.${look}`, {d: 'M' + [...part.map((s) => edge(s, s.high)),
        ...[...part].reverse().map((s) => edge(s, s.low))].join('L') + 'z'}));
    }
    this.svg.append(h(`path.between.${look}`, {d: linePath(between, false, 0)}));
    for (const s of apart < 2 ? [] : spots) {
      const [x, at] = [this.x(s.x), y(s.y)];
      const way = s.look === 'regressed' ? 1 : -1;
      const colour = s.look ?? look;
      if (bars && s.low !== undefined && s.high !== undefined) {
        const cap = apart > 8 && !s.range ? [s.low, s.high].map((v) => `M${x - 4} ${y(v)}h8`).join('') : '';
        this.svg.append(h(`path.interval.${colour}${s.range ? '.range' : ''}`,
          {d: `M${x} ${y(s.low)}V${y(s.high)}${cap}`}));
      }
      this.svg.append(s.look ? h(`path.spot.${colour}`, {d: `M${x} ${at + way * 7}L${x - 6} ${at - way * 5}h12z`})
        : h(`circle.spot.${colour}`, {cx: x, cy: at, r: bars ? radius : radius * 0.6}));
    }
  }

  /**
   * signs draws the range of each change, and its mark and word in two rows above. The first ones get
   * the room: where a word does not fit, its mark is alone.
   * @param {Sign[]} signs
   * @param {number} bottom
   * @param {number} width
   */
  signs(signs, bottom, width) {
    /** @type {[number, number][][]} */
    const taken = [[[0, margin.left + 8]], []];
    for (const s of signs) {
      const [from, to] = [this.x(s.from), this.x(s.to)];
      const middle = (/** @type {number} */ half) => Math.min(width - half, Math.max(half, (from + to) / 2));
      const [text, half, row] = [`${s.mark} ${s.text}`, s.mark].flatMap((text) => {
        const half = 3.2 * text.length + 3;
        const x = middle(half);
        const row = taken.findIndex((all) => all.every(([a, b]) => x + half < a || x - half > b));
        return row < 0 ? [] : [/** @type {[string, number, number]} */ ([text, half, row])];
      })[0] ?? ['', 0, 0];
      const x = middle(half);
      taken[row].push([x - half, x + half]);
      const top = 13 + 13 * row;
      this.svg.append(h(`rect.sign.${s.look}`, {x: from, y: top, width: Math.max(1.5, to - from),
        height: bottom - top}),
        h(`text.sign.${s.look}`, {x, y: top - 3, 'text-anchor': 'middle'}, text));
    }
  }

  /**
   * names writes each line's name at its end, without overlaps.
   * @param {Line[]} lines
   * @param {(v: number) => number} y
   * @param {number} x
   */
  names(lines, y, x) {
    let free = 0;
    for (const [at, l] of lines.flatMap((l) => l.spots.length && l.name
      ? [/** @type {[number, Line]} */ ([y(l.spots[l.spots.length - 1].y), l])] : []).sort((a, b) => a[0] - b[0])) {
      free = Math.max(free + 14, at);
      const name = l.name.length > 14 ? l.name.slice(0, 13) + '…' : l.name;
      this.svg.append(h(`circle.spot.${l.look}`, {cx: x + 9, cy: free, r: 3.5}),
        h('text.name', {x: x + 17, y: free + 4}, name));
    }
  }

  /** @param {number} place to which the cursor goes; negative: it is hidden */
  point(place) {
    this.at = place;
    this.cursor?.setAttribute('visibility', place < 0 ? 'hidden' : 'visible');
    for (const end of ['x1', 'x2']) {
      this.cursor?.setAttribute(end, String(this.x(place)));
    }
  }

  /**
   * @param {(x: number, open: boolean) => void} pick
   * @param {((from: number, to: number) => void) | undefined} zoom
   */
  pointing(pick, zoom) {
    const {svg} = this;
    /** @type {number | null} */
    let begun = null;
    const far = (/** @type {number} */ place) => begun !== null && Math.abs(this.x(place) - this.x(begun)) > 8;
    svg.addEventListener('pointerdown', (/** @type {PointerEvent} */ event) => {
      if (event.button === 0) {
        svg.setPointerCapture(event.pointerId);
        begun = this.place(event);
      }
    });
    svg.addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
      const place = this.place(event);
      pick(place, false);
      if (zoom && begun !== null) {
        this.drag?.setAttribute('visibility', far(place) ? 'visible' : 'hidden');
        this.drag?.setAttribute('x', String(this.x(Math.min(begun, place))));
        this.drag?.setAttribute('width', String(Math.abs(this.x(begun) - this.x(place))));
      }
    });
    svg.addEventListener('pointerup', (/** @type {PointerEvent} */ event) => {
      const place = this.place(event);
      if (zoom && begun !== null && far(place)) {
        zoom(Math.min(begun, place), Math.max(begun, place));
      } else if (begun !== null) {
        pick(place, true);
      }
      begun = null;
      this.drag?.setAttribute('visibility', 'hidden');
    });
    svg.addEventListener('pointercancel', () => {
      begun = null;
      this.drag?.setAttribute('visibility', 'hidden');
    });
  }
}

/**
 * nearest returns the index of the spot that is nearest to a place.
 * @param {{x: number}[]} spots
 * @param {number} place
 */
export const nearest = (spots, place) => spots.reduce((best, s, i) =>
  Math.abs(s.x - place) < Math.abs(spots[best].x - place) ? i : best, 0);
