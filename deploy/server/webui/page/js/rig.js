// The rig: what its devices show right now, how their recordings go, and what waits.

import {arrange, complain, fill, h, later} from '../shared/dom.js';
import {DevicePanel, meter} from './device.js';
import {setHere} from '../shared/keys.js';
import {JobBoard} from './jobs.js';
import {bytes, counted, duration, stateWord} from '../shared/words.js';
import {grouped} from '../shared/format.js';

const mostLog = 100;

/** @param {import('./main.js').Page} page */
export async function rigPage({main, rig, signal}) {
  let [status, meanwhile] = await rig.heed('rig.status', {});
  if (signal.aborted) {
    return;
  }
  const take = (/** @type {import('./api.js').RigEvent} */ {device, record}) => {
    if (device) {
      status.devices = status.devices.map((d) => d.name === device.name ? device : d);
    }
    const recorded = status.devices.find((d) => d.name === record?.device);
    if (recorded) {
      recorded.capture = record;
    }
  };
  meanwhile.forEach(take);
  main.className = 'wide';
  const head = h('p.about');
  const store = h('section.card');
  const log = h('ol.log', {'aria-label': 'Log'});
  const board = new JobBoard(rig, signal, 3, () => panel.again());
  const panel = new DevicePanel(rig, signal, (job) => board.jobs.get(job)?.kind);
  const tabs = h('div.tabs', {role: 'tablist', 'aria-label': 'Devices'});
  let chosen = status.devices[0]?.name ?? '';
  /** @type {Map<string, {root: Element, state: Element}>} by device */
  const tabOf = new Map();
  const tab = (/** @type {import('rig').Device} */ d) => { // it stays, since it may be being clicked
    let one = tabOf.get(d.name);
    if (!one) {
      const state = h('span');
      one = {state, root: h('button.tab', {role: 'tab', onclick: () => choose(d.name)}, d.name, ' ', state)};
      tabOf.set(d.name, one);
    }
    const {mark, look, text} = stateWord(d.state);
    one.root.setAttribute('aria-selected', String(d.name === chosen));
    one.state.className = `state ${look}`;
    one.state.textContent = `${mark} ${text}`;
    return one.root;
  };
  const drawTabs = () => {
    arrange(tabs, status.devices.map(tab));
    const device = status.devices.find((d) => d.name === chosen);
    if (device) {
      panel.draw(device);
    }
  };
  const choose = (/** @type {string} */ name) => {
    chosen = name;
    panel.watch(name);
    drawTabs();
    if (tabs.contains(document.activeElement)) {
      tabs.querySelector('[aria-selected=true]')?.focus();
    }
  };
  const visitor = rig.needed ? h('span', null, `you are ${rig.owner}, role ${rig.role} `,
    h('button.link', {onclick: () => rig.logout().catch(complain)}, 'Log out')) : null;
  const drawStore = () => {
    const {used_bytes: used, free_bytes: free, max_bytes: max, runs} = status.store;
    const full = max ? used / max : used / Math.max(1, used + free);
    arrange(head, [status.host, status.program, `up ${duration(status.now_wall_ns - status.started_wall_ns)}`,
      counted(status.clients, 'client'), status.state === 'ending' ? 'ending' : ''].filter(Boolean)
      .map((s) => h('span', null, s))
      .concat(visitor ?? []));
    fill(store, h('h2', null, 'Store'), meter('used', full,
      `${bytes(used)} of ${max ? bytes(max) : bytes(used + free)}`), h('dl.facts', null,
      [['runs', grouped(runs)], ['used', bytes(used)], ['free on the disk', bytes(free)],
        ['quota', max ? bytes(max) : 'none']]
        .map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text)))));
  };
  const load = async () => {
    try {
      [status, meanwhile] = await rig.heed('rig.status', {});
      meanwhile.forEach(take);
      drawTabs();
      drawStore();
    } catch (error) {
      complain(error);
    }
  };
  const soon = later(load, 500);
  panel.opened = soon;
  rig.follow(signal, (event) => {
    take(event);
    if (event.device || event.record) {
      drawTabs();
    } else if (event.log) {
      log.prepend(h(`li.${event.log.level}`, null,
        h('time', null, new Date(event.time_wall_ns / 1e6).toLocaleTimeString('en-GB')), ' ',
        h('b', null, event.log.level), ' ', event.log.message,
        event.log.fields ? h('small', null, Object.entries(event.log.fields).map(([k, v]) => `${k}=${v}`).join(' '))
          : null));
      while (log.children.length > mostLog) {
        log.lastChild?.remove();
      }
    } else if (event.store || event.job) {
      soon();
    }
  }, load);
  fill(main, h('header.top', null, h('h1', null, 'Rig'), head), h('div.two-columns.rig', null,
    h('section.card', {'aria-label': 'Device'}, tabs, panel.root),
    h('div', null, h('section.card', {'aria-label': 'Jobs'}, h('h2', null, 'Queue'), board.root), store,
      h('section.card', null, h('h2', null, 'Log'), log,
        h('p.quiet-text.if-empty', null, 'Nothing since this page was opened.')))));
  drawStore();
  if (chosen) {
    choose(chosen);
  } else {
    fill(panel.root, h('p.quiet-text', null, 'This rig has no device.'));
  }
  const step = (/** @type {number} */ n) => {
    const i = status.devices.findIndex((d) => d.name === chosen) + n;
    if (status.devices[i]) {
      choose(status.devices[i].name);
    }
  };
  setHere([
    {keys: ['ArrowRight', 'n'], about: 'next device', act: () => step(1)},
    {keys: ['ArrowLeft'], about: 'device before', act: () => step(-1)},
    {keys: ['k'], about: 'save the last seconds, where they are kept', act: () => panel.do(() => panel.keep())},
  ]);
  signal.addEventListener('abort', () => rig.unwatch());
}
