// The places of builds in a plot. A build has one place; a tile has one for each of its points.

import {below} from '../shared/format.js';

/** @typedef {{first: number, last: number, at: number, width: number}} Piece */

export class Order {
  /** @param {Pick<import('rig').SeriesData, 'level' | 'points' | 'tiles' | 'gaps'>} data */
  constructor({level, points, tiles, gaps}) {
    const all = [...points.map((p) => ({first: p.seq, last: p.seq, width: 1})),
      ...tiles.map((t) => ({first: t.first_seq, last: t.last_seq, width: Math.max(1, t.points)})),
      ...level ? [] : gaps.map((g) => ({first: g.seq, last: g.seq, width: 1}))].sort((a, b) => a.first - b.first);
    this.places = 0;
    /** @type {Piece[]} */
    this.pieces = [];
    for (const one of all) {
      if (one.first > (this.pieces.at(-1)?.last ?? -Infinity)) {
        this.pieces.push({...one, at: this.places});
        this.places += one.width;
      }
    }
    this.firsts = this.pieces.map((p) => p.first);
    this.ats = this.pieces.map((p) => p.at);
  }

  /**
   * place returns the middle of a build's place. A build between two pieces is at their border.
   * @param {number} seq
   */
  place(seq) {
    const p = this.pieces[below(this.firsts, seq, true) - 1];
    return !p ? 0 : seq > p.last ? p.at + p.width
      : p.at + (seq - p.first + 0.5) / (p.last - p.first + 1) * p.width;
  }

  /**
   * seq returns the build at a place.
   * @param {number} place
   */
  seq(place) {
    const p = this.pieces[Math.max(0, below(this.ats, place, true) - 1)];
    if (!p) {
      return 0;
    }
    const part = Math.max(0, Math.min(1, (place - p.at) / p.width));
    return Math.min(p.last, p.first + Math.floor(part * (p.last - p.first + 1)));
  }
}
