// The rig checks the integrity of scripts. A browser would compare it with the changed text.
const Script = realm.HTMLScriptElement, integrity = Script && descriptor(Script.prototype, 'integrity');
if (integrity && integrity.set) {
  const get = uncurry(integrity.get), attribute = method(Element, 'getAttribute');
  const setAttribute = method(Element, 'setAttribute'), lowerCase = method(String, 'toLowerCase');
  const name = 'data-integrity' + nonce.slice(1);
  defineProperty(Script.prototype, 'integrity', {
    __proto__: null, configurable: true, enumerable: true,
    get() { return get(this) || attribute(this, name) || ''; },
    set(value) { setAttribute(this, name, value); },
  });
  defineProperty(Script.prototype, 'setAttribute', {
    __proto__: null, configurable: true, enumerable: false, writable: true,
    value: {setAttribute(key, value) {
      const isIntegrity = typeof key === 'string' && lowerCase(key) === 'integrity';
      return setAttribute(this, isIntegrity ? name : key, value);
    }}.setAttribute,
  });
}
