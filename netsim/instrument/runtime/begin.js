// Loads with and without insertions are compared by these figures.
if (page) listen('load', () => {
  put(LOADED, 0, now());
  schedule();
});
const entriesOf = method(realm.PerformanceObserverEntryList, 'getEntries');
const read = (type, name) => getter(realm['Performance' + type], name), startOf = read('Entry', 'startTime');
const nameOf = read('Entry', 'name'), lengthOf = read('Entry', 'duration'),
  firstOf = read('ResourceTiming', 'responseStart'), byOf = read('ResourceTiming', 'initiatorType'),
  endOf = read('ResourceTiming', 'responseEnd');
const watch = (options, take) => {
  try {
    new PerformanceObserver(list => {
      const entries = entriesOf(list);
      for (let i = 0; i < entries.length; i++) take(entries[i]);
      schedule();
    }).observe(options);
  } catch (e) {
    // This browser does not report them.
  }
};
const micro = ms => floor(1000 * ms);
if (page) {
  watch({entryTypes: ['longtask']}, e => {
    put(LONGTASK, micro(lengthOf(e)), startOf(e));
    restart(startOf(e));
  });
}
// Requests have the times that the browser states (Resource Timing). Beacons change no picture.
let requests = 0;
const slow = e => {
  const url = address(nameOf(e)), what = byOf(e), at = startOf(e), took = endOf(e) - at, wait = firstOf(e) - at;
  if (took < 50 || what === 'beacon' || indexOf(url, base) === 0 || nextText - firstText > 128 ||
    ++requests > 200) return;
  detail({__proto__: null, kind: 'request', url, what, wait: wait > 0 ? micro(wait) : -1, took: micro(took)}, at);
};
watch({entryTypes: ['navigation', 'resource']}, slow);
askAtStart();
if (page) {
  listen('pagehide', leave, true);
  const state = getter(Document, 'visibilityState');
  listen('visibilitychange', () => { if (state(page) === 'hidden') flush(); }, true);
}
