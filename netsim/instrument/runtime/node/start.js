hide('P', true);
put(START, 0, now());
const place = process.pid + (threadId ? '.' + threadId : '');
detail({
  __proto__: null, kind: 'realm', url: slice(process.argv[1] || process.execPath, 0, 900) + ' (' + place + ')',
}, now());
