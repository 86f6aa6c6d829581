// The rig: what its devices show right now, how their recordings go, and what waits.

import {complain, fill, h, later} from './dom.js';
import {DevicePanel, meter} from './device.js';
import {setHere} from './keys.js';
import {JobBoard} from './jobs.js';
import {bytes, counted, duration, stateWord} from './words.js';
import {grouped} from '../shared/format.js';

const mostLog = 100;

/** @param {import('./main.js').Page} page */
export async function rigPage({main, rig, signal}) {
  let status = await rig.call('rig.status', {});
  if (signal.aborted) {
    return;
  }
  main.className = 'wide';
  const head = h('p.about');
  const store = h('section.card');
  const log = h('ol.log', {'aria-label': 'Log'});
  const board = new JobBoard(rig, signal, 3, () => panel.again());
  const panel = new DevicePanel(rig, signal, (job) => board.jobs.get(job)?.kind);
  const tabs = h('div.tabs', {role: 'tablist', 'aria-label': 'Devices'});
  let chosen = status.devices[0]?.name ?? '';
  const drawTabs = () => {
    const focused = tabs.contains(document.activeElement);
    fill(tabs, status.devices.map((d) => {
      const {mark, look, text} = stateWord(d.state);
      return h('button.tab', {role: 'tab', 'aria-selected': String(d.name === chosen), onclick: () => choose(d.name)}, d.name, ' ', h(`span.state.${look}`, null, `${mark} ${text}`));
    }));
    if (focused) {
      tabs.querySelector('[aria-selected=true]')?.focus();
    }
    const device = status.devices.find((d) => d.name === chosen);
    if (device) {
      panel.draw(device);
    }
  };
  const choose = (/** @type {string} */ name) => {
    chosen = name;
    panel.watch(name);
    drawTabs();
  };
  const drawStore = () => {
    const {used_bytes: used, free_bytes: free, max_bytes: max, runs} = status.store;
    const full = max ? used / max : used / Math.max(1, used + free);
    fill(head, [status.host, status.program, `up ${duration(status.now_wall_ns - status.started_wall_ns)}`, counted(status.clients, 'client'), status.state === 'ending' ? 'ending' : ''].filter(Boolean).map((s) => h('span', null, s)),
      rig.needed ? h('span', null, `you are ${rig.owner}, role ${rig.role} `, h('button.link', {onclick: () => rig.logout().catch(complain)}, 'Log out')) : null);
    fill(store, h('h2', null, 'Store'), meter('used', full, `${bytes(used)} of ${max ? bytes(max) : bytes(used + free)}`), h('dl.facts', null,
      [['runs', grouped(runs)], ['used', bytes(used)], ['free on the disk', bytes(free)], ['quota', max ? bytes(max) : 'none']].map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text)))));
  };
  const load = async () => {
    try {
      status = await rig.call('rig.status', {});
      drawTabs();
      drawStore();
    } catch (error) {
      complain(error);
    }
  };
  const soon = later(load, 500);
  panel.opened = soon;
  rig.follow(signal, (event) => {
    if (event.device) {
      const {device} = event;
      status.devices = status.devices.map((d) => d.name === device.name ? device : d);
      drawTabs();
    } else if (event.record) {
      const {record} = event;
      const device = status.devices.find((d) => d.name === record.device);
      if (device) {
        device.capture = record;
        if (device.name === chosen) {
          panel.draw(device);
        }
      }
    } else if (event.log) {
      log.prepend(h(`li.${event.log.level}`, null, h('time', null, new Date(event.time_wall_ns / 1e6).toLocaleTimeString('en-GB')), ' ', h('b', null, event.log.level), ' ', event.log.message,
        event.log.fields ? h('small', null, Object.entries(event.log.fields).map(([k, v]) => `${k}=${v}`).join(' ')) : null));
      while (log.children.length > mostLog) {
        log.lastChild?.remove();
      }
    } else if (event.store || event.job) {
      soon();
    }
  }, load);
  fill(main, h('header.top', null, h('h1', null, 'Rig'), head), h('div.two-columns.rig', null,
    h('section.card', {'aria-label': 'Device'}, tabs, panel.root),
    h('div', null, h('section.card', {'aria-label': 'Jobs'}, h('h2', null, 'Queue'), board.root), store, h('section.card', null, h('h2', null, 'Log'), log, h('p.quiet-text.if-empty', null, 'Nothing since this page was opened.')))));
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
    {keys: ['ArrowRight', 'n'], about: 'next device', act: () => step(1)}, {keys: ['ArrowLeft'], about: 'device before', act: () => step(-1)},
    {keys: ['k'], about: 'save the last seconds, where they are kept', act: () => panel.do(() => panel.keep())},
  ]);
  signal.addEventListener('abort', () => rig.unwatch());
}
