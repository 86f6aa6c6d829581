// Any address: what is done to its page, and how it is run.

import {h} from '../shared/dom.js';
import {go} from './router.js';
import {field, startForm, textField, withScheme} from './start.js';

/**
 * addressForm asks for an address, and starts a job with it.
 * @param {import('./api.js').Rig} rig
 * @param {import('rig').Device[]} devices
 * @param {import('rig').Tests} suite
 */
export function addressForm(rig, devices, suite) {
  const url = textField({maxlength: 2048, inputmode: 'url', required: true, placeholder: 'example.org'});
  const hover = textField({maxlength: 1000});
  const click = textField({maxlength: 1000});
  const text = textField({maxlength: 1000});
  const scroll = h('input', {type: 'checkbox'});
  const gestures = () => {
    const places = (/** @type {HTMLInputElement} */ of) => of.value.trim() ? [of.value.trim()] : undefined;
    const all = {hover: places(hover), click: places(click), text: text.value || undefined,
      scroll: scroll.checked || undefined};
    return Object.values(all).some((one) => one !== undefined) ? all : undefined;
  };
  return startForm(rig, devices, suite, {
    title: 'An address', repeat: 1, address: true,
    about: 'The page is loaded until it is still. With a network, its site is recorded once and then replayed.',
    fields: [h('div.fields', null, h('label.field.long', null, h('span', null, 'Address'), url)),
      h('details', null, h('summary', null, 'Do something on the page'),
        h('p.quiet-text', null, 'In this order; the last one is measured. A place is a selector of CSS, or X,Y.'),
        h('div.fields', null, field('Hover', hover), field('Click', click), field('Type', text),
          h('label.check', null, scroll, ' scroll')))],
    test: () => ({url: withScheme(url.value.trim()), gestures: gestures()}),
    started: (job) => go(['jobs', job.job]),
  }).form;
}
