function (start, state, secrets) {
  'use strict';
  let clock = 0, frame = -1;
  const read = () => (clock += 0.1);
  const now = () => Math.floor(start + read());
  const define = (on, name, value) => Object.defineProperty(on, name,
    {value, writable: true, configurable: true, enumerable: false});

  const Real = Date;
  const Own = new Proxy(Real, {
    construct: (target, values, made) => Reflect.construct(target, values.length ? values : [now()],
      made === Own ? target : made),
    apply: () => new Real(now()).toString(),
  });
  define(Real, 'now', now);
  define(Real.prototype, 'constructor', Own);
  define(self, 'Date', Own);

  define(Performance.prototype, 'now', read);
  Object.defineProperty(Performance.prototype, 'timeOrigin', {get: () => start, configurable: true, enumerable: true});

  const draw = self.requestAnimationFrame;
  self.requestAnimationFrame = function requestAnimationFrame(f) {
    return typeof f !== 'function' ? draw.apply(self, arguments) : draw.call(self, (at) => {
      if (at !== frame) {
        frame = at;
        clock += 1000 / 60;
      }
      f(clock);
    });
  };
  for (const name of ['setTimeout', 'setInterval']) {
    const set = self[name];
    self[name] = {[name](f, delay, ...values) {
      if (typeof f !== 'function') return set.apply(self, arguments);
      const wait = Math.max(0, +delay || 0);
      let due = clock + wait;
      return set.call(self, function () {
        if (due > clock) clock = due;
        due += wait;
        return f.apply(this, values);
      }, delay);
    }}[name];
  }

  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  define(Math, 'random', function random() {
    return ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
  });
  if (secrets && self.Crypto) {
    const fill = Crypto.prototype.getRandomValues;
    const given = function getRandomValues(array) {
      fill.call(this, array);
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let i = 0; i < bytes.length; i++) bytes[i] = next() >>> 11;
      return array;
    };
    define(Crypto.prototype, 'getRandomValues', given);
    if (Crypto.prototype.randomUUID) define(Crypto.prototype, 'randomUUID', function randomUUID() {
      const b = given.call(this, new Uint8Array(16));
      b[6] = b[6] & 15 | 64;
      b[8] = b[8] & 63 | 128;
      const hex = Array.from(b, (x) => x.toString(16).padStart(2, '0')).join('');
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    });
  }
  if (document.currentScript) document.currentScript.remove();
}
