// A module of all that tracer.js wraps. It counts its calls.
const {EventEmitter} = require('events'), {Readable} = require('stream');
const counts = exports.counts = {__proto__: null};
const count = name => { counts[name] = (counts[name] || 0) + 1; };
class Base { base() { count('Base.prototype.base'); return this; } }
exports.Base = Base;
exports.Cache = class Cache extends Base {
  static #made = 0;
  static make(key) { count('Cache.make'); Cache.#made++; return new exports.Cache(key); }
  static made() { count('Cache.made'); return this.#made; }
  #secret = 7;
  constructor(key) { super(); count('Cache'); this.key = key; this.target = new.target === Cache; }
  get secret() { return this.#secret; }
  find(key, done) { count('Cache.prototype.find'); setTimeout(() => done(null, key + this.#secret), 5); }
};
exports.plain = function original(a, b = 2, ...c) { count('plain'); return a + b; };
exports.throws = () => { count('throws'); throw new TypeError('thrown'); };
exports.each = (list, f) => { count('each'); return list.map(x => f(x)); };
exports.later = f => { count('later'); return Promise.resolve(1).then(() => f(2)); };
exports.wait = async n => { count('wait'); await null; return n; };
exports.emitter = new EventEmitter();
exports.listen = f => { count('listen'); exports.emitter.on('x', f); return () => exports.emitter.removeListener('x', f); };
exports.isKind = (error, type) => { count('isKind'); return error instanceof type && type === TypeError; };
exports.deep = n => { count('deep'); return n ? exports.deep(n - 1) : 0; };
exports.Source = class extends Readable { _read() { this.push(null); } };
exports.a = {b: {c: {d: {e: {f() { count('too deep'); }}}}}};
