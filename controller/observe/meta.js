(() => {
  if (!self.document || self !== top || !navigator.sendBeacon) return;
  const now = performance.now.bind(performance), beacon = navigator.sendBeacon.bind(navigator);
  let loaded = 0, errors = 0, blocked = 0, sent = false;
  const send = () => {
    if (sent) return;
    sent = true;
    beacon(base + 'load', loaded.toFixed(1) + ' ' + blocked.toFixed(1) + ' ' + errors);
  };
  addEventListener('error', e => { if (e.message) errors++; }, true);
  addEventListener('unhandledrejection', () => { errors++; }, true);
  try {
    new PerformanceObserver(list => {
      for (const e of list.getEntries()) blocked += Math.max(0, e.duration - 50);
    }).observe({entryTypes: ['longtask']});
  } catch (e) {}
  addEventListener('load', () => { loaded = now(); setTimeout(send, 3000); }, true);
  addEventListener('pagehide', send, true);
})();
