// Who looks from elsewhere says who they are.

import {fill, h} from '../shared/dom.js';

/**
 * @param {Element} main
 * @param {import('./api.js').Rig} rig
 */
export function loginPage(main, rig) {
  const token = h('input', {type: 'password', id: 'token', autocomplete: 'current-password', required: true});
  const problem = h('p.problem', {role: 'alert'});
  const form = h('form.card.login', null,
    h('h1', null, 'Log in'),
    h('p.about', null, 'This rig needs a token. Its owner makes one with ',
      h('code', null, 'eideticker serve token add'), '.'),
    // that keepers of passwords ask for
    h('input', {type: 'text', autocomplete: 'username', value: 'token', hidden: true}),
    h('label', {for: 'token'}, 'Token'), token, problem, h('div.row', null, h('button.button.main', null, 'Log in')));
  form.addEventListener('submit', async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await rig.login(token.value.trim());
    } catch (error) {
      problem.textContent = error instanceof Error ? error.message : String(error);
    }
  });
  fill(main, form);
  token.focus();
}
