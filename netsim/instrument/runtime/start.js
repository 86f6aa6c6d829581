// Each realm has one runtime. Its number is random.
const kind = !page ? 3 : realm === realm.top ? 1 : 2;
const number = crypto.getRandomValues(new Uint32Array(1))[0] || 1;
// Functions of the runtime and the native ones that they replace. Realms of one origin share the table.
const natives = (() => {
  try {
    if (realm.parent !== realm && realm.parent['P' + nonce]) return realm.parent['P' + nonce];
  } catch (e) {
    // The parent has another origin.
  }
  return new WeakMap();
})();
hide('P', natives);
put(START, 0, now());
detail({__proto__: null, kind: 'realm', url: address(realm.location.href)}, now());
