// The program of a set's report.html: it shows the set that is inlined in the page.

import {fill, get} from './dom.js';
import {setView} from './setview.js';

const main = get('main');
main.className = 'comparison';
fill(main, setView(JSON.parse(get('data').textContent), 'Eideticker set', 'Primary values'));
