// Uses lib.js and prints all that a user of it can see. argv: a file, and stop to stop within a callback.
const tracer = process.argv[2] ? require(process.argv[2]) : {start() {}, stop() {}, log() {}};
const lib = require('./lib.js'), print = console.log, read = require('stream').Readable.prototype.read;
print(String(lib.plain), lib.plain.name, lib.plain.length, String(lib.Cache).slice(0, 30), lib.Cache.name);
tracer.start();
tracer.start();
tracer.log('a label');
const cache = lib.Cache.make('k');
print(cache instanceof lib.Cache, cache instanceof lib.Base, cache.target, cache.secret, lib.Cache.made(), cache.base() === cache);
print(Object.getOwnPropertyNames(lib.Cache), Object.keys(lib.plain), Reflect.ownKeys(lib.Cache.prototype));
class Mine extends lib.Cache { constructor() { super('mine'); } }
print(new Mine().key, new Mine() instanceof Mine, Mine.made === lib.Cache.made);
print(lib.plain.call(null, 1), lib.plain.apply(null, [1, 3]), lib.each([1, 2], x => 2 * x));
try { lib.throws(); } catch (e) { print(e.message, lib.isKind(e, TypeError)); }
const seen = [], remove = lib.listen(x => { seen.push(x); });
lib.emitter.emit('x', 1);
remove();
lib.emitter.emit('x', 2);
print(seen, lib.emitter.listenerCount('x'), lib.deep(+process.argv[4] || 5));
print(read === require('stream').Readable.prototype.read, lib.a.b.c.d.e.f());
new lib.Source().on('end', () => cache.find('f', (error, found) => {
  print(error, found);
  lib.later(x => { print(x); }).then(() => lib.wait(3)).then(x => {
    print(x);
    process.kill(process.pid, 'SIGUSR1');
  });
})).resume();
const kept = setTimeout(() => {}, 1e6);
process.on('SIGUSR1', () => {
  if (process.argv[3]) lib.each([1], () => { tracer.stop(); tracer.stop(); });
  clearTimeout(kept);
  process.exitCode = 0;
  process.stdout.write(JSON.stringify(lib.counts) + '\n');
});
