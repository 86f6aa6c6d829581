// The keys that a test file may have at a line of its text, by its JSON Schema.

/**
 * @typedef {object} Schema
 * @property {string} [description]
 * @property {string} [$ref]
 * @property {Record<string, Schema>} [properties]
 * @property {Record<string, Schema>} [$defs]
 * @property {Schema} [items]
 * @property {Schema[]} [anyOf]
 * @property {Schema[]} [oneOf]
 * @property {Schema[]} [allOf]
 * @property {unknown[]} [examples]
 */

/** @typedef {{key: string, about: string, example: string}} Hint */

/**
 * above are the keys that a line of YAML is below, the outermost first; '-' is an entry of a list.
 * @param {string[]} lines up to the one that is asked for, that one included
 */
export function above(lines) {
  const depth = (/** @type {string} */ line) => line.search(/\S/);
  const last = lines[lines.length - 1];
  /** @type {string[]} */
  const path = [];
  let inside = depth(last) < 0 ? last.length : depth(last);
  const entry = /^(\s*)-(\s+|$)/;
  if (entry.test(last)) {
    path.unshift('-');
  }
  for (const line of lines.slice(0, -1).reverse()) {
    const at = depth(line);
    const key = /^\s*(?:-\s+)?["']?([A-Za-z0-9_.-]+)["']?\s*:/.exec(line)?.[1];
    const item = entry.exec(line);
    if (at < 0 || line[at] === '#') {
      continue;
    }
    if (item && at < inside) { // a key after a dash is deeper than the dash
      if (key && at + item[0].length - item[1].length < inside) {
        path.unshift(key);
      }
      path.unshift('-');
      inside = at;
    } else if (key && !item && (at < inside || at === inside && path[0] === '-' && !/:\s*\S/.test(line))) {
      path.unshift(key);
      inside = at;
    }
  }
  return path;
}

/**
 * hints are the keys that a schema has below a path.
 * @param {Schema} root
 * @param {string[]} path
 * @returns {Hint[]}
 */
export function hints(root, path) {
  const parts = (/** @type {Schema | undefined} */ s, /** @type {number} */ depth = 0) => {
    /** @type {Schema[]} */
    const all = [];
    if (s && depth < 8) {
      const of = s.$ref ? root.$defs?.[s.$ref.replace('#/$defs/', '')] : undefined;
      all.push(s, ...parts(of, depth + 1));
      for (const one of [...s.anyOf ?? [], ...s.oneOf ?? [], ...s.allOf ?? []]) {
        all.push(...parts(one, depth + 1));
      }
    }
    return all;
  };
  let now = parts(root);
  for (const key of path) {
    now = now.flatMap((s) => parts(key === '-' ? s.items : s.properties?.[key]));
  }
  /** @type {Map<string, Hint>} */
  const found = new Map();
  for (const s of now) {
    for (const [key, value] of Object.entries(s.properties ?? {})) {
      const all = parts(value);
      const example = all.find((one) => one.examples)?.examples?.[0];
      found.set(key, {key, about: all.find((one) => one.description)?.description ?? '',
        example: example === undefined ? '' : typeof example === 'string' ? example : JSON.stringify(example)});
    }
  }
  return [...found.values()];
}
