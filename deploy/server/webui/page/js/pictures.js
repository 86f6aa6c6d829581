// Live pictures of a fleet's devices. Only those in sight are asked for.

import {h} from '../shared/dom.js';

const every = 3000; // ms
const atOnce = 3; // a browser holds few connections to a hub

/** Pictures shows devices by their latest pictures. */
export class Pictures {
  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.signal = signal;
    /** @type {Map<string, {root: HTMLElement, canvas: HTMLCanvasElement, none: HTMLElement, away: string,
     * shown: boolean}>} */
    this.all = new Map();
    /** @type {Set<string>} by RIG/DEVICE */
    this.inSight = new Set();
    this.observer = new IntersectionObserver((entries) => entries.forEach((e) => {
      const name = e.target.getAttribute('data-picture') ?? '';
      if (e.isIntersecting) {
        this.inSight.add(name);
      } else {
        this.inSight.delete(name);
      }
    }));
    const next = async () => {
      await this.look().catch(() => {}); // the page has gone
      if (!signal.aborted) {
        timer = setTimeout(next, this.fresh ? 100 : every);
        this.fresh = false;
      }
    };
    let timer = setTimeout(next, 0);
    this.fresh = true; // a picture has never been asked for
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      this.observer.disconnect();
    });
  }

  /**
   * of is the picture of a device.
   * @param {string} rig
   * @param {string} device
   * @param {string} away why there is none; empty: there may be one
   */
  of(rig, device, away) {
    const name = `${encodeURIComponent(rig)}/${encodeURIComponent(device)}`;
    let one = this.all.get(name);
    if (!one) {
      const canvas = h('canvas.live', {role: 'img', 'aria-label': `What ${device} of ${rig} shows`});
      const none = h('p.live-none', null, 'No picture yet');
      one = {root: h('div.live-box', {'data-picture': name}, canvas, none), canvas, none, away, shown: false};
      this.all.set(name, one);
      this.observer.observe(one.root);
      this.fresh = true;
    }
    one.away = away;
    if (away) {
      say(one, away);
    }
    return one.root;
  }

  /** look asks for each picture in sight once. */
  async look() {
    const wanted = document.visibilityState === 'visible'
      ? [...this.inSight].filter((n) => !this.all.get(n)?.away) : [];
    await Promise.all(Array.from({length: atOnce}, async () => {
      for (let name = wanted.shift(); name && !this.signal.aborted; name = wanted.shift()) {
        await this.ask(name);
      }
    }));
  }

  /** @param {string} name */
  async ask(name) {
    const one = this.all.get(name);
    if (!one) {
      return;
    }
    try {
      const answer = await fetch(`fleet/v1/picture/${name}`, {signal: this.signal, cache: 'no-store'});
      if (!answer.ok) {
        throw new Error((await answer.text()).trim().slice(0, 200) || `the hub answers ${answer.status}`);
      }
      const picture = await createImageBitmap(await answer.blob());
      one.canvas.width = picture.width;
      one.canvas.height = picture.height;
      one.canvas.getContext('2d')?.drawImage(picture, 0, 0);
      picture.close();
      one.shown = true;
      one.none.hidden = !one.away;
      one.canvas.classList.toggle('stale', Boolean(one.away));
    } catch (error) {
      if (!this.signal.aborted) {
        const why = error instanceof Error && error.message ? `: ${error.message}` : '';
        say(one, one.away || `${one.shown ? 'The picture stands still' : 'No picture'}${why}`);
      }
    }
  }
}

/**
 * say puts words over a picture, which is then an old one.
 * @param {{canvas: Element, none: HTMLElement}} one
 * @param {string} text
 */
function say({canvas, none}, text) {
  none.textContent = text;
  none.hidden = false;
  canvas.classList.add('stale');
}
