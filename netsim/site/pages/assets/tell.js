// Messages inside the picture. package payload defines the block that this draws.
//
// Rig.tell(message) queues bytes or a text. Each animation frame draws one packet of it. Call it
// before Rig.play, so that the block is there from the first picture on.
//
// Rig.watch() sends the browser's long tasks, long frames, layout shifts and measures, as far as it
// reports them. It also sends hints of garbage collections. Each is a JSON object: its kind, the
// time `at` which it began, and how long it lasted, `ms`. Times are those of performance.now().
'use strict';

(() => {
  const spec = Rig.payload;
  const queue = []; // messages: bytes, and how many of them were drawn
  const told = { messages: 0, unsent: 0, packets: 0, bytes: 0 };
  const table = new Uint32Array(256).map((_, n) => {
    for (let i = 0; i < 8; i++) n = n & 1 ? n >>> 1 ^ 0xedb88320 : n >>> 1;
    return n >>> 0;
  });
  let context = null, halves = [], packet = null, used = false;

  function crc(bytes) {
    let sum = 0xffffffff;
    for (const b of bytes) sum = table[(sum ^ b) & 255] ^ sum >>> 8;
    return ~sum >>> 0;
  }

  // place lays the block out above the lowest copy of the strip. A block that does not fit is not drawn.
  function place() {
    const { strip } = Rig;
    context = null;
    if (!used || !spec || !strip.tops) return;
    const ratio = window.devicePixelRatio, pixels = (css) => Math.round(css * ratio);
    const width = pixels(innerWidth), cell = spec.form === 'exact' ? 1 : pixels(strip.cell);
    const rows = spec.form === 'exact' ? 1 : 2, height = 2 * rows * cell;
    const top = pixels(strip.tops[strip.tops.length - 1]) - height;
    if (top < pixels(strip.tops[strip.tops.length - 2] + strip.cell)) return;
    const c = document.createElement('canvas');
    c.className = 'strip';
    [c.width, c.height] = [width, height];
    Object.assign(c.style, { width: `${width / ratio}px`, height: `${height / ratio}px`, top: `${top / ratio}px` });
    document.body.append(c);
    strip.holes.push({ x: 0, y: top / ratio, width: width / ratio, height: height / ratio });
    context = c.getContext('2d', { alpha: false });
    const across = Math.floor(width / cell);
    const size = spec.form === 'exact' ? 3 * width : Math.floor(rows * across / 8);
    packet = new Uint8Array(Math.min(size, spec.frame_bytes + spec.max_data));
    halves = { cell, across, image: context.createImageData(width, rows * cell) };
  }

  // next fills the packet with the next part of a message, and returns the number of bytes in use.
  function next() {
    const message = queue[0], from = message.drawn;
    const part = message.bytes.subarray(from, from + packet.length - spec.frame_bytes);
    message.drawn += part.length;
    const last = message.drawn === message.bytes.length;
    if (last) queue.shift();
    const view = new DataView(packet.buffer);
    const end = part.length + 8;
    view.setUint16(0, told.packets % 2 ** 16);
    view.setUint16(2, part.length | (from ? 0 : 1 << 15) | (last ? 1 << 14 : 0));
    view.setUint32(4, Math.floor(performance.now() * 1000) % 2 ** 32);
    packet.set(part, 8);
    view.setUint32(end, crc(packet.subarray(0, end)));
    packet.fill(0, end + 4);
    told.bytes += part.length;
  }

  // show draws the next packet, if there is one.
  function show() {
    while (watched.length) tell(watched.shift()());
    if (!context || !queue.length) return;
    next();
    const { cell, across, image } = halves, { data, width, height } = image;
    for (let y = 0, at = 0; y < height; y++) {
      for (let x = 0; x < width; x++, at += 4) {
        if (cell === 1) {
          for (let i = 0; i < 3; i++) data[at + i] = packet[3 * x + i];
        } else {
          const column = Math.floor(x / cell), bit = Math.floor(y / cell) * across + column;
          const white = column < across && packet[bit >> 3] >> 7 - (bit & 7) & 1;
          data[at] = data[at + 1] = data[at + 2] = white ? 255 : 0;
        }
        data[at + 3] = 255;
      }
    }
    context.putImageData(image, 0, told.packets++ % 2 * height);
  }

  function tell(message) {
    const bytes = typeof message === 'string' ? new TextEncoder().encode(message) : new Uint8Array(message);
    const limit = spec ? spec.max_message : 1 << 16;
    if (!bytes.length || bytes.length > limit) {
      throw new RangeError(`a message of ${bytes.length} bytes, want 1 to ${limit}`);
    }
    used = true;
    told.messages++;
    queue.push({ bytes, drawn: 0 });
  }

  const account = () => used ? { ...told, unsent: queue.length } : undefined;

  // What the next frame tells, as functions.
  const watched = [];
  const round = (ms) => Math.round(ms * 1000) / 1000;

  // A garbage collection ends objects that nothing refers to. One of them is made in each animation
  // frame. So a collection began after the last of those that it ended was made.
  function watchCollections() {
    let hint = null;
    const registry = new FinalizationRegistry((made) => {
      if (hint) {
        hint.from = Math.max(hint.from, made);
        return;
      }
      hint = { kind: 'gc', from: made, at: performance.now() };
      watched.push(() => {
        const { kind, from, at } = hint;
        hint = null;
        return JSON.stringify({ kind, at: round(from), ms: round(at - from) });
      });
    });
    const make = () => {
      registry.register({}, performance.now());
      requestAnimationFrame(make);
    };
    make();
  }

  function watch() {
    used = true;
    const types = ['longtask', 'long-animation-frame', 'layout-shift', 'measure'];
    const observer = new PerformanceObserver((list) => {
      for (const e of list.getEntries()) {
        const script = (e.scripts || []).reduce((a, b) => a && a.duration >= b.duration ? a : b, null);
        const name = script ? script.sourceFunctionName || script.invoker
          : e.entryType === 'layout-shift' ? e.value.toFixed(4) : e.entryType === 'measure' ? e.name : '';
        const text = JSON.stringify({ kind: e.entryType, at: round(e.startTime), ms: round(e.duration),
          name: name.slice(0, 60) });
        watched.push(() => text);
      }
    });
    const supported = PerformanceObserver.supportedEntryTypes;
    for (const type of types.filter((t) => supported.includes(t))) observer.observe({ type });
    watchCollections();
  }

  Object.assign(Rig, { tell, watch, messages: { place, show, account } });
})();
