// A call is its number. Programs pass 0 or undefined for calls that began before this runtime.
let armed = false;

// idle runs as a microtask, so the stack is empty.
const idle = () => {
  armed = false;
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
  } else {
    if (lost === 0) lostAt = time;
    lost++;
    limit = -1;
  }
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

hide('E', E);
hide('R', R);
hide('K', K);
hide('F', F);
hide('C', C);
hide('s', s);
hide('r', r);

if (realm.PerformanceObserver && page) {
  const entriesOf = method(PerformanceObserverEntryList, 'getEntries');
  const startOf = getter(PerformanceEntry, 'startTime'), durationOf = getter(PerformanceEntry, 'duration');
  try {
    new PerformanceObserver(list => {
      const entries = entriesOf(list);
      for (let i = 0; i < entries.length; i++) put(LONGTASK, floor(1000 * durationOf(entries[i])), startOf(entries[i]));
      schedule();
    }).observe({entryTypes: ['longtask']});
  } catch (e) {
    // This browser does not report long tasks.
  }
}
