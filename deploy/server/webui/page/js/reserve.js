// For how long a device is reserved, and why.

import {h} from '../shared/dom.js';

const hour = 3600e9; // ns

/**
 * askReservation has somebody say for how long; null: not at all.
 * @param {string} device
 * @returns {Promise<{for_ns: number, note?: string} | null>}
 */
export function askReservation(device) {
  return new Promise((resolve) => {
    const time = h('select', {autofocus: true},
      Object.entries({'15 minutes': 0.25, '1 hour': 1, '4 hours': 4, '1 day': 24}).map(([text, hours]) =>
        h('option', {value: hours * hour}, text)));
    const note = h('input', {type: 'text', maxlength: 128});
    const field = (/** @type {string} */ name, /** @type {Element} */ input) =>
      h('label.field', null, h('span', null, name), input);
    const dialog = h('dialog.sheet-dialog', {'aria-labelledby': 'question'},
      h('form', {method: 'dialog'},
        h('h2', {id: 'question'}, `Reserve ${device}?`), h('p', null,
          'Only this browser window can use it then. Its current job ends first.'),
        h('div.fields', null, field('For', time), field('Note for others', note)),
        h('div.row', null, h('button.button.main', {value: 'yes'}, 'Reserve'),
          h('button.button', {value: 'no'}, 'Cancel'))));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes' ? {for_ns: Number(time.value), note: note.value.trim() || undefined} : null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
