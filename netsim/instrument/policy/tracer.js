// The page switches by functions of this symbol, or by an event of the window with the detail start or stop. Lost
// records between both are a gap with its cause.
{
  const LAG = 32, SWITCHED = 6, LAG_EVERY = 100;
  const detailOf = getter(realm.CustomEvent, 'detail'), text = String;
  const tracing = {
    start() {
      if (!off) return;
      off = false;
      resume();
      cause = FULL;
      schedule();
    },
    stop() {
      if (off) return;
      off = true;
      cause = SWITCHED;
      limit = -1;
    },
    log(label) {
      if (!off) detail({__proto__: null, kind: 'log', message: slice(text(label), 0, 1000)}, now());
    },
  };
  defineProperty(realm, Symbol.for('eideticker.tracer'), {__proto__: null, value: Object.freeze(tracing)});
  if (page) {
    listen('eideticker-tracer', event => {
      const wanted = detailOf(event);
      if (wanted === 'start') tracing.start(); else if (wanted === 'stop') tracing.stop();
    }, true);
    // A page that stopped ends with the gap.
    const before = ended;
    ended = () => {
      before();
      tracing.start();
    };
  }
  let dueAt = now() + LAG_EVERY;
  const tick = () => {
    const time = now(), late = time - dueAt;
    if (late >= 1 && !off) put(LAG, floor(1000 * late), time);
    dueAt = time + LAG_EVERY;
    timer(tick, LAG_EVERY);
  };
  timer(tick, LAG_EVERY);
}
