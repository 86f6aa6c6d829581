// A test file that is written here: its problems as the rig sees them, and the keys that it may have.

import {announce, complain, fill, h, later} from '../shared/dom.js';
import {counted} from '../shared/words.js';
import {go} from './router.js';
import {above, hints} from './schema.js';
import {startForm} from './start.js';

const file = 'test.yaml';
const draft = 'eideticker-draft';
const first = `name: my-test
about: What it is for
page: /load.html
sync: markers
`;

/** store is where a draft outlives a reload, where the browser allows that. */
function store() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

/**
 * testEditor edits a test file and starts a job with it.
 * @param {import('./api.js').Rig} rig
 * @param {import('rig').Device[]} devices
 * @param {import('rig').Tests} suite
 * @param {AbortSignal} signal
 * @param {string} [copied] text to begin with
 */
export async function testEditor(rig, devices, suite, signal, copied) {
  const schema = await rig.call('suite.schema', {});
  const text = h('textarea.code', {id: 'test-file', rows: 18, spellcheck: 'false', autocapitalize: 'off', wrap: 'off',
    'aria-describedby': 'test-problems', 'aria-label': 'Test file', maxlength: 65536,
    value: copied ?? store()?.getItem(draft) ?? first});
  const problems = h('div.problems', {id: 'test-problems', role: 'status'});
  const keys = h('ul.schema-keys');
  const place = h('p.quiet-text');
  const upload = () => ({test: file, files: {[file]: text.value}});
  const {form, block} = startForm(rig, devices, suite, {
    title: 'A test file', about: 'It is sent along, and sees only itself.', repeat: 1,
    test: () => ({upload: upload()}), started: (job) => go(['jobs', job.job]),
  });

  /** @param {number} line from 1 @param {number} column */
  const goTo = (line, column) => {
    const lines = text.value.split('\n');
    const at = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0) + Math.max(0, column - 1);
    text.focus();
    text.setSelectionRange(at, at);
    text.scrollTop = Math.max(0, text.scrollHeight * (line - 4) / lines.length);
  };
  let asked = 0;
  const check = async () => {
    if (!rig.may('run')) {
      return;
    }
    const mine = ++asked;
    try {
      const found = await rig.call('suite.check', {upload: upload()});
      if (mine !== asked || signal.aborted) {
        return; // the text has changed since
      }
      const n = found.problems.length;
      block(n ? `The file has ${counted(n, 'problem')}.` : '');
      fill(problems, n ? h('ul', null, found.problems.map((p) => h('li', null, p.line
        ? [h('button.link', {type: 'button', onclick: () => goTo(p.line, p.column)},
          `${p.file}, line ${p.line}, column ${p.column}`), `: ${p.problem}`] : p.problem)))
        : h('p.fine', null, `✓ ${found.name} has no problem`));
    } catch (error) {
      block('The file was not checked.');
      complain(error);
    }
  };
  const soon = later(check, 300);

  const upToCaret = () => text.value.slice(0, text.selectionStart).split('\n');
  /** word is what is being written: the beginning of a key, or nothing. */
  const word = (/** @type {string} */ line) => /^\s*(?:-\s+)?([A-Za-z0-9_-]*)$/.exec(line)?.[1];
  const insert = (/** @type {string} */ key) => {
    const lines = upToCaret();
    const begun = word(lines[lines.length - 1]);
    const at = text.selectionStart - (begun ?? '').length;
    const before = begun === undefined ? '\n' : '';
    text.focus();
    text.setRangeText(`${before}${key}: `, at, text.selectionEnd, 'end');
    text.dispatchEvent(new Event('input'));
    announce(`${key} is written`);
  };
  let shown = '';
  const suggest = () => {
    const lines = upToCaret();
    const path = above(lines);
    const begun = word(lines[lines.length - 1]) ?? '';
    const all = hints(schema, path);
    const like = all.filter((k) => k.key.startsWith(begun));
    const now = path.join('/') + ' ' + begun;
    if (now === shown) {
      return;
    }
    shown = now;
    place.textContent = all.length ? `of ${path.filter((p) => p !== '-').join(', ') || 'the test'}`
      : 'There are no keys at this place.';
    fill(keys, (like.length ? like : all).map((k) => h('li', null,
      h('button.link', {type: 'button', onclick: () => insert(k.key)}, k.key), ' ', h('small', null, k.about,
        k.example ? [' ', h('code', null, k.example)] : null))));
  };
  text.addEventListener('input', () => {
    asked++; // earlier answers are of another text
    block('The file is being checked.');
    store()?.setItem(draft, text.value);
    soon();
    suggest();
  });
  for (const event of ['keyup', 'click', 'focus']) {
    text.addEventListener(event, suggest);
  }
  suggest();
  await check();
  return {form, editor: h('section.card', {'aria-label': 'Test file'},
    h('h2', null, 'Test file'), text, problems),
    keys: h('section.card', {'aria-label': 'Keys of a test file'}, h('h2', null, 'Keys'), place, keys)};
}
