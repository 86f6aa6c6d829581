// Rigs of a hub: what each can do, why it gets no jobs, and what its devices show.

import {announce, arrange, ask, complain, fill, h} from '../shared/dom.js';
import {counted, duration, moment, stateWord} from '../shared/words.js';
import {askText, copied, stateOf} from './changes.js';
import {Pictures} from './pictures.js';

/** @typedef {import('rig').FleetRig} FleetRig */

/** Cards keeps an element while its meaning stays, since it may be being clicked. */
export class Cards {
  constructor() {
    /** @type {Map<string, {means: string, root: HTMLElement}>} */
    this.kept = new Map();
  }

  /**
   * show gives a box one element per item. The focus moves to the same button of a new element.
   * @template T
   * @param {Element} box
   * @param {T[]} items
   * @param {(item: T) => string} key
   * @param {(item: T) => HTMLElement} make
   * @param {(item: T) => unknown} [means] what it shows
   */
  show(box, items, key, make, means = (item) => item) {
    const focused = document.activeElement?.closest('[data-do]');
    const inside = focused && box.contains(focused) ? focused : null;
    const of = inside?.closest('[data-key]')?.getAttribute('data-key');
    const now = new Map();
    for (const item of items) {
      const [name, text] = [key(item), JSON.stringify(means(item))];
      const old = this.kept.get(name);
      const root = old?.means === text ? old.root : make(item);
      root.setAttribute('data-key', name);
      now.set(name, {means: text, root});
      const open = root !== old?.root && old?.root.querySelector(':scope > details')?.hasAttribute('open');
      if (open) {
        root.querySelector(':scope > details')?.setAttribute('open', '');
      }
    }
    this.kept = now;
    arrange(box, [...now.values()].map(({root}) => root));
    if (of && inside && !box.contains(inside)) {
      const action = inside.getAttribute('data-do');
      /** @type {HTMLElement | null} */ (now.get(of)?.root.querySelector(`[data-do="${action}"]`)
        ?? now.get(of)?.root.querySelector('[data-do]') ?? null)?.focus({preventScroll: true});
    }
  }
}

/** @param {number} ns when somebody was away: the time, and the day if it was another one */
export const since = (ns) => new Date(ns / 1e6).toDateString() === new Date().toDateString()
  ? new Date(ns / 1e6).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit'})
  : moment(ns).slice(0, -3);

/** @param {FleetRig} r */
const awayText = ({seen_wall_ns: seen}) => seen ? `away since ${since(seen)}` : 'has not connected yet';

const silent = / is away/; // the same in words and another zone of time

const clockLimit = 1e9; // ns

/** RigBoard shows rigs. */
export class RigBoard {
  /**
   * @param {import('./api.js').Rig} rig
   * @param {AbortSignal} signal
   * @param {() => void} changed
   */
  constructor(rig, signal, changed) {
    this.rig = rig;
    this.changed = changed;
    /** @type {FleetRig[]} */
    this.all = [];
    this.cards = new Cards();
    this.pictures = new Pictures(signal);
    this.filter = h('input', {type: 'search', placeholder: 'name, state or label', 'aria-label': 'Search rigs',
      oninput: () => this.draw(this.all)});
    this.found = h('span.quiet-text', {role: 'status'});
    this.root = h('div.fleet-rigs');
    this.none = h('p.quiet-text', null, 'No rig has joined yet. Invite one, and run the command on it.');
  }

  /** @param {FleetRig[]} all */
  draw(all) {
    this.all = all;
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter((r) => {
      const text = [r.rig, r.state, r.program, ...r.devices.flatMap((d) => [d.device, d.state, ...labelsOf(d, true)])]
        .join(' ').toLowerCase();
      return words.every((/** @type {string} */ w) => text.includes(w));
    });
    const devices = found.reduce((n, r) => n + r.devices.length, 0);
    this.found.textContent = all.length ? `${counted(found.length, 'rig')}, ${counted(devices, 'device')}` : '';
    this.filter.hidden = all.length < 2;
    this.cards.show(this.root, found, (r) => r.rig, (r) => this.card(r), (r) => ({...r,
      seen_wall_ns: r.state === 'away' ? r.seen_wall_ns : 0, clock_offset_ns: clockText(r), role: this.rig.role}));
    if (!all.length) {
      fill(this.root, this.none);
    }
  }

  /** @param {FleetRig} r */
  card(r) {
    const clock = clockText(r);
    const web = /^https?:\/\//.test(r.address ?? '');
    const away = r.state === 'away';
    const why = [away ? awayText(r) : '', away && silent.test(r.reason ?? '') ? '' : r.reason].filter(Boolean);
    return h('article.fleet-rig', {'data-rig': r.rig, 'aria-label': r.rig},
      h('div.job-head', null, h('h3', null, web ? h('a', {href: r.address}, r.rig) : r.rig),
        stateOf(stateWord(r.state)), h('span.quiet-text', null, r.program), this.actions(r)),
      why.length ? h('p.quiet-text.why', null, why.join(': ')) : null,
      clock ? h('p.clock-off', null, `! ${clock}`) : null,
      r.results ? h('p.quiet-text', null, `${counted(r.results, 'result')} not reported yet`) : null,
      h('div.fleet-devices', null, r.devices.map((d) => h('div.fleet-device', {'data-device': d.device},
        this.pictures.of(r.rig, d.device, away ? awayText(r) : ''),
        h('p', null, h('b', null, d.device), ' ', stateOf(stateWord(away ? 'away' : d.state))),
        d.reason ? h('p.quiet-text', null, d.reason) : null,
        d.job ? h('p.quiet-text', null, 'at work: ', h('code', null, d.job)) : null,
        h('ul.labels', {'aria-label': `Labels of ${d.device}`}, labelsOf(d).map((l) => h('li', null, l)))))),
      r.devices.length ? null : h('p.quiet-text', null, 'It has no device.'),
      h('details', null, h('summary', null, 'Key and times'), h('dl.facts', null,
        [['joined', moment(r.joined_wall_ns)], ['last message', r.seen_wall_ns ? moment(r.seen_wall_ns) : 'never'],
          ['key', h('code.key', null, r.key)]].map(([name, text]) => h('div', null, h('dt', null, name),
          h('dd', null, text))))));
  }

  /** @param {FleetRig} r */
  actions(r) {
    if (!this.rig.may('admin')) {
      return null;
    }
    const act = async (/** @type {() => Promise<unknown>} */ does, /** @type {string} */ said) => {
      try {
        await does();
        announce(said);
      } catch (error) {
        complain(error);
      }
      this.changed();
    };
    const off = r.state === 'draining' || r.state === 'drained';
    const drain = async () => {
      const reason = off ? '' : await askText(`Drain ${r.rig}?`,
        'Its jobs end, and no other begins there until it may go on.', 'Reason', 'Drain');
      if (reason !== null) {
        await act(() => this.rig.call('fleet.drain', {rig: r.rig, drain: !off, reason: reason || undefined}),
          off ? `${r.rig} goes on` : `${r.rig} is being drained`);
      }
    };
    const remove = async () => await ask(`Remove ${r.rig} from the fleet?`,
      'Its key is revoked and its connection closed. Its runs stay on it. It joins again with a new invitation.',
      'Remove') && act(() => this.rig.call('fleet.remove', {rig: r.rig}), `${r.rig} is removed`);
    const name = (/** @type {string} */ verb) => `${verb} ${r.rig}`;
    return h('span.card-actions', null, h('button.button.small', {'data-do': 'drain', onclick: drain,
      'aria-label': name(off ? 'Go on with' : 'Drain')}, off ? 'Go on' : 'Drain …'), ' ',
    h('button.button.small', {'data-do': 'remove', onclick: remove, 'aria-label': name('Remove')}, 'Remove …'));
  }
}

/**
 * labelsOf are labels as jobs name them. Names of rig and device stand above them already.
 * @param {import('rig').FleetDevice} d
 * @param {boolean} [every]
 */
export const labelsOf = (d, every) => Object.entries(d.labels ?? {})
  .filter(([key]) => every || key !== 'rig' && key !== 'device').map(([key, value]) => `${key}=${value}`).sort();

/** @param {FleetRig} r */
const clockText = ({clock_offset_ns: ns}) => Math.abs(ns) > clockLimit
  ? `Its clock is ${duration(Math.round(Math.abs(ns) / 1e9) * 1e9).replace('.0', '')} ${ns > 0 ? 'ahead' : 'behind'}`
  : '';

/**
 * inviteForm asks for the name of a rig that may join, and shows the command for it.
 * @param {import('./api.js').Rig} rig
 * @param {() => void} changed
 */
export function inviteForm(rig, changed) {
  const name = h('input', {type: 'text', maxlength: 32, pattern: '[A-Za-z0-9\\-]{1,32}', required: true,
    placeholder: 'lab-07', autocomplete: 'off', title: '1 to 32 letters, digits or -'});
  const out = h('div', {role: 'status'});
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const made = await rig.call('fleet.invite', {rig: name.value.trim()});
      fill(out, h('p', null, `Run this on ${made.rig}. It is valid once, until ${since(made.expires_wall_ns)}.`),
        copied(`eideticker fleet join ${made.url}`), h('p.quiet-text', null,
          'Keep it secret until then: the first rig that runs it joins.'));
      name.value = '';
      changed();
    } catch (error) {
      complain(error);
    }
  };
  return h('form.invite', {onsubmit: submit}, h('h3', null, 'Invite a rig'), h('div.fields', null,
    h('label.field', null, h('span', null, 'Name of the rig'), name), h('button.button', null, 'Invite')), out);
}
