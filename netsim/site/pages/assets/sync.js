// What every test page does around its content:
//
//   green, held → content, each drawn frame with a new strip → red, held → report → next page
//
// A page calls Rig.play({prepare, draw, over, report}). draw(t, id, now) is called in each
// animation frame with the milliseconds since the content began, the id of the picture that would
// be next and the frame's time; it returns whether it changed a pixel. Only then does the strip get
// a new id, so an id stands for a different picture. report() returns what the page knows of its
// pictures and what it claims: {truth, fps}, both optional. A page whose end is not a matter of
// time has over(now), which tells whether it is there.
//
// A page that answers input tells Rig.input(event) of each, and changes what it shows at once or in
// its next draw: the next picture is the answer.
//
// A page that sends messages inside its pictures loads tell.js, which adds Rig.tell and Rig.watch.
//
// A page whose layers draw copies of the strip themselves takes them in prepare: Rig.strip.take(k).
'use strict';

const Rig = (() => {
  const config = JSON.parse(document.getElementById('rig').textContent);
  const page = config.page;
  const marker = document.getElementById('marker');
  const nextFrame = () => new Promise(requestAnimationFrame);
  const micros = (ms) => Math.round(ms * 1000);
  // clip cuts a text between two characters, so that it has no more bytes than the rig takes.
  const clip = (text) => text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(config.max_text)).read);

  // hold waits until the marker has been up for enough frames and long enough, whichever is later:
  // a recorder at half our rate still sees it in many frames.
  async function hold() {
    const first = await nextFrame();
    let now = first;
    for (let n = 1; n < page.hold_frames || now - first < page.hold_ms; n++) now = await nextFrame();
    return [first, now];
  }

  // settle waits until the viewport has kept its size for a while: a window that has just opened is
  // often resized once more, and everything below is laid out only once.
  async function settle() {
    for (let calm = 0, size = ''; calm < 10; calm++) {
      await nextFrame();
      const now = `${innerWidth}x${innerHeight}@${devicePixelRatio}`;
      if (now !== size) calm = 0;
      size = now;
    }
  }

  // clock asks the rig for its time; the answer was true somewhere between question and answer.
  async function clock() {
    const samples = [];
    if (!config.run) return samples;
    for (let i = 0; i < 8; i++) {
      const before = performance.now();
      const answer = await fetch(`/clock?run=${config.run}`, { cache: 'no-store' });
      const rig = (await answer.json()).now_ns;
      samples.push({ before_us: Math.floor(before * 1000), now_ns: rig,
        after_us: Math.ceil(performance.now() * 1000) });
    }
    return samples;
  }

  // inputEnd waits until the rig has sent all input. It can pause between two for longer than the
  // quiet at the end.
  async function inputEnd() {
    const answer = await fetch(`/ended?run=${config.run}`, { cache: 'no-store' });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
  }

  // stripOf draws the code strip: geometry and code are defined by the rig and only carried out
  // here. It is laid out for the viewport as it is now.
  function stripOf(spec) {
    if (!spec) return { holes: [], take() {}, paint() {}, overlay() {}, show() {} };
    const ratio = window.devicePixelRatio;
    const width = Math.round(innerWidth * ratio), height = Math.round(innerHeight * ratio);
    const cell = Math.max(spec.min_cell, Math.min(spec.max_cell, Math.floor(width / spec.width_per_cell)));
    const tops = [...Array(spec.copies).keys()].map((k) => Math.floor(k * (height - cell) / (spec.copies - 1)));
    const taken = new Set(), overlays = [];
    const binary = (value, bits) => value.toString(2).padStart(bits, '0').slice(-bits);
    function crc(body) {
      let sum = spec.crc_start;
      for (const bit of body) {
        const top = (sum >> (spec.crc_bits - 1) & 1) ^ (bit === '1' ? 1 : 0);
        sum = sum << 1 & (1 << spec.crc_bits) - 1;
        if (top) sum ^= spec.crc_poly;
      }
      return binary(sum, spec.crc_bits);
    }
    function cellsOf(id, ms, free) {
      const body = binary(id % 2 ** spec.id_bits, spec.id_bits)
        + binary(Math.floor(ms) % 2 ** spec.clock_bits, spec.clock_bits)
        + binary(config.number << 8 | free, spec.free_bits);
      return spec.lead + body + crc(body) + spec.tail;
    }
    function paintCells(context, cells, y) {
      context.fillStyle = '#000';
      context.fillRect(0, y, cells.length * cell, cell);
      context.fillStyle = '#fff';
      for (let i = 0; i < cells.length; i++) if (cells[i] === '1') context.fillRect(i * cell, y, cell, cell);
    }
    // element makes a canvas of its own for a copy.
    function element(k) {
      const c = document.createElement('canvas');
      c.className = 'strip';
      c.width = spec.cells * cell;
      c.height = cell;
      c.style.width = `${c.width / ratio}px`;
      c.style.height = `${cell / ratio}px`;
      c.style.top = `${tops[k] / ratio}px`;
      document.body.append(c);
      return c;
    }
    return {
      tops: tops.map((y) => y / ratio),
      cell: cell / ratio,
      // What the copies cover, in CSS pixels.
      holes: tops.map((y) => ({ x: 0, y: y / ratio, width: spec.cells * cell / ratio, height: cell / ratio })),
      take(k) { taken.add(k); },
      // paint draws a copy into a picture of the page whose first row is row `above` of the viewport.
      paint(context, k, above, id, ms) { paintCells(context, cellsOf(id, ms, 0), tops[k] - above); },
      overlay() {
        for (const k of tops.keys()) if (!taken.has(k)) overlays.push(element(k).getContext('2d', { alpha: false }));
      },
      show(id, ms) {
        const cells = cellsOf(id, ms, 0);
        for (const context of overlays) paintCells(context, cells, 0);
      },
      // code is the copy that stands on a marker.
      code() {
        const c = element(0), context = c.getContext('2d', { alpha: false });
        c.classList.add('code');
        return {
          show(mark, free) { paintCells(context, cellsOf(mark.id, mark.clock, free), 0); c.hidden = false; },
          hide() { c.hidden = true; },
          remove() { c.remove(); },
        };
      },
    };
  }

  // marks draws the run's code on green (1) and red (2), where the rig wants one.
  const unmarked = { green() {}, red() {}, hide() {}, remove() {} };
  function marksOf(strip) {
    if (!config.mark || !strip.code) return unmarked;
    const code = strip.code();
    const { hide, remove } = code;
    return { green() { code.show(config.mark, 1); }, red() { code.show(config.mark, 2); }, hide, remove };
  }

  // trace marks the picture in a trace of the browser, if one is recorded. The page keeps no mark.
  function trace(id) {
    if (!config.strip || !performance.mark) return;
    const name = `eideticker-strip:${config.number}:${id}`;
    performance.mark(name);
    performance.clearMarks(name);
  }

  // content runs the page. The strip and the marker change in the same frame as the picture.
  async function content(draw, ends, marks, warnings) {
    const ids = [], times = [];
    let frames = 0, start = 0, now = 0, inputEnded = !config.awaits;
    if (config.awaits) {
      inputEnd().catch((err) => warnings.push(`the end of the input is not known: ${err}`)).then(() => {
        inputEnded = true;
        if (busy) busy = performance.now(); // the last input may be on its way
      });
    }
    const limit = ends ? Math.max(page.duration_ms, 60000) : page.duration_ms;
    const quiet = () => page.quiet_ms && busy && now - busy >= page.quiet_ms;
    const over = () => inputEnded && (quiet() || now - start >= limit && !(config.awaits && busy)) || ends && ends(now);
    do {
      now = await nextFrame();
      if (frames++ === 0) start = now;
      playing = true;
      const changed = draw(now - start, ids.length, now);
      rig.messages.show();
      if (!changed && ids.length > 0) continue;
      rig.strip.show(ids.length, now);
      trace(ids.length);
      marker.hidden = true;
      marks.hide();
      answer(ids.length);
      ids.push(ids.length);
      times.push(micros(now));
    } while (!over());
    playing = false;
    // the last picture stands for a frame of its own, and what is drawn now comes in this one
    const end = await nextFrame();
    return { ids, times, frames, end };
  }

  // Events that no picture has answered yet, and answers. A picture answers nothing that is long
  // past: then nothing was to be seen of it.
  const open = [], answers = [];
  const late = 1000;
  let busy = 0, playing = false, unanswered = 0; // the last: events beyond what a report takes

  function input(event) {
    if (!playing) return;
    busy = performance.now();
    open.push({ kind: event.type, at_us: micros(event.timeStamp) });
  }

  function answer(id) {
    const since = micros(performance.now() - late);
    for (const event of open.splice(0)) {
      if (event.at_us < since) continue;
      if (answers.length < config.max_answers) answers.push({ ...event, id });
      else unanswered++;
    }
  }

  function claimedRate(times) {
    const span = times[times.length - 1] - times[0];
    return span > 0 ? (times.length - 1) * 1e6 / span : 0;
  }

  async function send(report) {
    const answer = await fetch('/report', {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(report),
    });
    if (!answer.ok) throw new Error(`report refused: ${answer.status} ${await answer.text()}`);
    return (await answer.json()).next;
  }

  async function run({ prepare, draw, over, report }) {
    rig.strip = stripOf(config.strip);
    let marks = page.markers ? marksOf(rig.strip) : unmarked;
    if (config.arrive) {
      marks.hide();
    } else if (page.markers) {
      marks.green(); // from the first frame on
      await settle();
      marks.remove();
      rig.strip = stripOf(config.strip); // once more when the size is known
      marks = marksOf(rig.strip);
      marks.green();
    }
    if (prepare) await prepare(page);
    rig.strip.overlay();
    rig.messages.place();
    const atOnce = config.arrive || !page.markers; // what is to be seen has begun already
    let samples = atOnce ? null : await clock();
    const warnings = [];
    if (page.markers) addEventListener('resize', () => warnings.push(`resized to ${innerWidth}x${innerHeight}`));
    document.addEventListener('visibilitychange', () => warnings.push(`page became ${document.visibilityState}`));
    const green = atOnce ? [0, 0] : await hold(); // the browser's command was the end of another's green
    const { ids, times, frames, end } = await content(draw, over, marks, warnings);
    if (page.markers) {
      marker.className = 'red';
      marker.hidden = false;
      marks.red();
    }
    const red = [end, (await hold())[1]];
    if (!samples) samples = await clock();
    const { truth = {}, fps = claimedRate(times) } = report ? report() : {};
    rig.told = { ids, truth, fps };
    if (!config.run) return;
    if (unanswered) warnings.unshift(`${unanswered} answers are left out: a report has ${config.max_answers}`);
    const holes = rig.strip.holes.reduce((sum, h) => sum + h.width * h.height, 0);
    const next = await send({
      run: config.run, entry: config.entry, ids, times_us: times, callbacks: frames,
      green_us: green.map(micros), red_us: red.map(micros), clock: samples,
      claimed_fps: fps, agent: clip(navigator.userAgent),
      width: innerWidth, height: innerHeight, pixel_ratio: devicePixelRatio,
      isolated: self.crossOriginIsolated === true, warnings: warnings.slice(0, 20), answers,
      told: rig.messages.account(),
      truth: { pixels: Math.round(innerWidth * innerHeight - holes), ...truth },
    });
    if (next) location.replace(next);
  }

  // A page that fails must not look as if it went on: it says so in place of its markers.
  function fail(err) {
    const reason = clip(String(err && err.message || err));
    if (config.run) {
      fetch('/failure', {
        method: 'POST', headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ run: config.run, entry: config.entry, reason }),
      }).catch(() => {});
    }
    marker.className = '';
    marker.hidden = false;
    marker.style.background = '#fff';
    marker.textContent = `This test page failed: ${err}`;
  }

  // relayout lays the strip out anew, for a window that has got another size.
  function relayout() {
    for (const copy of document.querySelectorAll('canvas.strip')) copy.remove();
    rig.strip = stripOf(config.strip);
    rig.strip.overlay();
    rig.messages.place();
  }

  // messages is that of tell.js on pages that load it.
  const messages = { place() {}, show() {}, account() {} };
  const rig = { page, payload: config.payload, strip: null, messages, input, relayout,
    play: (hooks) => run(hooks).catch(fail) };
  return rig;
})();
