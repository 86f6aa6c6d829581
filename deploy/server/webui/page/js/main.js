// The page as a whole: which of its pages is shown, and whether the rig answers.

import {Rig} from './api.js';
import {complain, fill, get, h} from '../shared/dom.js';
import {setEverywhere, setHere, showHelp} from '../shared/keys.js';
import {route} from './router.js';
import {loginPage} from './login.js';
import {rigPage} from './rig.js';
import {testsPage} from './tests.js';
import {jobPage} from './job.js';
import {runsPage} from './runs.js';
import {runPage} from './run.js';
import {comparePage} from './compare.js';
import {trendsPage} from './trends.js';
import {seriesPage} from './series.js';
import {bisectPage} from './bisects.js';
import {fleetPage} from './fleet.js';

/**
 * @typedef {object} Page what a page is given
 * @property {Element} main where it stands
 * @property {Rig} rig
 * @property {import('./router.js').Route} route
 * @property {AbortSignal} signal ends when another page is shown
 */

const pages = [
  {name: 'rig', title: 'Rig', key: '1'}, {name: 'tests', title: 'Tests', key: '2'},
  {name: 'runs', title: 'Runs', key: '3'}, {name: 'compare', title: 'Compare', key: '4'},
  {name: 'trends', title: 'Trends', key: '5'}, {name: 'fleet', title: 'Fleet', key: '6'},
];

const rig = new Rig();
let shown = new AbortController();
let state = 'connecting';
let failed = false; // what is shown could not be asked for

/** @param {string[]} path */
function pageFor(path) {
  switch (path[0] ?? 'rig') {
    case 'rig': return rigPage;
    case 'tests': return testsPage;
    case 'jobs': return jobPage;
    case 'runs': return path.length > 1 ? runPage : runsPage;
    case 'compare': return comparePage;
    case 'trends': return path[1] === 'bisect' ? bisectPage : path.length > 1 ? seriesPage : trendsPage;
    case 'fleet': return fleetPage;
    default: return null;
  }
}

/** @param {string} current page in the bar */
function showPages(current) {
  fill(get('pages'), pages.filter((p) => p.name !== 'fleet' || rig.inFleet || current === 'fleet').map((p) => h('a',
    {href: `#/${p.name}`, 'aria-current': p.name === current ? 'page' : null, title: `${p.title} (${p.key})`},
      p.title)));
}

/** currentPage is the page's name in the bar. */
function currentPage() {
  const [name = 'rig'] = route().path;
  return name === 'jobs' ? 'tests' : name;
}

function show() {
  shown.abort();
  shown = new AbortController();
  setHere([]);
  const now = route();
  const main = get('main');
  fill(main);
  main.removeAttribute('class');
  showPages(currentPage());
  if (state === 'login') {
    loginPage(main, rig);
    return;
  }
  const page = pageFor(now.path);
  if (!page) {
    fill(main, h('h1.unseen', null, 'No such page'),
      h('p.refusal.card', null, 'There is no such page. ', h('a', {href: '#/rig'}, 'To the rig')));
    return;
  }
  const {signal} = shown;
  failed = false;
  Promise.resolve(page({main, rig, route: now, signal})).catch((error) => {
    if (signal.aborted) {
      return;
    }
    failed = true;
    if (main.querySelector('.loading') || !main.firstChild) {
      fill(main, h('h1.unseen', null, 'Error'),
        h('p.refusal.card', null, error instanceof Error ? error.message : String(error)));
    } else {
      complain(error);
    }
  });
}

/** askFleet shows the tab of a fleet where there is one. A rig without knows no such method. */
async function askFleet() {
  const {role} = await rig.call('fleet.status', {}).catch(() => ({role: 'alone'}));
  if (rig.inFleet !== (role !== 'alone')) {
    rig.inFleet = !rig.inFleet;
    showPages(currentPage());
  }
}

/** @type {Record<string, string>} */
const titles = {connected: '', connecting: 'the rig does not answer: trying again', login: 'not logged in'};

rig.onstate = (/** @type {string} */ now) => {
  get('link-state').textContent = titles[now];
  const before = state;
  state = now;
  if (now === 'login' || before === 'login' || now === 'connected' && (failed || !get('main').firstChild)) {
    show();
  }
  if (now === 'connected') {
    askFleet();
  }
};

setEverywhere([
  ...pages.map((p) => ({keys: [p.key], about: p.title, act: () => { location.hash = '/' + p.name; }})),
  {keys: ['/'], about: 'search',
    act: () => { /** @type {HTMLElement | null} */ (document.querySelector('input[type=search]'))?.focus(); }},
  {keys: ['d'], about: 'light, dark, or as the system has it', act: () => dispatchEvent(new Event('nexttheme'))},
  {keys: ['?'], about: 'these keys', act: showHelp},
]);
get('help').addEventListener('click', showHelp);
get('skip').addEventListener('click', (/** @type {Event} */ event) => {
  event.preventDefault();
  get('main').focus();
});
addEventListener('hashchange', show);
rig.open();
