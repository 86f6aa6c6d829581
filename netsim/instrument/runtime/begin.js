askAtStart();
if (page) {
  listen('pagehide', leave, true);
  const state = getter(Document, 'visibilityState');
  listen('visibilitychange', () => { if (state(page) === 'hidden') flush(); }, true);
}
