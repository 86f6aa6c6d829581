// The rig checks the integrity of scripts. A browser would compare it with the changed text.
const attribute = method(realm.Element, 'getAttribute'), setAttribute = method(realm.Element, 'setAttribute');
const Script = realm.HTMLScriptElement, nativeText = Script && uncurry(descriptor(Script.prototype, 'text').set);
const isScript = element => !!Script && getPrototypeOf(element) === Script.prototype;
const lowerCase = method(String, 'toLowerCase'), renamed = 'data-integrity' + letters;
replace('HTMLScriptElement', 'integrity', native => ({
  get() { return apply(native, this, arguments) || attribute(this, renamed) || ''; },
}).get, 'get');
replace('HTMLScriptElement', 'integrity', () => ({set(value) { setAttribute(this, renamed, value); }}).set, 'set');
replace('Element', 'getAttribute', native => ({
  getAttribute(key) {
    const found = apply(native, this, arguments);
    return found === null && key === 'integrity' ? attribute(this, renamed) : original(found);
  },
}).getAttribute);
