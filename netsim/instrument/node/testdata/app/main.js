#!/usr/bin/env node
'use strict';
// A program with counters of its own.
const {EventEmitter} = require('events'), fs = require('fs');
const count = require('./count.js');
class Cache {
  constructor() { count('constructor'); }
  static make() { count('make'); return new Cache(); }
  find(key, done) { count('find'); setTimeout(() => { count('#timer'); done(key); }, 20); }
  get size() { count('size'); return 1; }
}
function *numbers() { count('numbers'); yield 1; yield 2; }
const thrower = () => { count('thrower'); throw new Error('x'); };
async function wait(n) {
  count('wait');
  await new Promise(done => setImmediate(done));
  if (n > 0) await wait(n - 1);
  return n;
}
function deep(n) { return n === 0 ? (count('#bottom'), 0) : 1 + deep(n - 1); }
const emitter = new EventEmitter();
emitter.on('x', function onX() { count('onX'); });
(async () => {
  const c = Cache.make();
  await new Promise(done => c.find('a', done));
  c.size;
  for (const n of numbers()) count('#loop');
  try { thrower(); } catch { count('#caught'); }
  await wait(3);
  deep(5000);
  emitter.emit('x');
  await fs.promises.readFile(__filename);
  await Promise.resolve(1).then(function reaction() { count('reaction'); });
  const {twice} = await import('./module.mjs');
  twice(2);
  console.log(JSON.stringify(count.all));
  process.on('exit', () => count('exit'));
})();
