// Observe collects the claims of a page before its own scripts run. Lists and texts are bounded.
(() => {
  if (window !== window.top) return;
  const {stringify} = JSON;
  const now = performance.now.bind(performance);
  const entries = performance.getEntriesByType.bind(performance);
  const types = PerformanceObserver.supportedEntryTypes ?? [];
  const most = {shifts: 1000, tasks: 1000, timings: 200, errors: 100, resources: 1000, interactions: 1000};
  const seen = {lcp: null, shifts: [], tasks: [], timings: [], errors: [], resources: [], left: {}, total: {}};
  const longest = new Map(); // duration of each interaction
  const observers = [];

  const keep = (list, entry) => {
    seen.total[list] = (seen.total[list] ?? 0) + 1;
    if (seen[list].length < most[list]) seen[list].push(entry);
    else seen.left[list] = (seen.left[list] ?? 0) + 1;
  };
  const text = (value, length) => {
    try {
      return String(value).slice(0, length);
    } catch {
      return "";
    }
  };
  const selector = (element) => {
    let path = "";
    for (let e = element; e && path.length < 150; e = e.parentElement) {
      const id = e.id ? "#" + e.id : "";
      const own = e.localName + (id || [...e.classList].slice(0, 2).map((name) => "." + name).join(""));
      path = own + (path && " > " + path);
      if (id) break;
    }
    return text(path, 200);
  };
  const host = (address) => {
    const url = new URL(address, document.baseURI);
    return /^https?:$/.test(url.protocol) ? url : null;
  };

  const takers = {
    "largest-contentful-paint"(e) {
      const r = e.element?.getBoundingClientRect();
      const box = r && [r.x, r.y, r.width, r.height].map((n) => n * devicePixelRatio);
      seen.lcp = {time: e.renderTime || e.loadTime || e.startTime, selector: selector(e.element), box,
        pixels: e.size * devicePixelRatio ** 2};
    },
    "layout-shift"(e) {
      if (!e.hadRecentInput) keep("shifts", [e.startTime, e.value]);
    },
    "longtask"(e) { keep("tasks", [e.startTime, e.duration]); },
    "mark"(e) { // a test page marks each picture for traces
      if (!e.name.startsWith("eideticker-strip:")) keep("timings", {name: text(e.name, 100), at: e.startTime});
    },
    "measure"(e) { keep("timings", {name: text(e.name, 100), at: e.startTime, lasts: e.duration}); },
    "resource"(e) {
      const url = host(e.name);
      if (!url) return;
      const hidden = !e.transferSize && !e.decodedBodySize && url.origin !== location.origin;
      const [, ending = ""] = /\.(\w{1,10})$/.exec(url.pathname) ?? [];
      keep("resources", {mime: text(e.contentType ?? "", 40), initiator: text(e.initiatorType, 40), ending,
        host: text(url.host, 253), bytes: e.transferSize, hidden});
    },
    "event"(e) {
      if (!e.interactionId || longest.size >= most.interactions && !longest.has(e.interactionId)) return;
      longest.set(e.interactionId, Math.max(e.duration, longest.get(e.interactionId) ?? 0));
    },
  };
  takers["first-input"] = takers.event;
  for (const [type, take] of Object.entries(takers)) {
    if (!types.includes(type)) continue;
    const observer = new PerformanceObserver((list) => list.getEntries().forEach(take));
    observer.observe({type, buffered: true, ...type === "event" ? {durationThreshold: 16} : {}});
    observers.push([observer, take]);
  }

  const {error} = console;
  console.error = function (...all) {
    keep("errors", all.slice(0, 10).map((value) => text(value, 300)).join(" ").slice(0, 300));
    return error.apply(this, all);
  };
  addEventListener("error", (e) => {
    if (e.target === window) keep("errors", text(e.message, 300));
  }, true);
  addEventListener("unhandledrejection", (e) => keep("errors", "unhandled: " + text(e.reason, 300)), true);

  const read = () => {
    for (const [observer, take] of observers) observer.takeRecords().forEach(take);
    const [page] = entries("navigation");
    return stringify({...seen, types, now: now(), width: innerWidth * devicePixelRatio,
      height: innerHeight * devicePixelRatio,
      ids: "interactionId" in (window.PerformanceEventTiming?.prototype ?? {}),
      interactions: Math.max(performance.interactionCount ?? 0, longest.size), durations: [...longest.values()],
      document: page && {first_byte: Math.max(page.responseStart - (page.activationStart ?? 0), 0),
        host: text(host(location.href)?.host ?? "", 253), bytes: page.transferSize}});
  };
  Object.defineProperty(window, "eidetickerClaims", {value: (what) => what === "now" ? String(now()) : read()});
})();
