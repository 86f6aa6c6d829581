// A load runs the original or the replacement of each function. Both are timed in the same way.
const {list} = objects;
const CALLS = 0, RETURNS = 1, TIMED = 2, TIME = 3, OF_VERSION = 4;
const imul = Math.imul;
let mixed = SEED ^ imul((LOAD < 0 ? number : LOAD) + 1, 0x9E3779B1);
mixed = imul(mixed ^ mixed >>> 16, 0x85EBCA6B);
mixed = imul(mixed ^ mixed >>> 13, 0xC2B2AE35);
const isReplaced = ((mixed ^ mixed >>> 16) >>> 0) / 4294967296 < SHARE;
const base = isReplaced ? OF_VERSION : 0;
const open = {__proto__: null}, opened = list();
let planned = false;

// An exception leaves a call open until the task ends. Calls inside a call of the same function are not timed.
const close = () => {
  planned = false;
  for (let i = 0; i < opened.length; i++) open[opened[i]] = 0;
  opened.length = 0;
};
const begin = id => {
  const depth = open[id] || 0;
  if (depth === 0) opened[opened.length] = id;
  open[id] = depth + 1;
  if (!planned) {
    planned = true;
    microtask(close);
  }
  tally(id, base + CALLS, 1);
  return {__proto__: null, id, depth, at: now()};
};
const end = (call, value) => {
  if (!call) return value;
  const {id, depth, at} = call;
  if (depth === 0) {
    tally(id, base + TIME, now() - at);
    tally(id, base + TIMED, 1);
  }
  open[id] = depth;
  tally(id, base + RETURNS, 1);
  return value;
};
const safely = id => {
  try {
    return begin(id);
  } catch (e) {
    return 0; // the stack is full
  }
};
direct('ab', safely);
direct('ab1', end);
direct('ab2', () => isReplaced);
direct('ab3', (call, f, self, given) => apply(f, self, given));
