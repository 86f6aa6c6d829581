// Gates keep calls from being recorded that need no look. A gate is open if it is less than gates[0]. A slow
// function's gate always is. That of a candidate is, if the stack is empty or the call on top is slow.
// gate.go has the same rules for loads: keep them alike.
const gated = (() => {
  const OPEN = -1, CANDIDATE = 0, CLOSED = 1;
  const SLOW = 1, FAST = 2, OUTSIDE = 3, NATIVE = 4; // verdicts; 0: undecided
  const SLOW_MS = 5, LEAST_SAMPLES = 5, MOST_SAMPLES = 20, ALPHA = 0.05;
  const FUNCTIONS = 262144, DEEP = 4096, MOST_QUIET = 1000, MOST_WAITING = 10000, MOST_REOPENED = 10;
  const SHORT_MS = 1, MOST_SHORT = 20;
  const gates = new Int8Array(FUNCTIONS), verdicts = new Bytes(FUNCTIONS), quiet = new Uint16Array(FUNCTIONS);
  // The latest samples are bits behind a leading one. A set bit is a slow call.
  const samples = new Int32Array(FUNCTIONS);
  // The stack has the calls that passed their gates. Those of fast functions are quiet: they have numbers below 0.
  const ids = new Words(DEEP), numbers = new Floats(DEEP), since = new Floats(DEEP), spent = new Floats(DEEP);
  const clz32 = Math.clz32;
  const tested = setPrototypeOf([], null), waiting = {__proto__: null};
  let depth = 0, quietCalls = 0, waits = 0, unsure = false, slowEnd = 0, reopened = 0;
  gates[0] = 1;
  // Code outside functions is the function 0 on the stack. It is not tested, and its callees are looked at. So are
  // those of calls in slow functions.
  verdicts[0] = OUTSIDE;

  // chance is the probability of at least k heads of n coins.
  const chance = (n, k) => {
    let ways = 1, sum = 0;
    for (let i = n; i >= k; i--) {
      sum += ways;
      ways = ways * i / (n - i + 1);
    }
    return sum / 2 ** n;
  };
  const countOf = bits => 31 - clz32(bits | 1);
  const slowOf = bits => {
    let n = -1;
    for (; bits > 0; bits &= bits - 1) n++;
    return n;
  };

  // sample adds the time of a call. Only the page's decisions need live gates.
  const sample = (id, ms) => {
    if (!(ms >= 0)) return; // its records are lost
    if (samples[id] === 0) {
      samples[id] = 1;
      tested[tested.length] = id;
    }
    let bits = samples[id] << 1 | (ms > SLOW_MS ? 1 : 0);
    if (bits >> MOST_SAMPLES + 1) bits = bits & (1 << MOST_SAMPLES) - 1 | 1 << MOST_SAMPLES;
    samples[id] = bits;
    const n = countOf(bits), isFast = n >= LEAST_SAMPLES && chance(n, n - slowOf(bits)) <= ALPHA;
    if (verdicts[id] === SLOW) {
      if (isFast) verdicts[id] = FAST;
    } else if (n === MOST_SAMPLES || live && isFast) verdicts[id] = FAST;
    if (live && !isFast && n >= LEAST_SAMPLES) unsure = true;
  };

  // decide opens slow functions. Holm's method corrects the sign test for the number of functions.
  const decide = () => {
    unsure = false;
    let m = 0;
    const list = setPrototypeOf([], null);
    for (let i = 0; i < tested.length; i++) {
      const id = tested[i], n = countOf(samples[id]);
      if (n < LEAST_SAMPLES) continue;
      m++;
      const p = chance(n, slowOf(samples[id]));
      if (p <= ALPHA) list[list.length] = {__proto__: null, id, p};
    }
    for (; m > 0; m--) {
      let best = null;
      for (let i = 0; i < list.length; i++) if (list[i].p >= 0 && (!best || list[i].p < best.p)) best = list[i];
      if (!best || best.p > ALPHA / m) return;
      verdicts[best.id] = SLOW;
      gates[best.id] = OPEN;
      best.p = -1;
    }
  };

  const mask = () => { gates[0] = depth === 0 || (verdicts[ids[depth - 1]] & SLOW) !== 0 ? 1 : 0; };
  // A function on the stack has its gate closed, so recursion is one call.
  const push = (id, d, at, before) => {
    ids[depth] = id;
    numbers[depth] = d;
    since[depth] = at;
    spent[depth++] = before;
    gates[id] = CLOSED;
    mask();
  };
  const pop = () => {
    const id = ids[--depth];
    gates[id] = verdicts[id] === SLOW ? OPEN : quiet[id] > MOST_QUIET ? CLOSED : CANDIDATE;
    mask();
  };
  // unwind removes the calls above one, which an exception ended.
  const unwind = d => {
    let at = depth;
    while (at > 0 && numbers[at - 1] !== d) at--;
    if (at === 0) return false;
    while (depth > at) pop();
    return true;
  };
  const lastTime = () => times[2 * (head - 1 & MASK) + 1];

  // restart gives fast functions another test, after a long task in which no recorded call was slow.
  restart = began => {
    if (slowEnd >= began || depth > 0 || reopened++ >= MOST_REOPENED) return;
    for (let i = 0; i < tested.length; i++) {
      const id = tested[i];
      if (verdicts[id] !== FAST) continue;
      samples[id] = 1;
      verdicts[id] = quiet[id] = gates[id] = 0;
    }
  };
  emptied = () => {
    while (depth > 0) pop();
    if (unsure) decide();
  };

  // The functions that insertions call.
  return all => ({
    __proto__: null, G: gates,
    E(id, planned) {
      if (planned >= OUTSIDE) {
        const at = planned === NATIVE ? id : 0;
        // Many calls that are short would fill the ring. Those of a function that is not recorded have no place.
        if (at > 0 && (id >= FUNCTIONS || gates[0] === 0 || quiet[id] >= MOST_SHORT)) return 0;
        silent = false;
        const before = head, d = all.E(id);
        if (depth === DEEP) return d;
        verdicts[at] = OUTSIDE;
        push(at, d, head > before ? lastTime() : NaN, 0);
        return d;
      }
      if (!(gates[id] !== CLOSED) || id >= FUNCTIONS || depth === DEEP) return 0;
      if (planned && verdicts[id] === 0 && samples[id] === 0) {
        verdicts[id] = planned;
        samples[id] = 1;
        tested[tested.length] = id;
      }
      if (verdicts[id] === FAST) {
        quiet[id]++;
        if (!armed) {
          silent = true;
          arm();
        }
        push(id, --quietCalls, 0, 0);
        return quietCalls;
      }
      silent = false;
      const before = head, d = all.E(id);
      push(id, d, head > before ? lastTime() : NaN, 0);
      return d;
    },
    R(d, value) {
      if (!d) return value;
      const before = head;
      if (d > 0) all.R(d);
      if (unwind(d)) {
        if (d > 0) {
          const id = ids[depth - 1], end = head > before ? lastTime() : NaN;
          const ms = end - since[depth - 1] + spent[depth - 1];
          if (verdicts[id] === OUTSIDE) {
            quiet[id] = ms > SHORT_MS ? 0 : min(quiet[id] + 1, MOST_SHORT);
          } else {
            if (ms > SLOW_MS) slowEnd = end;
            sample(id, ms);
          }
        }
        pop();
      }
      return value;
    },
    K(d) {
      if (d > 0) all.K(d);
      if (d) unwind(d);
    },
    F(d) {
      if (d) unwind(d);
      return d > 0 ? all.F(d) : 0;
    },
    C: all.C,
    s(d, value) {
      if (!d) return value;
      const before = head;
      if (d > 0) all.s(d);
      if (unwind(d)) {
        const at = depth - 1, id = ids[at], more = d > 0 && head > before ? lastTime() - since[at] : 0;
        if (waits < MOST_WAITING) {
          waits++;
          waiting[d] = {__proto__: null, id, spent: spent[at] + more};
        }
        pop();
      }
      return value;
    },
    r(d, value) {
      if (!d) return value;
      const of = waiting[d], before = head;
      if (d > 0) {
        silent = false;
        all.r(d);
      } else if (!armed) {
        silent = true;
        arm();
      }
      if (of && depth < DEEP) {
        waits--;
        delete waiting[d];
        push(of.id, d, d > 0 && head > before ? lastTime() : NaN, of.spent);
      }
      return value;
    },
  });
})();
