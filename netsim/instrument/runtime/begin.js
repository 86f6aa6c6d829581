// Loads with and without insertions are compared by these figures.
if (page) listen('load', () => {
  put(LOADED, 0, now());
  schedule();
});
if (realm.PerformanceObserver && page) {
  const entriesOf = method(PerformanceObserverEntryList, 'getEntries');
  const startOf = getter(PerformanceEntry, 'startTime'), durationOf = getter(PerformanceEntry, 'duration');
  try {
    new PerformanceObserver(list => {
      const entries = entriesOf(list);
      for (let i = 0; i < entries.length; i++) {
        put(LONGTASK, floor(1000 * durationOf(entries[i])), startOf(entries[i]));
        restart(startOf(entries[i]));
      }
      schedule();
    }).observe({entryTypes: ['longtask']});
  } catch (e) {
    // This browser does not report long tasks.
  }
}
askAtStart();
if (page) {
  listen('pagehide', leave, true);
  const state = getter(Document, 'visibilityState');
  listen('visibilitychange', () => { if (state(page) === 'hidden') flush(); }, true);
}
