// Making nodes. Names from outside become text nodes and attributes, never markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

const svgNames = new Set(['svg', 'path', 'line', 'rect', 'circle', 'text', 'title']);

/**
* h makes an element. Attributes "on…" are listeners. true sets an empty attribute, null and false none.
 * @param {string} name with classes, such as "div.card.result"
 * @param {Record<string, any> | null} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function h(name, attributes, ...children) {
  const [tag, ...classes] = name.split('.');
  const e = svgNames.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag)
    : document.createElement(tag);
  if (classes.length) {
    e.setAttribute('class', classes.join(' '));
  }
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith('on')) {
      e.addEventListener(key.slice(2), value);
    } else if (key === 'value' || key === 'checked' || key === 'disabled') {
      /** @type {any} */ (e)[key] = value;
    } else if (value !== null && value !== undefined && value !== false) {
      e.setAttribute(key, value === true ? '' : String(value));
    }
  }
  append(e, children);
  return e;
}

/**
 * @param {Element} e
 * @param {(Child | Child[])[]} children
 */
function append(e, children) {
  for (const c of children.flat()) {
    if (c !== null && c !== undefined && c !== false) {
      e.append(c instanceof Node ? c : String(c));
    }
  }
}

/**
 * fill replaces what an element contains.
 * @param {Element} e
 * @param {...(Child | Child[])} children
 */
export function fill(e, ...children) {
  e.replaceChildren();
  append(e, children);
}

/**
* arrange gives an element its children in an order. Present ones stay untouched: they may have the focus.
 * @param {Element} e
 * @param {Element[]} children
 */
export function arrange(e, children) {
  for (const old of [...e.children]) {
    if (!children.includes(old)) {
      old.remove();
    }
  }
  children.forEach((child, i) => {
    if (e.children[i] !== child) {
      e.insertBefore(child, e.children[i] ?? null);
    }
  });
}

/**
 * get finds an element that is there.
 * @param {string} id
 * @returns {any}
 */
export function get(id) {
  const e = document.getElementById(id);
  if (!e) {
    throw new Error(`no element ${id}`);
  }
  return e;
}

/**
 * announce tells those who listen to the page rather than look at it.
 * @param {string} text
 */
export function announce(text) {
  get('announcer').textContent = text;
}

/**
 * complain shows what went wrong, until it is closed.
 * @param {unknown} error
 */
export function complain(error) {
  if (error instanceof DOMException && error.name === 'AbortError') {
    return; // somebody changed their mind
  }
  const text = error instanceof Error ? error.message : String(error);
  const toast = h('div.toast', null, h('p', null, text),
    h('button.plain', {'aria-label': 'Close', onclick: () => toast.remove()}, '×'));
  get('toasts').append(toast);
}

/**
 * ask has a question answered.
 * @param {string} question
 * @param {string} detail
 * @param {string} yes what is done then
 * @returns {Promise<boolean>}
 */
export function ask(question, detail, yes) {
  return new Promise((resolve) => {
    const dialog = h('dialog.sheet-dialog', {'aria-labelledby': 'question'},
      h('form', {method: 'dialog'},
        h('h2', {id: 'question'}, question), h('p', null, detail),
        h('div.row', null, h('button.button', {value: 'no', autofocus: true}, 'Cancel'),
          h('button.button.danger', {value: 'yes'}, yes))));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * later calls a function once a burst of calls is over.
 * @param {() => void} f
 * @param {number} ms
 */
export function later(f, ms) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(f, ms);
  };
}
