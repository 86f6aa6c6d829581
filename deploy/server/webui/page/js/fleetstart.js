// A job for any fitting device of a fleet.

import {announce, complain, fill, h} from '../shared/dom.js';
import {counted} from '../shared/words.js';
import {labelsOf} from './fleetrigs.js';
import {field, textField, withScheme} from './start.js';

/** @typedef {import('rig').FleetRig} FleetRig */

const shownLabels = 30;

/**
 * fits reports whether a device has all labels, such as "os=linux,android". The hub decides.
 * @param {string[]} needs
 * @param {{labels: {[name: string]: string}}} device
 */
export const fits = (needs, {labels}) => needs.every((need) => {
  const [key, values] = [need.slice(0, need.indexOf('=')), need.slice(need.indexOf('=') + 1)];
  const has = (labels?.[key] ?? '').split(',');
  return values.split(',').some((v) => v.trim() !== '' && has.includes(v.trim()));
});

/** @param {import('rig').FleetDevice} d each value of a label that is a list alone */
const singles = (d) => labelsOf(d).flatMap((l) => {
  const [key, values] = [l.slice(0, l.indexOf('=')), l.slice(l.indexOf('=') + 1)];
  return values.split(',').map((v) => `${key}=${v}`);
});

/**
 * jobForm asks for a test and labels of devices.
 * @param {import('./api.js').Rig} rig
 * @param {() => FleetRig[]} rigs
 * @param {() => void} started
 */
export function jobForm(rig, rigs, started) {
  const test = textField({required: true, list: 'fleet-tests', placeholder: 'framerate or example.org',
    maxlength: 2048});
  const tests = h('datalist', {id: 'fleet-tests'});
  const needs = textField({placeholder: 'any device', maxlength: 1000, oninput: () => show()});
  const browsers = textField({placeholder: 'the device’s first'});
  const repeat = h('input', {type: 'number', min: 1, max: 10000});
  const label = textField();
  const kind = h('select', null, [['now', 'now: you wait for it'], ['check', 'check: a program waits'],
    ['watch', 'watch: runs of each build'], ['fill', 'fill: idle time only']].map(([value, text]) =>
    h('option', {value}, text)));
  const replace = h('input', {type: 'checkbox'});
  const [labels, count] = [h('div.choices.labels'), h('p.quiet-text', {role: 'status'})];
  const start = h('button.button.main', null, 'Start');
  const wanted = () => needs.value.trim().split(/\s+(?=\S+=)/).filter(Boolean); // values may have spaces
  const show = () => {
    const devices = rigs().flatMap((r) => r.devices.map((d) => ({...d, rig: r.rig})));
    const fit = devices.filter((d) => fits(wanted(), d));
    count.textContent = fit.length ? `${counted(fit.length, 'device')} of ${counted(new Set(fit.map((d) => d.rig)).size,
      'rig')} ${fit.length === 1 ? 'fits' : 'fit'}` : 'No device fits: the hub will refuse this';
    const of = [...new Set((fit.length ? fit : devices).flatMap((d) => singles(d)))].sort();
    fill(labels, of.slice(0, shownLabels).map((l) => h('button.label-choice', {type: 'button',
      'aria-pressed': String(wanted().includes(l)), onclick: () => toggle(l)}, l)));
  };
  const toggle = (/** @type {string} */ l) => {
    const now = wanted();
    needs.value = (now.includes(l) ? now.filter((/** @type {string} */ n) => n !== l) : [...now, l]).join(' ');
    show();
    /** @type {any} */ ([...labels.children].find((b) => b.textContent === l))?.focus();
  };
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (start.ariaDisabled) {
      return; // the first press has no answer yet
    }
    start.ariaDisabled = 'true';
    const what = test.value.trim();
    const known = new Set([...tests.children].map((o) => o.getAttribute('value')));
    const kinds = browsers.value.split(/[\s,]+/).filter(Boolean);
    try {
      const job = await rig.call('job.start', {...known.has(what) || !what.includes('.')
        ? {test: what} : {url: withScheme(what)}, needs: wanted(), class: kind.value,
      replace: replace.checked || undefined, repeat: Number(repeat.value) || undefined,
      browsers: kinds.length ? kinds : undefined, label: label.value.trim() || undefined});
      announce(`${job.test || what} is queued`);
      started();
    } catch (error) {
      complain(error);
    } finally {
      start.ariaDisabled = null;
    }
  };
  const opened = async () => {
    show();
    if (!tests.firstChild) {
      const all = await rig.call('suite.list', {}).catch(() => ({tests: []}));
      fill(tests, all.tests.map((t) => h('option', {value: t.name}, t.about)));
    }
  };
  return h('details.start', {ontoggle: opened}, h('summary', null, 'Start a job'), h('form', {onsubmit: submit},
    h('div.fields', null, field('Test or address', test), tests, field('Browsers', browsers), field('Repeat', repeat),
      field('Class', kind), field('Label', label)),
    h('div.fields', null, h('label.field.long', null, h('span', null,
      'Needs: labels, all of which must fit; commas separate values'), needs)),
    labels, count,
    h('label.check', null, replace, ' another device may do it after a lost rig or a fault of the lab'),
    h('div.row', null, start)));
}
