// The sender posts batches in idle time. A batch that cannot be sent becomes a gap.
const MOST_BYTES = 1048576 + 65536, MOST_BEACON = 65536, MOST_FAILURES = 3, TRIES = 3, PAUSE = 500;
let sequence = 0, stopped = false, scheduled = false, failures = 0;
let sending = null; // the batch that waits for its answer
let large = null; // the memory of large batches: only flush cuts them, one at a time, and requests copy them
let missing = null; // the gap of batches that were not sent
let ended = () => {}, rested = () => {}; // rested runs in idle time
let silent = false, emptied = () => {}, restart = () => {}; // for gates: a silent task has no records
let cutUntil = now(); // the last time in the last batch

// message returns a batch with details and with room for records.
const message = (records, text) => {
  const details = encode(encoder, text), size = 40 + 16 * records + details.length, few = size <= MOST_BEACON;
  if (!few && !large) large = new Bytes(MOST_BYTES).buffer;
  const body = few ? new Bytes(size) : new Bytes(large, 0, size), view = new View(body.buffer);
  const put32 = (at, value) => { setUint32(view, at, value, true); };
  put32(0, 0x53444945); // EIDS
  put32(4, 1 | kind << 8);
  put32(8, number);
  put32(12, sequence++);
  setFloat64(view, 16, timeOrigin, true);
  setFloat64(view, 24, now(), true);
  put32(32, records);
  put32(36, details.length);
  setBytes(body, details, 40 + 16 * records);
  return body;
};

// timeBefore returns the last time of the ring before a place. Some records have another number there.
const timeBefore = end => {
  for (let n = end - 1; n >= tail; n--) {
    const code = words[4 * (n & MASK)] & 255;
    if (code !== VALUE && code !== RIG && code !== COST && code !== BRIEF && code !== DETAIL && code !== LONGTASK) {
      return times[2 * (n & MASK) + 1];
    }
  }
  return cutUntil;
};

// cut takes records for a batch of at most so many bytes.
const cut = most => {
  const before = missing ? 2 : 0;
  const end = min(head - tail, SIZE - before, floor((most - 42) / 16) - before);
  let n = end > 0 ? end : 0, text = '', found = 0;
  if (firstText < nextText) {
    for (n = 0; n < end; n++) {
      const i = (tail + n) & MASK;
      if ((words[4 * i] & 255) === DETAIL) {
        const more = texts[firstText];
        if (found === MOST_DETAILS || text.length + more.length >= MOST_TEXT ||
          42 + 16 * (before + n + 1) + 3 * (text.length + more.length + 1) > most) break;
        text += (found > 0 ? ',' : '') + more;
        words[4 * i + 1] = found++;
        delete texts[firstText++];
      } else if (42 + 16 * (before + n + 1) + 3 * text.length > most) break;
    }
  }
  if (n === 0) return null;
  const body = message(before + n, '[' + text + ']');
  if (missing) {
    const view = new View(body.buffer), put32 = (at, value) => { setUint32(view, at, value, true); };
    put32(40, GAP | missing.cause << 16);
    put32(44, missing.records);
    setFloat64(view, 48, missing.at, true);
    put32(56, CALLS);
    put32(60, missing.calls);
    setFloat64(view, 64, missing.until, true);
  }
  const first = tail & MASK, whole = min(n, SIZE - first), at = 40 + 16 * before;
  setBytes(body, part(raw, 16 * first, 16 * (first + whole)), at);
  setBytes(body, part(raw, 0, 16 * (n - whole)), at + 16 * whole);
  const batch = {
    __proto__: null, body, records: before + n, calls: calls - entersFrom(tail + n),
    at: missing ? missing.at : cutUntil, until: timeBefore(tail + n),
  };
  cutUntil = batch.until;
  missing = null;
  tail += n;
  resume();
  if (skipped > 0) {
    const what = skipped + ' errors in excess of ' + MOST_DETAILS;
    skipped = 0;
    detail({__proto__: null, kind: 'blocked', what}, now());
  }
  return batch;
};

// entersFrom counts the calls whose begins are still in the ring.
const entersFrom = from => {
  let enters = 0;
  for (let n = from; n < head; n++) if ((words[4 * (n & MASK)] & 255) === ENTER) enters++;
  return enters;
};

const options = (body) => ({
  __proto__: null, body, method: body ? 'POST' : 'GET', mode: 'cors', credentials: 'omit', cache: 'no-store',
  redirect: 'error', referrerPolicy: 'no-referrer', keepalive: false,
  headers: body ? {__proto__: null, 'Content-Type': 'text/plain'} : {__proto__: null},
});

const post = async body => {
  try {
    return status(await request(base + 'records', options(body)));
  } catch (e) {
    return 0;
  }
};

const pause = ms => new NativePromise(done => { timer(done, ms); });

// flush sends one batch. It tries again if the collector cannot be reached. If the caller knows that the stack is
// empty, the records after a loss begin with that.
const flush = async empty => {
  if (sending || stopped) return;
  const losing = lost > 0;
  drain();
  try {
    sending = cut(MOST_BYTES);
  } catch (e) {
    return; // without memory for a batch
  }
  if (!sending) return;
  if (empty && losing && lost === 0) put(IDLE, 0, now());
  const batch = sending;
  let answer = 0;
  for (let tries = 1; tries <= TRIES; tries++) {
    answer = await post(batch.body);
    if (answer !== 0 && answer < 500 || tries === TRIES) break;
    await pause(PAUSE * tries);
  }
  sending = null;
  if (answer === 204) failures = 0; else fail(batch, answer === 429 ? QUOTA : UNREACHABLE);
  if (head > tail) schedule();
};

// fail counts the records of a batch as lost. After some failures the realm sends nothing until its end.
const fail = (batch, cause) => {
  const {body, calls, at, until} = batch;
  const records = countLost(new Words(body.buffer, 40, 4 * batch.records));
  missing = {__proto__: null, cause, calls, at, until, records};
  if (++failures < MOST_FAILURES) return;
  stopped = true;
  limit = -1;
};

// countLost counts records, and those that their gaps count.
const countLost = list => {
  let records = list.length / 4;
  for (let i = 0; i < list.length; i += 4) if ((list[i] & 255) === GAP) records += list[i + 1];
  return records;
};

// schedule plans a flush in idle time.
const schedule = () => {
  if (scheduled || stopped) return;
  scheduled = true;
  timer(() => {
    const begin = () => {
      scheduled = false;
      flush(true);
      rested();
    };
    if (whenIdle) whenIdle(begin, {__proto__: null, timeout: 1000}); else begin();
  }, PAUSE);
};

const sendAtEnd = body => {
  try {
    const blob = new NativeBlob([body], {__proto__: null, type: 'text/plain'});
    if (blob.size === body.length) return beacon(base + 'records', blob);
  } catch (e) {
    // The page has replaced the iterator of arrays.
  }
  return beacon(base + 'records', body);
};

// leave sends as much as browsers send for a page that ends. Ordinary requests may be lost.
const leave = () => {
  try {
    ended();
    drain();
    if (stopped) {
      missing.records += head - tail + lost;
      missing.calls = calls;
      missing.until = now();
      tail = head;
      firstText = nextText;
      lost = failures = 0;
      stopped = false;
      resume();
    }
    put(END, 0, now());
    let room = MOST_BEACON;
    if (sending && sending.body.length <= room && sendAtEnd(sending.body)) room -= sending.body.length;
    const batch = cut(room);
    if (batch && !sendAtEnd(batch.body)) post(batch.body);
    flush();
  } catch (e) {
    // A page that ends must not notice.
  }
};
