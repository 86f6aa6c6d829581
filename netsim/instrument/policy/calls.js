// A call is its number. Programs pass 0 or undefined for calls that began before this runtime.
let armed = false;

// idle runs as a microtask, so the stack is empty.
const idle = () => {
  armed = false;
  emptied();
  if (silent) {
    silent = false;
    return;
  }
  putBrief();
  put(IDLE, 0, now());
  if (head - tail > SIZE / 2) flush(true);
  schedule();
};

// Many brief calls in one task would fill the ring. While it is crowded, a call that lasted less than two steps of
// most clocks is removed, if it has no other records. A fuller ring keeps calls from 1 ms on. Removed calls are
// counted. After many of them a function is not recorded again in its task, which makes its calls quicker.
// A catch or finally block may run after a return. So a function with such blocks keeps its calls, but for those
// that leave at its end. It is always recorded again, since its catch blocks end other calls.
const MOST_BRIEF = 1000, FUNCTIONS = 262144;
// Gates look at each call, and Node empties its ring.
const CROWDED = typeof gated !== 'undefined' || memory ? Infinity : SIZE / 2;
const brief = new Words(FUNCTIONS), briefs = setPrototypeOf([], null); // calls by function, and those functions
const KEPT = 1 << 16;

// isBrief removes the call on top if it was brief. At its end, its finally blocks go with it.
const isBrief = (d, time, last) => {
  let at = head - 1, i = at & MASK;
  while (last && at > tail && words[4 * i + 1] === d && (words[4 * i] === REOPEN || words[4 * i] === RECLOSE)) {
    i = --at & MASK;
  }
  const id = words[4 * i + 1], code = words[4 * i];
  if (limit < 0 || code !== ENTER && !(last && code === (ENTER | KEPT)) || id >= FUNCTIONS ||
    time - times[2 * i + 1] >= (head - tail > SIZE * 7 / 8 ? 1 : .15)) return false;
  calls--;
  head = at;
  if (brief[id]++ === 0) briefs[briefs.length] = id;
  return true;
};

const putBrief = () => {
  while (briefs.length > 0 && head < limit) {
    const id = briefs[briefs.length - 1];
    briefs.length--;
    put(BRIEF, id, brief[id]);
    brief[id] = 0;
  }
};

// arm makes the end of the stack's calls known. The calls that continue a function begin a stack, too.
const arm = () => {
  microtask(idle);
  armed = true;
};

// Nothing can throw between the record and its number: a full stack throws at a call.
const E = (id, planned, kept) => {
  if (!armed) arm();
  if (brief[id] >= MOST_BRIEF && !kept) {
    brief[id]++;
    return 0;
  }
  const code = kept ? ENTER | KEPT : ENTER;
  const time = now();
  if (head < limit) {
    const i = head & MASK;
    words[4 * i] = code;
    words[4 * i + 1] = id;
    times[2 * i + 1] = time;
    head++;
  } else put(code, id, time);
  return ++calls;
};
const R = (d, value, last) => {
  if (d) {
    const time = now();
    if (head - tail <= CROWDED || d !== calls || !isBrief(d, time, last)) put(LEAVE, d, time);
  }
  return value;
};
const K = d => {
  if (!d) return;
  if (!armed) arm();
  put(CAUGHT, d, now());
};
const F = d => {
  if (!d) return 0;
  if (!armed) arm();
  put(REOPEN, d, now());
  return d;
};
const C = d => { if (d) put(RECLOSE, d, now()); };
const s = (d, value) => {
  if (d) put(SUSPEND, d, now());
  return value;
};
const r = (d, value) => {
  if (!d) return value;
  if (!armed) arm();
  put(RESUME, d, now());
  return value;
};

// calibrate measures the cost of a call, if the ring is not crowded. The ring keeps none of its records.
const PAIRS = 512, MOST_PAIRS = 16384, LEAST_TIME = 1;
const calibrate = keep => {
  const begin = head, counted = calls, before = armed;
  if (limit - head < 2 * PAIRS + 1 || head + 2 * PAIRS - tail > CROWDED) return false;
  armed = true;
  const from = now();
  let pairs = 0, time = 0;
  while (time < LEAST_TIME && pairs < MOST_PAIRS) {
    head = begin;
    for (let i = 0; i < PAIRS; i++) R(E(0), i);
    pairs += PAIRS;
    time = now() - from;
  }
  head = begin;
  calls = counted;
  armed = before;
  if (keep) put(COST, pairs, time);
  return true;
};
calibrate(false);
calibrate(true);
ended = () => {
  putBrief();
  calibrate(true);
};

// Browsers compile code that runs often, so a call costs less then.
const MORE = 8;
let enough = 1000; // calls until the next calibration
rested = () => {
  if (calls < enough || !calibrate(true)) return;
  enough = MORE * calls;
  schedule();
};

const recorded = {__proto__: null, E, R, K, F, C, s, r};
const inserted = typeof gated === 'undefined' ? recorded : gated(recorded);

// Scripts may not declare a variable for their call. So it is kept here while a script runs.
{
  const MOST = 256, running = new Words(MOST), numbers = new Floats(MOST), {E, R, K} = inserted, before = emptied;
  let depth = 0;
  emptied = () => {
    before();
    depth = 0;
  };
  // callOf returns the call of a script. An exception left the scripts above it.
  const callOf = id => {
    let at = depth;
    while (at > 0 && running[at - 1] !== id) at--;
    if (at === 0) return 0;
    depth = at;
    return numbers[at - 1];
  };
  inserted.B = id => {
    if (depth === MOST) return;
    running[depth] = id;
    numbers[depth++] = E(id, 3);
  };
  inserted.Q = id => {
    const d = callOf(id);
    if (d) depth--;
    R(d);
  };
  inserted.k = id => { K(callOf(id)); };
}
for (const name in inserted) hide(name, inserted[name]);
