// A loop has a number of iterations that it may do before its next check. A check is every few ms, since it reads the
// clock. The numbers are 0 at the begin of a task. A run is one execution of the loop.
const MOST = 1000000, LONGEST = 2000, CHUNK = 128, LOOPS = 1 << 20;
let left = new Ints(1024), runs = new Ints(1024);
const warned = {__proto__: null}, of = {__proto__: null}, seen = [];
setPrototypeOf(seen, null);

// end is a microtask, so the stack is empty.
const end = () => {
  for (let i = 0; i < seen.length; i++) {
    left[seen[i]] = 0;
    delete of[seen[i]];
  }
  seen.length = 0;
};

const grown = (list, id) => {
  const more = new Ints(2 * id);
  setBytes(more, list);
  return more;
};

// begin counts the first iteration of a task.
const begin = (id, time) => {
  if (id >= LOOPS) return;
  if (id >= left.length) {
    left = grown(left, id);
    runs = grown(runs, id);
  }
  if (seen.length === 0) microtask(end);
  seen[seen.length] = id;
  of[id] = {__proto__: null, from: time, last: time, run: runs[id], done: 1, chunk: 1};
  left[id] = 1;
};

const check = (id, longest) => {
  const time = now(), loop = of[id];
  if (!loop) {
    begin(id, time);
    return;
  }
  loop.done += loop.chunk;
  loop.chunk = time - loop.last < 2 ? min(CHUNK, 2 * loop.chunk) : floor(loop.chunk / 2) || 1;
  loop.last = time;
  left[id] = loop.chunk;
  if (loop.run !== runs[id]) {
    loop.run = runs[id];
    loop.from = time;
  }
  const ms = time - loop.from;
  if (warned[id] || loop.done <= MOST && ms <= longest) return;
  warned[id] = true;
  urge(id, [loop.done, ms]);
  if (breaks) throw new NativeError('Eideticker left a loop after ' + loop.done + ' iterations.');
};

direct('lp1', id => { runs[id]++; });
direct('lp', id => { if (!(--left[id] > 0)) check(id, LONGEST); });
// A function may be called anywhere in a task, so its calls are counted only.
direct('fn', id => { if (!(--left[id] > 0)) check(id, Infinity); });
