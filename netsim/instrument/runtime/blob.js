// A page may copy the text of a function into the file of a worker. The inserted names must exist there.
if (NativeBlob) {
  const construct = Reflect.construct, isArray = Array.isArray;
  const source = method(Function, 'toString');
  const hasNames = part => typeof part === 'string' ? indexOf(part, nonce) >= 0 :
    typeof part === 'function' && indexOf(source(part), nonce) >= 0;
  const needsGuard = parts => {
    if (isArray(parts)) for (let i = 0; i < parts.length; i++) if (hasNames(parts[i])) return true;
    return false;
  };
  // guarded returns the parts behind a guard. A directive stays the first statement.
  const guarded = parts => {
    const isStrict = indexOf(slice(typeof parts[0] === 'string' ? parts[0] : '', 0, 20), 'use strict') > 0;
    const all = [(isStrict ? '"use strict";' : '') + guard];
    for (let i = 0; i < parts.length; i++) all[i + 1] = parts[i];
    return all;
  };
  const Guarded = new Proxy(NativeBlob, {
    __proto__: null,
    construct(target, given, made) {
      if (needsGuard(given[0])) given[0] = guarded(given[0]);
      return construct(target, given, made === Guarded ? target : made);
    },
  });
  defineProperty(NativeBlob.prototype, 'constructor', {__proto__: null, value: Guarded});
  defineProperty(realm, 'Blob', {__proto__: null, value: Guarded});
}
