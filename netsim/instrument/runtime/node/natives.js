// Natives of a Node program, by the names of the parts for pages. Folder and start are constants of the prelude.
const realm = globalThis, page = null;
if (realm['P' + nonce]) return;
const fs = require('fs'), path = require('path'), Module = require('module'), hooks = require('async_hooks');
const {isMainThread, threadId, Worker} = require('worker_threads'), {getHeapStatistics} = require('v8');
const {isPromise} = require('util').types, {fileURLToPath} = require('url');
const {openSync, closeSync, readSync, writeSync, writevSync, unlinkSync} = fs, hrtime = process.hrtime.bigint;
// A callback belongs to the call that planned it. The one or two promises of an await belong to none.
let skips = 0, skipsAt = 0;
const hide = (name, value) => {
  if (name === 's') {
    const s = value;
    value = (d, value) => {
      s(d, value);
      skips = isPromise(value) ? 1 : 2;
      skipsAt = head;
      return value;
    };
  }
  Object.defineProperty(realm, name + nonce, {value, configurable: false, enumerable: false, writable: false});
};
const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const method = (type, name) => uncurry(type.prototype[name]);
const now = performance.now.bind(performance), timeOrigin = performance.timeOrigin;
const queue = queueMicrotask, immediate = setImmediate, interval = setInterval, whenIdle = undefined;
const stringify = JSON.stringify, encoder = new TextEncoder(), encode = method(TextEncoder, 'encode');
const slice = method(String, 'slice'), indexOf = method(String, 'indexOf'), NativeBlob = Blob, Bytes = Uint8Array;
const Words = Uint32Array, Floats = Float64Array, View = DataView;
const setBytes = uncurry(Object.getPrototypeOf(Uint8Array.prototype).set), NativePromise = Promise;
const part = uncurry(Object.getPrototypeOf(Uint8Array.prototype).subarray);
const setPrototypeOf = Object.setPrototypeOf, descriptor = Object.getOwnPropertyDescriptor, names = [];
const setUint32 = method(DataView, 'setUint32'), setFloat64 = method(DataView, 'setFloat64');
const floor = Math.floor, min = Math.min, base = '', status = answer => answer, beacon = () => false;
// kind and number are those of the realm. Its records are in a file of its own.
const kind = 4, number = floor(Math.random() * 4294967295) + 1;
// Another thread sees the ring, the number of the next batch, and the first record that is not written.
const memory = new SharedArrayBuffer(1048576), state = new Int32Array(new SharedArrayBuffer(12));
// The runtime's own callbacks are not recorded. plan notes their ids, which the hook gets meanwhile.
const LAGS = 1, TURN = 2, MICROTASK = 3, ids = [0, 0, 0, 0];
let planning = 0;
const plan = (what, f) => {
  planning = what;
  f();
  planning = 0;
};
const microtask = f => plan(MICROTASK, () => queue(f));
// Records are written after each turn of the event loop.
const timer = f => {
  plan(TURN, () => immediate(() => {
    writeAll();
    f();
  }));
};
const request = (url, {body}) => {
  write(body);
  return 204;
};
