// One device: what it shows right now, how its recording goes, and what can be done with it.

import {arrange, ask, complain, fill, h} from '../shared/dom.js';
import {address, go} from './router.js';
import {bytes, duration, moment} from '../shared/words.js';
import {askReservation} from './reserve.js';
import {grouped} from '../shared/format.js';

/** @typedef {import('rig').Device} Device */

const virtual = 'x11'; // source of a device that has a display only while a test runs

/**
 * meter says how full something is, in words too.
 * @param {string} name
 * @param {number} share
 * @param {string} text
 */
export function meter(name, share, text) {
  return h('div.meter', null, h('span', null, name), h('meter', {min: 0, max: 1, high: 0.8, optimum: 0,
    value: Math.min(1, share), 'aria-label': `${name}: ${text}`}), h('span', null, text));
}

/** DevicePanel is one device, with its live picture. */
export class DevicePanel {
  /**
   * @param {import('./api.js').Rig} rig
   * @param {AbortSignal} signal
   * @param {(job: string) => string | undefined} kindOf job, where it is known
   */
  constructor(rig, signal, kindOf) {
    this.rig = rig;
    this.kindOf = kindOf;
    this.means = ''; // what the buttons are for
    this.busy = false;
    /** @type {(() => void) | null} told when the first picture came of a device whose signal was not known */
    this.opened = null;
    this.canvas = h('canvas.live', {role: 'img', 'aria-label': 'What the device shows'});
    this.none = h('p.live-none', null, 'No picture yet');
    this.facts = h('div');
    this.row = h('div.row');
    this.actions = h('div.device-actions', {tabindex: -1}, this.row);
    /** @type {Map<string, Element>} what stands there, by what it means */
    this.kept = new Map();
    this.said = h('p.quiet-text.said', {role: 'status'});
    this.root = h('div.device', {role: 'tabpanel'}, h('div.live-box', null, this.canvas, this.none), this.facts,
      this.actions, this.said);
    /** @type {Device | null} */
    this.device = null;
    const quiet = setInterval(() => {
      if (Date.now() - this.last > 3000) {
        this.none.hidden = false;
        this.none.textContent = this.last ? 'The picture stands still: none has come for 3 s'
          : 'No picture: the device shows one while a test or a recording has its screen open';
      }
    }, 1000);
    this.last = 0;
    /** @type {object} of the device that is watched now */
    this.visit = {};
    signal.addEventListener('abort', () => clearInterval(quiet));
  }

  /** @param {string} name */
  watch(name) {
    this.last = 0;
    this.said.textContent = '';
    this.none.hidden = false;
    this.none.textContent = 'No picture yet';
    this.canvas.width = this.canvas.height = 0;
    const visit = this.visit = {};
    let latest = 0; // pictures are decoded at once, and may be ready in another order
    let shown = 0;
    this.rig.watch(name, async (blob) => {
      const number = ++latest;
      try {
        const [of, picture] = await Promise.all([deviceOf(blob), createImageBitmap(blob)]);
        // it was on its way when another device was chosen, or a newer one is shown
        if (visit !== this.visit || of !== name || number < shown) {
          picture.close();
          return;
        }
        shown = number;
        this.canvas.width = picture.width;
        this.canvas.height = picture.height;
        this.canvas.getContext('2d').drawImage(picture, 0, 0);
        picture.close();
        const first = !this.last;
        this.last = Date.now();
        this.none.hidden = true;
        if (first && !this.device?.signal) {
          this.opened?.(); // nobody tells of the signal of an idle device
        }
      } catch (error) {
        complain(error);
      }
    }).catch(complain);
  }

  /** @param {Device} d */
  draw(d) {
    this.device = d;
    this.root.setAttribute('aria-label', d.name);
    const {signal: s, capture: c} = d;
    const rate = s?.period_ns ? ` at ${(1e9 / s.period_ns).toFixed(2).replace(/\.?0+$/, '')}/s` : '';
    const facts = [['source', d.source], ['input', d.input || 'none'], ['browsers', d.browsers.join(', ')],
      ['signal', s ? `${s.width_px} × ${s.height_px} ${s.pixel_format}${rate}` : 'not open']];
    if (d.failures_in_row) {
      facts.push(['failed in a row', String(d.failures_in_row)]);
    }
    fill(this.facts, d.about ? h('p.about', null, d.about) : null,
      d.in_use_by ? h('p.refusal', null, `In use by ${d.in_use_by}`) : null,
      d.quarantine ? h('p.refusal', null, `Under quarantine: ${d.quarantine}`) : null,
      d.reserved ? h('p.refusal', null, `Reserved for ${d.reserved.owner} until ${moment(d.reserved.until_wall_ns)}`,
        d.reserved.note ? `: ${d.reserved.note}` : '') : null,
      definitions(facts),
      c ? h('div.capture', null, meter('ring', c.ring_fill, `${Math.round(100 * c.ring_fill)} % full`),
        meter('recorder', c.encoding_share, `at work ${Math.round(100 * c.encoding_share)} % of the time`),
        definitions([['frames', grouped(c.frames)], ['written', bytes(c.bytes)], ['for', duration(c.elapsed_ns)]],
          h('div', null, h('dt', null, 'lost'), h('dd', {class: c.lost_frames ? 'problem' : null},
            c.lost_frames ? `! ${grouped(c.lost_frames)}` : '✓ 0')))) : null);
    // An element that can be clicked stays until its meaning changes.
    const recording = d.job !== undefined && this.kindOf(d.job) === 'record';
    const focused = this.actions.contains(document.activeElement);
    /** @type {Map<string, Element>} */
    const kept = new Map();
    const keep = (/** @type {string[]} */ means, /** @type {() => Element} */ make) => {
      const key = JSON.stringify([d.name, ...means]);
      const e = this.kept.get(key) ?? make();
      kept.set(key, e);
      return e;
    };
    const {job} = d;
    const work = job ? [keep(['job', job, String(recording)], () => h('p.at-work', null, 'At work: ',
      h('a', {href: recording ? address(['runs', job]) : address(['runs'], {set: job})}, job)))] : [];
    arrange(this.row, this.buttons(d, recording, keep));
    arrange(this.actions, [...work, this.row]);
    this.kept = kept;
    if (focused && !this.actions.contains(document.activeElement)) {
      this.actions.focus({preventScroll: true}); // the next Tab goes on from here
    }
    this.showBusy();
  }

  /** showBusy marks the buttons as waiting. They keep the focus, which disabled buttons would lose. */
  showBusy() {
    for (const b of this.actions.querySelectorAll('button')) {
      b.ariaDisabled = this.busy ? 'true' : null;
    }
  }

  /**
   * @param {Device} d
   * @param {boolean} recording without a test
   * @param {(means: string[], make: () => Element) => Element} keep
   * @returns {Element[]}
   */
  buttons(d, recording, keep) {
    const {rig} = this;
    const button = (/** @type {string} */ text, /** @type {() => Promise<string | void>} */ act, of = '') =>
      keep(['button', text, of], () => h('button.button', {onclick: () => this.do(act)}, text));
    const reservation = rig.reservation(d);
    const run = rig.may('run');
    const admin = rig.may('admin');
    const usable = d.state === 'free' || d.state === 'reserved' && reservation !== undefined;
    return [
      run && usable && d.source !== virtual ? [button('Record', () => this.record({})),
        button('Keep the last 30 s', () => this.record({keep_last_ns: 30e9}))] : null,
      run && recording ? button('End the recording', () => this.stop(), d.job) : null,
      run && d.state === 'keeping' ? [button('Save the last seconds', () => this.keep()),
        button('End keeping', () => this.stop())] : null,
      run && d.job && !recording ? button('End what is at work',
        async () => void await rig.call('run.cancel', {job: d.job ?? ''}), d.job) : null,
      run && !d.reserved ? button('Reserve …', () => this.reserve()) : null,
      d.reserved && (admin || run && (reservation !== undefined || d.reserved.owner === rig.owner))
        ? button('End the reservation', () => this.release()) : null,
      admin && d.quarantine ? button('Lift the quarantine',
        async () => void await rig.call('device.quarantine', {device: d.name, lift: true})) : null,
      admin && !d.quarantine ? button('Quarantine …', () => this.quarantine()) : null,
      admin && d.power ? button('Power cycle …', () => this.power()) : null,
    ].flat().filter((e) => e instanceof Element);
  }

  /**
   * do has something done once, and says what came of it.
   * @param {() => Promise<string | void>} act
   */
  async do(act) {
    if (this.busy) {
      return;
    }
    this.busy = true;
    this.showBusy();
    this.said.textContent = '';
    try {
      this.said.textContent = await act() ?? '';
    } catch (error) {
      complain(error);
    } finally {
      this.busy = false;
      this.showBusy();
      this.again();
    }
  }

  again() {
    if (this.device) {
      this.draw(this.device);
    }
  }

  get name() {
    return this.device?.name ?? '';
  }

  /** @param {{keep_last_ns?: number}} how */
  async record(how) {
    const {device} = this;
    if (device) {
      await this.rig.call('record.start', {device: device.name, reservation: this.rig.reservation(device), ...how});
    }
  }

  /** stop ends a recording, which is then shown, or that the last seconds are kept. */
  async stop() {
    const {run} = await this.rig.call('record.stop', {device: this.name});
    if (run) {
      go(['runs', run]);
    }
  }

  async keep() {
    if (this.device?.state === 'keeping') {
      const {run} = await this.rig.call('record.keepLast', {device: this.name});
      go(['runs', run]);
    }
  }

  async quarantine() {
    const {name} = this;
    if (await ask('Let no job begin on this device?', `${name}: jobs wait until the quarantine is lifted.`,
      'Quarantine')) {
      await this.rig.call('device.quarantine', {device: name, reason: 'by hand'});
    }
  }

  async power() {
    const {name} = this;
    if (!await ask('Switch the device off and on?', name, 'Power cycle')) {
      return '';
    }
    this.said.textContent = `${name} is being switched off and on …`;
    await this.rig.call('device.power', {device: name, do: 'cycle'});
    return `${name} was switched off and on.`;
  }

  async reserve() {
    const {name} = this;
    const wanted = await askReservation(name);
    if (!wanted) {
      return '';
    }
    this.rig.keepReservation(await this.rig.call('device.reserve', {device: name, ...wanted}));
    return `${name} is reserved: what is started in this browser window may use it.`;
  }

  async release() {
    await this.rig.call('device.reserve', {device: this.name, for_ns: 0, release: true});
  }
}

/**
 * deviceOf reads from a picture's comment, which stands first in it, what it shows.
 * @param {Blob} picture
 * @returns {Promise<string>}
 */
async function deviceOf(picture) {
  const head = new DataView(await picture.slice(0, 6).arrayBuffer());
  return JSON.parse(await picture.slice(6, 4 + head.getUint16(4)).text()).device;
}

/**
 * definitions are facts by name.
 * @param {string[][]} facts
 * @param {...Element} more
 */
const definitions = (facts, ...more) => h('dl.facts', null,
  facts.map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text))), more);
