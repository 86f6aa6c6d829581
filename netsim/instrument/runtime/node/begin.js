const LAG = 32, HEAP = 33, PLANNED = 34, BEGINS = 35, ENDS = 36, SWITCHED = 6, EVERY = 100;
let file = -1, written = 0;

// rigTime is in ns. A program's clock may be another one than the rig's.
const rigTime = () => {
  const time = Number(hrtime() - start);
  return time > 0 ? time : 0;
};

// write appends a batch to the realm's file, as SCRIPT.md specifies it.
const write = body => {
  if (file < 0) {
    file = openSync(path.join(folder, number + '.log'), 'ax');
    writeSync(file, 'EIDSLOG1');
  }
  const entry = new View(new ArrayBuffer(12)), time = rigTime();
  setUint32(entry, 0, time % 4294967296, true);
  setUint32(entry, 4, floor(time / 4294967296), true);
  setUint32(entry, 8, body.length, true);
  if (writevSync(file, [entry, body]) !== body.length + 12) throw new Error('the disk is full');
  written += body.length + 12;
  Atomics.store(state, 1, tail & MASK);
  Atomics.store(state, 0, sequence);
};

const turnOff = why => {
  off = true;
  cause = why;
  limit = -1;
};

const putHeap = () => {
  if (head < limit) put(HEAP, floor(getHeapStatistics().used_heap_size / 1024), now());
};

// writeAll writes all records. Without a place for them, the realm records nothing more.
const writeAll = () => {
  if (stopped) return;
  try {
    putHeap(); // its time is that of the last record
    for (let batch = cut(MOST_BYTES); batch; batch = cut(MOST_BYTES)) write(batch.body);
    if (written > quota && !off) turnOff(QUOTA);
  } catch (e) {
    if (e instanceof RangeError) return; // the stack is full
    stopped = true;
    limit = -1;
  }
};

spill = () => {
  if (!off && !stopped) writeAll();
  return head < limit;
};

const switches = {
  start() {
    if (!off || cause === QUOTA) return;
    off = false;
    resume();
    cause = FULL;
  },
  stop() {
    if (off) return;
    writeAll();
    turnOff(SWITCHED);
  },
  log(label) {
    if (!off) detail({__proto__: null, kind: 'log', message: slice(String(label), 0, 1000)}, now());
  },
};
Object.defineProperty(realm, Symbol.for('eideticker.tracer'), {value: Object.freeze(switches)});

// The records after the last turn of the event loop are written at the end, behind the program's own listeners.
const emit = process.emit;
Object.defineProperty(process, 'emit', {
  configurable: true, enumerable: false, writable: true,
  value: function(name, ...all) {
    const result = Reflect.apply(emit, this, [name, ...all]);
    if (name === 'exit') {
      ended();
      if (off) {
        off = false;
        resume();
      }
      put(END, 0, now());
      writeAll();
      release();
    }
    return result;
  },
});
if (isMainThread && signal) process.on(signal, () => switches[off ? 'start' : 'stop']());

if (callbacks) {
  const isOwn = id => id === ids[LAGS] || id === ids[TURN] || id === ids[MICROTASK];
  hooks.createHook({
    init(id) {
      if (planning) ids[planning] = id;
      else if (skips > 0 && skipsAt === head) skips--;
      else if (armed && limit >= 0) put(PLANNED, id, now());
    },
    before(id) {
      if (limit >= 0 && !isOwn(id)) put(BEGINS, id, now());
    },
    after(id) {
      if (limit >= 0 && !isOwn(id)) put(ENDS, id, now());
    },
  }).enable();
}

// Lags are those of the event loop.
let due = now() + EVERY;
plan(LAGS, () => interval(() => {
  const time = now();
  if (limit >= 0) put(LAG, floor(1000 * (time > due ? time - due : 0)), time);
  due = time + EVERY;
}, EVERY).unref());

const asked = now(), rig = rigTime();
put(ASKED, 0, asked);
put(ANSWERED, 0, now());
put(RIG, 0, rig);
putHeap();
writeAll();
if (isMainThread) {
  plan(TURN, () => new Worker(watch, {
    eval: true, execArgv: [], env: {},
    workerData: {memory, state, name: path.join(folder, number + '.watch.log'), start, number, origin: timeOrigin},
  }).unref());
}
if (!begins) switches.stop();

// Programs read their own texts. Insertions are enclosed in marks.
const marks = ['\u000b', '\f'], source = Function.prototype.toString;
const patched = {toString() {
  const text = Reflect.apply(source, this === patched ? source : this, []), at = text.indexOf(nonce);
  if (at < 0) return text;
  const mark = marks[text.lastIndexOf(marks[0], at) > text.lastIndexOf(marks[1], at) ? 0 : 1];
  return text.split(mark).filter((part, i) => i % 2 === 0).join('');
}}.toString;
Object.defineProperty(Function.prototype, 'toString', {value: patched, configurable: true, writable: true});

// The text of eval stays as it is.
hide('v', (callee, text) => text);
const compile = Module.prototype._compile;
Module.prototype._compile = function(content, name, ...all) {
  const text = all[0] === 'module' ? content : rewrite(SCRIPT, name, content);
  return Reflect.apply(compile, this, [text, name, ...all]);
};
if (Module.registerHooks) {
  Module.registerHooks({load: (url, context, next) => edited(url, next(url, context))});
} else if (Module.register && isMainThread) {
  Module.register(require('url').pathToFileURL(path.join(folder, 'hooks.mjs')));
}
