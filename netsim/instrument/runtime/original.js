// The page reads its own texts: insertions are enclosed in marks, and original removes them.
const letters = nonce.slice(1), lastIndexOf = method(String, 'lastIndexOf');
const weakGet = method(WeakMap, 'get'), weakSet = method(WeakMap, 'set');
const apply = Reflect.apply, construct = Reflect.construct, getPrototypeOf = Object.getPrototypeOf;

// without removes the parts of a text from a begin to the next end. Without an end, the part is the rest.
const without = (text, begin, end, kept) => {
  let out = '', from = 0;
  for (;;) {
    const at = indexOf(text, begin, from);
    if (at < 0) return out + slice(text, from);
    out += slice(text, from, at) + kept;
    const to = indexOf(text, end, at + begin.length);
    if (to < 0) return out;
    from = to + end.length;
  }
};

// Addresses have escaped marks. The prelude is between two comments, in documents and in attributes.
const marks = ['\u000b', '\f', '%0B', '%0C'], angles = ['<', '>', '&lt;', '&gt;'], comment = '/*' + letters + '*/';

// original returns a text of the page without insertions.
const original = text => {
  if (typeof text !== 'string' || indexOf(text, letters) < 0) return text;
  text = without(text, 'data-integrity' + letters, '', 'integrity');
  for (let i = 0; i < angles.length; i += 2) {
    const open = angles[i], close = angles[i + 1];
    text = without(text, open + 'script' + close + comment, comment + open + '/script' + close, '');
  }
  const name = indexOf(text, nonce);
  let mark = '', last = -1;
  for (let i = 0; i < marks.length && name >= 0; i++) {
    const at = lastIndexOf(text, marks[i], name);
    if (at > last) {
      mark = marks[i];
      last = at;
    }
  }
  return mark ? without(text, mark, mark, '') : text;
};

// conceal lets a function of the runtime have the text, name and length of a native one.
const conceal = (made, native) => {
  weakSet(natives, made, native);
  for (const key of ['name', 'length']) {
    const found = descriptor(native, key);
    if (found && found.configurable) defineProperty(made, key, found);
  }
  return made;
};

// replace puts make(native) in the place of a native function: a method, or the getter or setter of a property.
const replace = (type, key, make, of = 'value') => {
  let object = typeof type === 'string' ? realm[type] && realm[type].prototype : type;
  while (object && !descriptor(object, key)) object = getPrototypeOf(object);
  const found = object && descriptor(object, key);
  if (!found || !found[of] || !found.configurable || weakGet(natives, found[of])) return;
  found[of] = conceal(make(found[of]), found[of]);
  defineProperty(object, key, found);
};

// replaceClass puts a proxy in the place of a native constructor. The function make may change the arguments.
const replaceClass = (native, make) => {
  const changed = new Proxy(native, {
    __proto__: null,
    apply(target, self, given) { return make(given, () => apply(target, self, given)); },
    construct(target, given, as) {
      return make(given, () => construct(target, given, as === changed ? target : as));
    },
  });
  weakSet(natives, changed, native);
  const found = descriptor(native.prototype, 'constructor');
  found.value = changed;
  defineProperty(native.prototype, 'constructor', found);
  const name = native.name, global = descriptor(realm, name);
  if (!global || global.value !== native) return;
  global.value = changed;
  defineProperty(realm, name, global);
};

const readsOriginal = native => ({f() { return original(apply(native, this, arguments)); }}).f;

const source = method(Function, 'toString');
replace('Function', 'toString', () => ({
  toString() { return original(source(weakGet(natives, this) || this)); },
}).toString);
for (const [type, key] of [['Node', 'textContent'], ['Node', 'nodeValue'], ['CharacterData', 'data'],
  ['Text', 'wholeText'], ['Attr', 'value'], ['HTMLScriptElement', 'text'], ['HTMLScriptElement', 'textContent'],
  ['HTMLScriptElement', 'innerText'], ['HTMLAnchorElement', 'href'], ['HTMLIFrameElement', 'srcdoc'],
  ['Element', 'innerHTML'], ['Element', 'outerHTML'], ['ShadowRoot', 'innerHTML'], ['HTMLElement', 'innerText'],
  ['HTMLElement', 'outerText']]) replace(type, key, readsOriginal, 'get');
for (const [type, key] of [['Element', 'getAttributeNS'], ['Element', 'getHTML'],
  ['ShadowRoot', 'getHTML'], ['XMLSerializer', 'serializeToString'], ['CharacterData', 'substringData']])
  replace(type, key, readsOriginal);
