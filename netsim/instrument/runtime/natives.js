// Natives are saved before the page can replace them. Later calls look up nothing that a page can change:
// no methods, no iterators, no regular expressions, and no objects with a prototype.
const realm = self, page = realm.document;
// A page may load a worker's file, which has a prelude too. Its element stays.
const element = page && page.currentScript && !page.currentScript.src ? page.currentScript : null;
const own = element ? element.text : '';
if (element) element.remove();
if (realm['P' + nonce]) return;
// hide defines a global that programs find by its name only.
const hide = (name, value) => {
  Object.defineProperty(realm, name + nonce, {value, configurable: false, enumerable: false, writable: false});
};
if (!realm.fetch || !realm.queueMicrotask || !realm.crypto || !realm.TextEncoder) {
  for (let i = 0; i < names.length; i++) hide(names[i], (d, value) => value);
  return;
}
// uncurry(f)(x, y) calls f with this = x.
const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const descriptor = Object.getOwnPropertyDescriptor, defineProperty = Object.defineProperty;
const getter = (type, name) => {
  const found = type && descriptor(type.prototype, name);
  return found && found.get ? uncurry(found.get) : () => undefined;
};
const method = (type, name) => type && type.prototype[name] ? uncurry(type.prototype[name]) : () => undefined;
const bound = name => realm[name] ? realm[name].bind(realm) : undefined;
const now = performance.now.bind(performance);
const timeOrigin = performance.timeOrigin || Date.now() - now();
const request = bound('fetch'), timer = bound('setTimeout'), whenIdle = bound('requestIdleCallback');
const microtask = bound('queueMicrotask'), listen = bound('addEventListener');
const beacon = realm.navigator && navigator.sendBeacon ? navigator.sendBeacon.bind(navigator) : () => false;
const status = getter(realm.Response, 'status'), textOf = method(realm.Response, 'text');
const stringify = JSON.stringify, encoder = new TextEncoder(), encode = method(TextEncoder, 'encode');
const slice = method(String, 'slice'), indexOf = method(String, 'indexOf');
const setBytes = uncurry(Object.getPrototypeOf(Uint8Array.prototype).set);
const part = uncurry(Object.getPrototypeOf(Uint8Array.prototype).subarray);
const setPrototypeOf = Object.setPrototypeOf;
const Bytes = Uint8Array, Words = Uint32Array, Floats = Float64Array, View = DataView;
const NativeBlob = realm.Blob, NativePromise = Promise, NativeURL = realm.URL;
const setUint32 = method(DataView, 'setUint32'), setFloat64 = method(DataView, 'setFloat64');
const floor = Math.floor, min = Math.min, max = Math.max;
const memory = null; // of the ring, if another thread sees it

// address returns a URL without query and fragment, of at most 1,000 characters.
const address = url => {
  url = slice(typeof url === 'string' ? url : '', 0, 1000);
  if (slice(url, 0, 5) === 'data:') return 'data:';
  let end = 0;
  while (end < url.length && url[end] !== '?' && url[end] !== '#') end++;
  return slice(url, 0, end);
};
