// The ring keeps records until they are sent. A full ring drops new records and counts them.
const ENTER = 1, LEAVE = 2, CAUGHT = 3, REOPEN = 4, RECLOSE = 5, SUSPEND = 6, RESUME = 7, IDLE = 8, GAP = 9, CALLS = 10;
const ASKED = 11, ANSWERED = 12, RIG = 13, COST = 14, DETAIL = 15, LONGTASK = 16, START = 17, END = 18, VALUE = 19;
const LOADED = 20, BRIEF = 21;
const FULL = 1, QUOTA = 2, UNREACHABLE = 3;
const SIZE = 65536, MASK = SIZE - 1;
const words = new Uint32Array(memory || 4 * SIZE);
const times = new Float64Array(words.buffer), raw = new Uint8Array(words.buffer);
// Records from tail to head are kept. The head stays below the limit, which is -1 while records are lost.
let head = 0, tail = 0, limit = SIZE, calls = 0, lost = 0, lostAt = 0, off = false, cause = FULL;
// spill makes room in a full ring. Pages cannot do so within a task.
let spill = () => false;

const put = (code, id, time) => {
  if (head < limit) {
    const i = head & MASK;
    words[4 * i] = code;
    words[4 * i + 1] = id;
    times[2 * i + 1] = time;
    head++;
  } else if (spill()) {
    put(code, id, time);
  } else {
    if (lost === 0) lostAt = time;
    lost++;
    limit = -1;
  }
};

// resume continues after a loss, with the number of lost records and of calls.
const resume = () => {
  if (stopped || off || lost > 0 && tail + SIZE - head < 2) return;
  limit = tail + SIZE;
  if (lost === 0) return;
  const records = lost;
  lost = 0;
  put(GAP | cause << 16, records, lostAt);
  put(CALLS, calls, now());
  cause = FULL;
};

// Details wait here until their records are sent.
const MOST_DETAILS = 256, MOST_TEXT = 20000;
const texts = {__proto__: null};
let firstText = 0, nextText = 0, skipped = 0;

// detail records an object without a prototype.
const detail = (object, time) => {
  if (nextText - firstText >= MOST_DETAILS) {
    skipped++;
    return;
  }
  if (head < limit) texts[nextText++] = fitting(object);
  put(DETAIL, 0, time);
  schedule();
};

// fitting converts an object to JSON. A long stack loses its outer half until the text fits.
const fitting = object => {
  let text = stringify(object);
  while (text.length > 4000 && object.stack && object.stack.length > 0) {
    object.stack.length = object.stack.length >> 1;
    text = stringify(object);
  }
  return text;
};
