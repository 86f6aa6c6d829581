// Keys, and the page that tells them.

import {h} from './dom.js';

/** @typedef {{keys: string[], about: string, act: (event: KeyboardEvent) => void}} Key */

/** @type {Key[]} of every page */
let everywhere = [];
/** @type {Key[]} of the page that is shown */
let here = [];

/** @param {Key[]} keys */
export function setEverywhere(keys) {
  everywhere = keys;
}

/** @param {Key[]} keys */
export function setHere(keys) {
  here = keys;
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) {
    return;
  }
  const target = event.target instanceof Element ? event.target : document.body;
  const field = target.closest('select, textarea, input:not([type=range], [type=checkbox])');
  if (field) {
    if (event.key === 'Escape' && field instanceof HTMLElement) {
      field.blur();
    }
    return;
  }
  const name = event.shiftKey && event.key.length > 1 ? 'Shift+' + event.key : event.key;
  const key = [...here, ...everywhere].find((k) => k.keys.includes(name));
  // A button has its own use for these.
  const own = (name === ' ' || name === 'Enter') && target.closest('button, summary, a, label, input');
  if (key && !own) {
    event.preventDefault();
    key.act(event);
  }
}

addEventListener('keydown', pressed, {capture: true});

/** @type {Record<string, string>} */
const shown = {' ': 'space', ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓'};

/** @param {string} key */
const keyName = (key) =>
  shown[key] ?? key.replace(/Arrow(Left|Right|Up|Down)/, (name) => shown[name]).replace('Shift+', 'shift ');

/** showHelp lists all keys that do something now. */
export function showHelp() {
  const list = (/** @type {Key[]} */ keys) => h('dl.keys-list', null, keys.map((k) => h('div', null,
    h('dt', null, k.keys.slice(0, 3).flatMap((key, i) => [i ? ' ' : '', h('kbd', null, keyName(key))])),
      h('dd', null, k.about))));
  const dialog = h('dialog.sheet-dialog', {'aria-labelledby': 'keys-title'},
    h('form', {method: 'dialog'}, h('h2', {id: 'keys-title'}, 'Keys'),
      here.length ? [h('h3', null, 'On this page'), list(here)] : null,
      h('h3', null, 'Everywhere'), list(everywhere),
        h('div.row', null, h('button.button', {autofocus: true}, 'Close'))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
