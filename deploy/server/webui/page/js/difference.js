// What differs between two frames: dim where they are alike, marked where they are not, and counted.

import {h} from '../shared/dom.js';
import {grouped} from '../shared/format.js';

export class DifferenceView {
  constructor() {
    this.canvas = h('canvas.difference', {role: 'img'});
    this.told = h('span', {role: 'status'}, '');
    this.root = h('figure.column', null, h('h3', null, 'What differs'), h('div.stage', null, this.canvas),
      h('figcaption', null, this.told));
    this.scratch = [document.createElement('canvas'), document.createElement('canvas')];
  }

  /** @param {string} text */
  none(text) {
    this.canvas.width = this.canvas.width; // clears it
    this.told.textContent = text;
    this.canvas.setAttribute('aria-label', text);
  }

  /**
   * pixels are those of a picture, and what is left out of it is 0 in the mask.
   * @param {number} i
   * @param {HTMLCanvasElement | ImageBitmap} picture
   */
  pixels(i, picture) {
    const canvas = this.scratch[i];
    canvas.width = picture.width;
    canvas.height = picture.height;
    const context = canvas.getContext('2d', {willReadFrequently: true});
    if (!context) {
      throw new Error('this browser has no canvas');
    }
    context.drawImage(picture, 0, 0);
    return context.getImageData(0, 0, picture.width, picture.height);
  }

  /**
   * @param {HTMLCanvasElement | ImageBitmap} a
   * @param {HTMLCanvasElement | ImageBitmap} b
   * @param {Counted} counted
   */
  count(a, b, counted) {
    return differing(this.pixels(0, a), this.pixels(1, b), counted);
  }

  /**
   * @param {HTMLCanvasElement} a
   * @param {HTMLCanvasElement} b
   * @param {Counted} counted
   */
  show(a, b, counted) {
    const left = this.pixels(0, a);
    const shown = new ImageData(left.width, left.height);
    const from = new Uint8ClampedArray(left.data);
    const out = new Uint32Array(shown.data.buffer);
    for (let i = 0; i < out.length; i++) {
      const grey = 24 + Math.round((from[4 * i] + 2 * from[4 * i + 1] + from[4 * i + 2]) / 4 * 0.3);
      out[i] = (255 << 24 | grey << 16 | grey << 8 | grey) >>> 0;
    }
    // a warm yellow, far lighter than the dimmed rest
    const n = differing(left, this.pixels(1, b), counted, (i) => { out[i] = 0xff6fd4ff; });
    if (n < 0) {
      this.none(`The frames differ in size: ${a.width} × ${a.height} and ${b.width} × ${b.height}.`);
      return;
    }
    this.canvas.width = left.width;
    this.canvas.height = left.height;
    this.canvas.getContext('2d').putImageData(shown, 0, 0);
    const part = 100 * n / out.length;
    const notes = [counted.masks.length && 'masked regions do not count',
      n > 0 && n <= counted.most && `up to ${grouped(counted.most)} may`]
      .filter(Boolean).map((note) => `; ${note}`).join('');
    const share = `${part < 0.01 ? 'under 0.01' : part.toFixed(2)} % of the frame`;
    this.told.textContent = n ? `${grouped(n)} ${n === 1 ? 'pixel differs' : 'pixels differ'}, ${share}${notes}`
      : 'No pixel differs.';
    this.canvas.setAttribute('aria-label', this.told.textContent);
  }
}

/**
 * @typedef {object} Counted what counts when frames are held against each other
 * @property {number[]} region x, y, width, height
 * @property {number[][]} masks regions within it that do not count
 * @property {number} tolerance of each colour of a pixel, out of 255
 * @property {number} most pixels that may differ in frames that are alike
 * @property {boolean} exact what was measured in the two went by any difference in all that counts here
 */

/** @typedef {import('rig').Window | null} MaybeWindow */

/**
 * counting is what counts in two windows, as eideticker compare has it.
 * @param {MaybeWindow} a
 * @param {MaybeWindow} b
 * @returns {Counted}
 */
export function counting(a, b) {
  const [one, other] = [a?.region ?? [], b?.region ?? []];
  const same = one.length === 4 && one.every((n, i) => n === other[i]);
  const tolerance = Math.max(a?.tolerance ?? 0, b?.tolerance ?? 0);
  const most = Math.max(a?.min_pixels ?? 0, b?.min_pixels ?? 0);
  return {
    region: same ? one : [0, 0, Infinity, Infinity], masks: [...a?.masks ?? [], ...b?.masks ?? []],
    tolerance, most, exact: tolerance === 0 && most === 0 && (same || one.length + other.length === 0),
  };
}

/**
 * differing goes through the pixels that differ; -1 where the sizes do.
 * @param {ImageData} a
 * @param {ImageData} b
 * @param {Counted} counted
 * @param {(i: number) => void} [found]
 */
export function differing(a, b, counted, found) {
  if (a.width !== b.width || a.height !== b.height) {
    return -1;
  }
  const left = new Uint32Array(a.data.buffer);
  const right = new Uint32Array(b.data.buffer);
  const {region: [x0, y0, width, height], tolerance, masks} = counted;
  const x1 = Math.min(a.width, x0 + width);
  const y1 = Math.min(a.height, y0 + height);
  let n = 0;
  for (let y = y0; y < y1; y++) {
    for (let x = x0, i = y * a.width + x0; x < x1; x++, i++) {
      if (left[i] !== right[i] && (tolerance === 0 || beyond(a.data, b.data, 4 * i, tolerance)) &&
        !masked(x, y, masks)) {
        n++;
        found?.(i);
      }
    }
  }
  return n;
}

/**
 * beyond says whether two pixels differ by more than is tolerated.
 * @param {Uint8ClampedArray} a
 * @param {Uint8ClampedArray} b
 * @param {number} i
 * @param {number} tolerance
 */
const beyond = (a, b, i, tolerance) => [i, i + 1, i + 2].some((k) => Math.abs(a[k] - b[k]) > tolerance);

/**
 * @param {number} x
 * @param {number} y
 * @param {number[][]} masks
 */
const masked = (x, y, masks) => masks.some(([left, top, width, height]) => x >= left && y >= top && x < left + width &&
  y < top + height);
