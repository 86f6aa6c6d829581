// The program of report.html: it shows the results that are inlined in the page.

import {fill, get, h} from './dom.js';
import {whole} from './film.js';
import {setEverywhere, setHere, showHelp} from './keys.js';
import {RunView} from './runview.js';

/**
 * @typedef {object} Inlined
 * @property {any} results as results.json has them
 * @property {import('rig').Map | null} map of the video
 * @property {string} problem why there is no video; empty where there is one, or none was made
 * @property {Record<string, string>} files addresses of the run's files that the page refers to, by name
 */

/** @type {Inlined} */
const inlined = JSON.parse(get('data').textContent);
const results = whole(inlined.results);
const files = {url: (/** @type {string} */ name) => inlined.files[name] ?? '', read: null};

const environment = results?.environment ?? {};
const {started_wall_ns: started = 0, own_clock: own = false} = results?.recording ?? {};
const date = new Date(started / 1e6).toLocaleString('en-GB', {dateStyle: 'long', timeStyle: 'medium', timeZone: 'UTC'});
const about = [started > 0 && !own ? `${date} UTC` : '', environment.dut, environment.browser, environment.os,
  environment.network].filter(Boolean);
const name = results?.recording.name || 'Recording';
const frames = results?.recording.frames ?? 0;
const view = new RunView({name, files, stills: null, results, map: inlined.map, events: [], frames});
document.title = `${name} – Eideticker`;
fill(get('main'),
  h('header.top', null, h('p.brand', null, h('span.mark', {'aria-hidden': 'true'}), 'Eideticker report'),
    h('h1', null, name), about.length ? h('p.about', null, about.map((text) => h('span', null, text))) : null),
  inlined.problem ? h('p.refusal.card', null, inlined.problem) : null, view.root);
setHere(view.keys());
setEverywhere([{keys: ['?'], about: 'these keys', act: showHelp}]);
view.begin();
let printed = {end: () => {}};
addEventListener('beforeprint', () => { printed = view.print(); });
addEventListener('afterprint', () => printed.end());
