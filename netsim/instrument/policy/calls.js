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
  put(IDLE, 0, now());
  if (head - tail > SIZE / 2) flush(true);
  schedule();
};

// arm makes the end of the stack's calls known. The calls that continue a function begin a stack, too.
const arm = () => {
  microtask(idle);
  armed = true;
};

// Nothing can throw between the record and its number: a full stack throws at a call.
const E = id => {
  if (!armed) arm();
  const time = now();
  if (head < limit) {
    const i = head & MASK;
    words[4 * i] = ENTER;
    words[4 * i + 1] = id;
    times[2 * i + 1] = time;
    head++;
  } else put(ENTER, id, time);
  return ++calls;
};
const R = (d, value) => {
  if (d) put(LEAVE, d, now());
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

// calibrate measures the cost of a call. The ring keeps none of its records.
const PAIRS = 512, MOST_PAIRS = 16384, LEAST_TIME = 1;
const calibrate = keep => {
  const begin = head, counted = calls, before = armed;
  if (limit - head < 2 * PAIRS + 1) return;
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
};
calibrate(false);
calibrate(true);
ended = () => { calibrate(true); };

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
