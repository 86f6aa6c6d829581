// Objects of the page are read without its code: no getters, no traps of proxies, no patched methods.
const objects = (() => {
  const isView = ArrayBuffer.isView, isList = Array.isArray, ownKeys = Reflect.ownKeys;
  const prototypeOf = Object.getPrototypeOf, hasOwn = method(Object, 'hasOwnProperty');
  const hasWeak = method(WeakSet, 'has'), addWeak = method(WeakSet, 'add');
  const typeOfNode = getter(realm.Node, 'nodeType'), nodes = realm.Node && realm.Node.prototype;

  const isObject = v => typeof v === 'object' ? v !== null : typeof v === 'function';
  // list returns an array without the setters that a page may add to all arrays.
  const list = () => setPrototypeOf([], null);

  // Proxies look like objects, so each one is remembered. Those of other realms are not known.
  const proxies = new WeakSet(), isProxy = v => hasWeak(proxies, v), NativeProxy = Proxy;
  const Watched = new NativeProxy(NativeProxy, {
    __proto__: null,
    construct(target, given) {
      const made = construct(target, given);
      addWeak(proxies, made);
      return made;
    },
  });
  replace(NativeProxy, 'revocable', native => ({revocable(target, handler) {
    const made = native(target, handler);
    addWeak(proxies, made.proxy);
    return made;
  }}).revocable);
  weakSet(natives, Watched, NativeProxy);
  defineProperty(realm, 'Proxy', {__proto__: null, value: Watched});

  // isNode reports whether an object is a node of this realm's documents.
  const isNode = v => {
    let levels = 0;
    for (let p = v; nodes && p !== null && levels < 16 && !isProxy(p); p = prototypeOf(p), levels++) {
      if (p !== nodes) continue;
      try {
        return typeOfNode(v) > 0;
      } catch (e) {
        return false; // only its prototype is a node's
      }
    }
    return false;
  };

  // eachField calls visit(key, value, isData) for own properties of an object: at most the first and last 100.
  const MOST_READ = 100;
  const eachField = (object, visit) => {
    if (isProxy(object) || object === realm || object === page || isView(object)) return;
    let keys = null, count = 0;
    if (isList(object)) count = descriptor(object, 'length').value;
    else count = (keys = ownKeys(object)).length;
    for (let i = 0; i < count; i++) {
      if (i === MOST_READ && count > 2 * MOST_READ) i = count - MOST_READ;
      const key = keys ? keys[i] : i;
      if (key === 'prototype' || key === 'arguments' || key === 'caller') continue;
      const found = descriptor(object, key), isData = found && hasOwn(found, 'value');
      if (found) visit(key, isData ? found.value : undefined, isData);
    }
  };
  return {
    __proto__: null, isObject, isList, isProxy, isNode, list, eachField, NativeMap: Map, NativeWeakMap: WeakMap,
    NativeWeakSet: WeakSet, mapGet: method(Map, 'get'), mapSet: method(Map, 'set'), mapSize: getter(Map, 'size'),
    hasWeak, addWeak,
  };
})();
