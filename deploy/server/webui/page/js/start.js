// How a test is run: where, how often, over which network, and against what.

import {complain, h} from '../shared/dom.js';

/** @typedef {import('rig').StartParams} StartParams */
/** @typedef {import('rig').Job} Job */

/**
 * field is an input with its name.
 * @param {string} name
 * @param {Element} input
 */
export const field = (name, input) => h('label.field', null, h('span', null, name), input);

/** profileParts are parts of a profile, with their meaning. */
const profileParts = [['samples', 'stacks and waits of each thread'], ['js', 'names of JavaScript functions'],
  ['sockets', 'calls of sockets']];

/**
 * textField is an input of a line.
 * @param {Record<string, any>} [attributes]
 */
export const textField = (attributes) => h('input', {type: 'text', maxlength: 128, autocomplete: 'off', ...attributes});

/**
 * choice is a list of which one is chosen; the first stands for none.
 * @param {string} none
 * @param {string[]} names
 */
const choice = (none, names) => h('select', null, h('option', {value: ''}, none),
  names.map((name) => h('option', {value: name}, name)));

/**
 * StartForm asks how a test is run.
 * @typedef {object} Asked
 * @property {string} title
 * @property {string} about
 * @property {Element[]} [fields] that name the test
 * @property {number} repeat
 * @property {boolean} [address] whether the other side may have another address
 * @property {() => StartParams} test
 * @property {(job: Job) => void} started
 */

/**
 * startForm returns a form that starts a job, and block, which says why it cannot be started now.
 * @param {import('./api.js').Rig} rig
 * @param {import('rig').Device[]} devices
 * @param {import('rig').Tests} suite
 * @param {Asked} asked
 */
export function startForm(rig, devices, {networks, policies}, asked) {
  const browsers = [...new Set(devices.flatMap((d) => d.browsers))];
  const boxes = (/** @type {string[]} */ names, /** @type {(i: number) => boolean} */ on) => names.map((name, i) =>
    h('label.check', null, h('input', {type: 'checkbox', value: name, checked: on(i)}), ' ', name));
  const deviceBoxes = boxes(devices.map((d) => d.name), (i) => i === 0);
  devices.forEach((d, i) => d.state !== 'free' && deviceBoxes[i].append(' ', h('small', null, d.state)));
  const browserBoxes = boxes(browsers, (i) => i === 0);
  const repeat = h('input', {type: 'number', min: 1, max: 10000, value: asked.repeat || 1});
  const network = choice(asked.address ? 'none' : 'its own', networks);
  const policyBoxes = boxes(policies.map((p) => p.name), () => false);
  policies.forEach((p, i) => policyBoxes[i].append(' ', h('small', null, p.meaning)));
  const profileBoxes = boxes(profileParts.map(([name]) => name), () => false);
  profileParts.forEach(([, about], i) => profileBoxes[i].append(' ', h('small', null, about)));
  const profiledOnly = h('input', {type: 'checkbox'});
  const [label, branch, revision] = [textField(), textField(), textField()];
  const noVideo = h('input', {type: 'checkbox'});
  const other = {url: textField({maxlength: 2048, inputmode: 'url', placeholder: 'as A'}),
    network: choice('as A', networks), browser: choice('as A', browsers),
    device: choice('as A', devices.map((d) => d.name))};
  const checked = (/** @type {HTMLElement[]} */ all) => all.map((l) =>
    /** @type {HTMLInputElement} */ (l.querySelector('input'))).filter((box) => box.checked).map((box) => box.value);
  const start = h('button.button.main', {title: 'Start (r)'}, 'Start');
  const why = h('p.refusal', {hidden: true});
  let blocked = '';
  const block = (/** @type {string} */ reason) => {
    blocked = rig.may('run') ? reason : `Your token has the role ${rig.role}: it cannot start tests.`;
    start.disabled = blocked !== '';
    why.hidden = !blocked;
    why.textContent = blocked;
  };
  block('');
  /** variants are both sides, where B differs. */
  const variants = () => {
    const b = Object.fromEntries(Object.entries(other).map(([name, input]) => [name, input.value.trim()])
      .filter(([, value]) => value));
    if (b.url) {
      b.url = withScheme(b.url);
    }
    return Object.keys(b).length ? [{name: 'A'}, {...b, name: 'B'}] : undefined;
  };
  const decides = 8; // blocks of two sides, for a verdict on five values
  Object.values(other).forEach((input) => input.addEventListener('change', () => {
    if (variants() && Number(repeat.value) === (asked.repeat || 1)) {
      repeat.value = Math.max(decides, asked.repeat);
    }
  }));
  const form = h('form.start', null, h('h2', null, asked.title), h('p.about', null, asked.about), asked.fields ?? null,
    h('fieldset', null, h('legend', null, 'Devices'), deviceBoxes),
    h('fieldset', null, h('legend', null, 'Browsers'), browserBoxes),
    h('div.fields', null, field('Network', network), field('Repeat', repeat)),
    h('details.against', null, h('summary', null, 'Compare with a second side, B'),
      h('p.quiet-text', null, 'A and B take turns in random blocks. What is not set is as in A.'),
      h('div.fields', null, asked.address ? field('Address of B', other.url) : null,
        field('Network of B', other.network), field('Browser of B', other.browser),
        field('Device of B', other.device))),
    h('details.policies', null, h('summary', null, 'Instrument scripts'),
      h('p.quiet-text', null, 'Measuring code names the functions behind late frames. It adds load. Without a choice, ',
        'the test decides.'), h('fieldset', null, h('legend', null, 'Policies'), policyBoxes)),
    h('details.profiles', null, h('summary', null, 'Profile the browser'),
      h('p.quiet-text', null, 'Profilers show what ran and what waited before late frames. They slow the browser. ',
        'Several runs take turns with plain ones, and the difference is the cost of the profile. ',
        'Without a choice, the test decides.'),
      h('fieldset', null, h('legend', null, 'Parts of the profile'), profileBoxes),
      h('label.check', null, profiledOnly, ' no plain runs')),
    h('details', null, h('summary', null, 'Labels and files'), h('div.fields', null, field('Label', label),
      field('Branch', branch), field('Revision', revision), h('label.check', null, noVideo, ' no video'))),
    why, h('div.row', null, start));
  let waits = false; // for the answer: who presses again before that means the same
  const ask = (/** @type {boolean} */ now) => {
    waits = now;
    start.ariaDisabled = now ? 'true' : null;
  };
  form.addEventListener('submit', async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (waits || blocked) {
      return;
    }
    ask(true);
    try {
      const wanted = checked(deviceBoxes);
      const on = other.device.value ? [...wanted, other.device.value] : wanted;
      const now = await rig.call('device.list', {}); // which are reserved may have changed
      asked.started(await rig.call('run.start', {
        ...asked.test(), devices: wanted, browsers: checked(browserBoxes), repeat: Number(repeat.value) || 1,
        network: network.value || undefined, variants: variants(),
        script: checked(policyBoxes).length ? checked(policyBoxes) : undefined,
        profile: checked(profileBoxes).join() || undefined, profiled_only: profiledOnly.checked || undefined,
        label: label.value.trim() || undefined, branch: branch.value.trim() || undefined,
        revision: revision.value.trim() || undefined, no_video: noVideo.checked || undefined,
        reservation: now.devices.filter((d) => on.includes(d.name)).map((d) => rig.reservation(d)).find((key) =>
          key !== undefined),
      }));
    } catch (error) {
      complain(error);
    } finally {
      ask(false);
    }
  });
  return {form, block};
}

/**
 * withScheme is an address as a rig takes it. A host alone is one of https.
 * @param {string} text
 */
export const withScheme = (text) => text.includes('://') ? text : `https://${text}`;
