// What a comparison says, in words first.

import {h} from '../shared/dom.js';
import {doubts, functions, others, primary, test, verdict} from '../shared/compared.js';

/**
 * statistics shows the outcome, the primary values, what to know before believing them, and the others folded.
 * @param {import('rig').Compared} compared
 */
export function statistics({outcome, sentence, comparison: c}) {
  const told = verdict(outcome, sentence, c);
  return [h('h2', null, 'In words'),
    h('p.outcome', null, h(`span.state.${told.look}`, null, `${told.mark} ${told.text}`), ' ', told.sentence),
    ...c ? [primary(c), functions(c), test(c), doubts(c), ...others(c)] : []];
}
