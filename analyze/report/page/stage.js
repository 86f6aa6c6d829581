// The stage shows a run: its video while it plays, and the exact captured frame where it stops. Heat and evidence
// lie over it.

import {complain, h, later} from './dom.js';
import {Timeline} from './timeline.js';
import {Player} from './player.js';

/**
 * @typedef {object} Stills captured frames as pictures, exact to the last bit
 * @property {(frame: number) => Promise<ImageBitmap>} get
 * @property {() => Promise<any>} settled resolves when no frame is being fetched
 * @property {() => void} close
 */

export class Stage {
  /**
   * @param {Stills | null} stills null where only the video shows frames
   * @param {ReturnType<typeof import('./film.js').film>} shown
   * @param {{width: number, height: number}} size of the recording, pixels
   * @param {string} name for those who do not see it
   */
  constructor(stills, shown, size, name) {
    this.size = size;
    this.stills = stills;
    this.video = h('video', {playsinline: true, preload: 'auto', 'aria-label': name});
    this.video.muted = true;
    this.exact = h('canvas.exact', {hidden: true, role: 'img'});
    this.heat = h('canvas.heat', {hidden: true, 'aria-hidden': 'true'});
    const viewBox = `0 0 ${size.width} ${size.height}`;
    this.over = h('svg.over-marks', {viewBox, preserveAspectRatio: 'none', 'aria-hidden': 'true'});
    this.gone = h('p.gone', {hidden: true}, 'This frame was not recorded');
    this.nothing = h('p.nothing', {hidden: true}, 'nothing yet'); // in place of the green before the content
    this.content = h('div.content', null, this.exact, this.heat, this.over, this.nothing);
    this.root = h('div.stage', null, h('div.sheet', null, shown.hasVideo ? this.video : null, this.content), this.gone);
    // Of the video only the recording's picture is shown: what it says of itself below stands on the page too.
    const [x, y, width, height] = shown.film.content;
    Object.assign(this.video.style, {
      left: `${-100 * x / width}%`, top: `${-100 * y / height}%`, width: `${100 / width}%`, height: `${100 / height}%`,
    });
    this.root.style.setProperty('--ratio', String(size.width / size.height || 16 / 9));

    this.timeline = new Timeline({film: shown.film, windows: shown.windows});
    this.player = new Player(shown.hasVideo ? shown.film : null, this.timeline, this.video);
    /** @type {number} the frame whose exact picture is shown; -1: none */
    this.shown = -1;
    this.resting = false;
    this.unfolded = false; // the rest of a window is shown
    /** @type {(() => void)[]} */
    this.listeners = [];
    const settle = later(() => this.settle(), 30);
    this.timeline.onMove(() => {
      this.gone.hidden = this.timeline.frame >= 0;
      if (this.playing) {
        this.hideExact();
      } else {
        this.tell();
        settle();
      }
    });
    this.video.addEventListener('play', () => this.hideExact());
    this.video.addEventListener('pause', settle);
  }

  get playing() {
    return !this.video.paused && !this.video.ended;
  }

  /** @param {() => void} listener told when the exact frame is shown, or no longer */
  onShown(listener) {
    this.listeners.push(listener);
  }

  tell() {
    this.listeners.forEach((tell) => tell());
  }

  hideExact() {
    if (this.shown >= 0 || !this.exact.hidden) {
      this.shown = -1;
      this.exact.hidden = true;
      this.tell();
    }
  }

  /** settle shows the captured frame at which the timeline stands. */
  async settle() {
    const {frame} = this.timeline;
    if (this.playing || frame < 0) {
      this.hideExact();
      return;
    }
    const {stills} = this;
    if (this.resting || !stills) {
      return;
    }
    try {
      const picture = await stills.get(frame);
      if (this.timeline.frame !== frame || this.playing) {
        return; // it went on meanwhile
      }
      this.exact.width = picture.width;
      this.exact.height = picture.height;
      this.exact.getContext('2d').drawImage(picture, 0, 0);
      this.exact.dataset.frame = frame;
      this.exact.setAttribute('aria-label', `Frame ${frame}`);
      this.exact.hidden = false;
      this.shown = frame;
      this.tell();
      for (const n of [1, -1]) { // where a step will go
        const next = this.timeline.frames[this.timeline.stepped(n)];
        if (next >= 0 && next !== frame && !this.resting) {
          stills.get(next).catch(() => {}); // it is asked for again when it is wanted
        }
      }
    } catch (error) {
      if (this.timeline.frame === frame && this.root.isConnected) {
        this.hideExact();
        complain(error);
      }
    }
  }

  /** rest ends asking for frames, before the run goes away, once those that were asked for have come. */
  async rest() {
    this.resting = true;
    this.player.pause();
    await this.stills?.settled();
  }

  /**
   * mark draws on the frame what is known about places in it.
   * @param {{rows: number[], region: number[]}[]} evidence
   * @param {number[]} area of the content
   */
  mark(evidence, area) {
    this.over.replaceChildren();
    const whole = area.length === 4 ? area : [0, 0, this.size.width, this.size.height];
    for (const e of evidence) {
      const [x, y, width, height] = e.region.length === 4 ? e.region : whole;
      if (e.region.length === 4) {
        this.over.append(h('rect.shown-region', {x, y, width, height}));
      }
      for (const row of e.rows) {
        this.over.append(h('line.shown-row', {x1: x, x2: x + width, y1: row, y2: row}));
      }
    }
  }

  close() {
    this.video.pause();
    this.video.removeAttribute('src');
    this.video.load(); // the browser ends what it still fetches
    this.stills?.close();
  }
}
