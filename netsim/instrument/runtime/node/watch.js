// A thread looks at the ring of a program that has not written its records for a while. So the calls of a program
// that hangs outlive it. It writes them to a further log, with the number of the next batch. If the program goes on, it
// writes that batch itself, which counts then.
const {workerData: {memory, state, name, start, number, origin}} = require('worker_threads'), fs = require('fs');
const SIZE = 65536, PAUSE = 100, IDLE = 8, CALLBACK = 32;
const words = new Uint32Array(memory), times = new Float64Array(memory), raw = new Uint8Array(memory);
let before = -1;
for (;;) {
  Atomics.wait(state, 2, 0, PAUSE);
  const sequence = Atomics.load(state, 0), tail = Atomics.load(state, 1);
  if (sequence !== before) {
    before = sequence;
    continue;
  }
  // Older records, and those of the calibration, have earlier times than the last one.
  let n = 0, last = times[2 * ((tail - 1) & (SIZE - 1)) + 1];
  for (; n < SIZE; n++) {
    const i = (tail + n) & (SIZE - 1), code = words[4 * i] & 255;
    if (code === 0 || code > IDLE && code < CALLBACK || times[2 * i + 1] < last) break;
    last = times[2 * i + 1];
  }
  if (n === 0) continue;
  const body = Buffer.alloc(12 + 40 + 16 * n);
  body.writeBigUInt64LE(process.hrtime.bigint() - start, 0);
  body.writeUInt32LE(40 + 16 * n, 8);
  body.write('EIDS', 12);
  body.writeUInt16LE(1 | 4 << 8, 16);
  body.writeUInt32LE(number, 20);
  body.writeUInt32LE(sequence, 24);
  body.writeDoubleLE(origin, 28);
  body.writeDoubleLE(last, 36);
  body.writeUInt32LE(n, 44);
  for (let k = 0; k < n; k++) {
    const i = (tail + k) & (SIZE - 1);
    body.set(raw.subarray(16 * i, 16 * i + 16), 52 + 16 * k);
  }
  fs.writeFileSync(name + '.tmp', Buffer.concat([Buffer.from('EIDSLOG1'), body]));
  fs.renameSync(name + '.tmp', name);
}
