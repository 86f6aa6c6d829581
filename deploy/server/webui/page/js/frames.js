// Captured frames as pictures, exact to the last bit. The last few that were asked for are kept.

import {fetchFile} from './api.js';

const kept = 8;

export class Frames {
  /** @param {string} run */
  constructor(run) {
    this.run = run;
    /** @type {Map<number, Promise<ImageBitmap>>} latest last */
    this.pictures = new Map();
  }

  /**
   * get fetches a frame.
   * @param {number} n
   * @returns {Promise<ImageBitmap>}
   */
  get(n) {
    const have = this.pictures.get(n) ?? this.load(n);
    this.pictures.delete(n);
    this.pictures.set(n, have);
    for (const [old, picture] of this.pictures) {
      if (this.pictures.size <= kept) {
        break;
      }
      this.pictures.delete(old);
      picture.then((p) => p.close(), () => {}); // that it failed was told to who asked
    }
    return have;
  }

  /** @param {number} n */
  async load(n) {
    try {
      const answer = await fetchFile(this.run, `frames/${n}.png`);
      return await createImageBitmap(await answer.blob(), {colorSpaceConversion: 'none', premultiplyAlpha: 'none'});
    } catch (error) {
      this.pictures.delete(n); // it may come another time
      throw error;
    }
  }

  settled() {
    return Promise.allSettled(this.pictures.values());
  }

  close() {
    for (const picture of this.pictures.values()) {
      picture.then((p) => p.close(), () => {});
    }
    this.pictures.clear();
  }
}
