// Each store of an object in a field is checked when its task ends, so the page's code is not interrupted.
const {isObject, isNode, list, eachField, NativeMap, NativeWeakMap, NativeWeakSet, mapGet, mapSet} = objects;
const {hasWeak, addWeak} = objects;
const STORES = 0, NODES = 1, CYCLES = 2, DETACHED = 3, COLLECTED = 4, KEPT = 5, UNCHECKED = 6;
const MOST_QUEUED = 256, MOST_OF_SITE = 200, MOST_VISITS = 1000, MOST_TIME = 5, MOST_ENTRIES = 4096, MOST_SITES = 4;
const PAUSE_LOOK = 500, MOST_ROUNDS = 40, STEP = 4194304, MOST_STEPS = 200, STEP_PAUSE = 20, HELD = 8;
const MOST_CHANCES = 6, MOST_FAILURES = 5;
const deref = method(realm.WeakRef, 'deref'), NativeRef = realm.WeakRef, Registry = realm.FinalizationRegistry;
const register = method(Registry, 'register');
const connected = getter(realm.Node, 'isConnected'), rootOf = method(realm.Node, 'getRootNode');
const composed = {__proto__: null, composed: true};

const holders = list(), queue = list(), stores = {__proto__: null};
let open = 0, queued = 0, planned = false;

// A store is store1(site, o).p = store(site, v). An exception in v leaves an entry, which the end of the task removes.
const store1 = (site, object) => {
  if (open < MOST_QUEUED) holders[open] = object;
  open++;
  if (!planned) plan();
  return object;
};
const store = (site, value) => {
  if (open > 0) open--;
  const holder = open < MOST_QUEUED ? holders[open] : undefined;
  holders[open] = undefined;
  if (!isObject(value) || !isObject(holder)) return value;
  const before = stores[site] || 0;
  if (before >= MOST_OF_SITE || queued >= MOST_QUEUED) {
    stores[site] = before + 1;
    tally(site, UNCHECKED, 1);
    return value;
  }
  stores[site] = before + 1;
  queue[queued++] = {__proto__: null, site, holder, value};
  if (!planned) plan();
  return value;
};

const plan = () => {
  planned = true;
  microtask(() => {
    const begin = now();
    for (let i = 0; i < queued; i++) {
      const {site, holder, value} = queue[i];
      queue[i] = undefined;
      if (now() - begin > MOST_TIME) tally(site, UNCHECKED, 1); else check(site, holder, value);
    }
    for (let i = 0; i < open && i < MOST_QUEUED; i++) holders[i] = undefined;
    queued = open = 0;
    planned = false;
  });
};

// search visits what an object reaches by data properties. A visit that returns true ends it. It tells visits
// whether the path has a node.
const search = (from, visit) => {
  const known = new NativeMap(), stack = list();
  let height = 0, visits = 0;
  const add = (object, before) => {
    const through = before || isNode(object);
    const had = mapGet(known, object);
    if (had === true || had === through) return;
    mapSet(known, object, through);
    stack[height++] = object;
  };
  add(from, false);
  while (height > 0) {
    const object = stack[--height], through = mapGet(known, object);
    if (visit(object, through)) return true;
    if (++visits >= MOST_VISITS) return false;
    try {
      eachField(object, (key, value) => { if (isObject(value)) add(value, through); });
    } catch (e) {
      // The browser forbids to look into the object, such as a window of another origin.
    }
  }
  return false;
};

// holds reports whether a store has had its effect. Setters of nodes keep listeners.
const holds = (holder, value) => {
  let found = isNode(holder) && typeof value === 'function';
  eachField(holder, (key, v) => { if (v === value) found = true; });
  return found;
};

const check = (site, holder, value) => {
  try {
    tally(site, STORES, 1);
    if (!holds(holder, value)) return;
    const found = list();
    const fromNode = isNode(holder);
    let count = 0, cycle = false;
    search(value, (object, through) => {
      if (object === holder) cycle = cycle || through || fromNode;
      else if (count < 16 && isNode(object)) found[count++] = object;
      return false;
    });
    if (cycle) tally(site, CYCLES, 1);
    for (let i = 0; i < count; i++) track(site, holder, found[i]);
  } catch (e) {
    tally(site, UNCHECKED, 1);
  }
};

// Nodes that the page stores are followed weakly. An entry has the stores that reach its node.
const entryOf = new NativeWeakMap(), removed = new NativeWeakSet();
let entries = list(), entered = 0, waiting = false, collecting = false, rounds = 0;
const track = (site, holder, node) => {
  if (!NativeRef || !Registry || node === page) return;
  let entry = weakGet(entryOf, node);
  if (!entry) {
    if (entered >= MOST_ENTRIES) return;
    entry = {
      __proto__: null, node: new NativeRef(node), sites: list(), count: 0, detached: false, round: 0, done: false,
    };
    weakSet(entryOf, node, entry);
    entries[entered++] = entry;
  }
  for (let i = 0; i < entry.count; i++) if (entry.sites[i].site === site) {
    entry.sites[i].holder = new NativeRef(holder);
    return;
  }
  if (entry.count === MOST_SITES) return;
  entry.sites[entry.count++] = {__proto__: null, site, holder: new NativeRef(holder)};
  tally(site, NODES, 1);
  wait();
};

const each = (entry, field) => { for (let i = 0; i < entry.count; i++) tally(entry.sites[i].site, field, 1); };

const wait = () => {
  if (waiting) return;
  waiting = true;
  timer(look, PAUSE_LOOK);
};

// look finds nodes that left the document, and those that outlived two collections since.
const look = () => {
  waiting = false;
  const kept = list();
  let count = 0, pending = false, alive = 0;
  for (let i = 0; i < entered; i++) {
    const entry = entries[i], node = deref(entry.node);
    if (node === undefined) {
      if (entry.detached && !entry.done) each(entry, COLLECTED);
      continue;
    }
    kept[count++] = entry;
    if (connected(node)) {
      entry.detached = false;
      alive++;
    } else if (!entry.detached && !entry.done) {
      if (hasWeak(removed, rootOf(node, composed))) {
        entry.detached = true;
        entry.round = rounds + (collecting ? 1 : 0);
        each(entry, DETACHED);
      }
    } else if (!entry.done && rounds - entry.round >= 2) {
      // A collection that began before the last look keeps the node. So it has more chances without a holder.
      entry.done = rounds - entry.round >= MOST_CHANCES;
      for (let s = 0; s < entry.count; s++) {
        const {site, holder} = entry.sites[s], object = deref(holder);
        if (object && search(object, found => found === node)) {
          tally(site, KEPT, 1);
          entry.done = true;
        }
      }
    }
    if (entry.detached && !entry.done) pending = true;
  }
  entries = kept;
  entered = count;
  if (pending && !collecting && rounds < MOST_ROUNDS) {
    collecting = true;
    timer(collect, 0);
  }
};

// A collection of old objects is forced by new memory, and noticed by the end of an old sentinel. Young sentinels
// show that it is old: it has outlived as many collections as make an object old.
const YOUNG = 0, OLD = 1, MOST_YOUNG = 3;
const memory = list();
let sentinel = null, young = 0, steps = 0, failures = 0;
const registry = Registry && new Registry(kind => {
  if (kind === YOUNG) {
    if (++young >= MOST_YOUNG && sentinel) {
      register(registry, sentinel, OLD);
      sentinel = null;
    }
    return;
  }
  rounds++;
  if (rounds % 2 === 0) collecting = false;
  timer(collecting ? collect : look, 0);
});
const collect = () => {
  sentinel = {__proto__: null};
  young = steps = 0;
  press(rounds);
};
const press = round => {
  if (round < rounds || ++steps > MOST_STEPS) {
    for (let i = 0; i < HELD; i++) memory[i] = undefined;
    if (round === rounds && failures++ < MOST_FAILURES) { // a busy browser collects later
      collecting = false;
      wait();
    }
    return;
  }
  try {
    if (sentinel) register(registry, {__proto__: null}, YOUNG);
    for (let i = 0; i < 4; i++) memory[(4 * steps + i) % HELD] = new Bytes(STEP);
  } catch (e) {
    // Memory is full, so the browser collects.
  }
  timer(() => { press(round); }, STEP_PAUSE);
};

const Observer = realm.MutationObserver, removedOf = getter(realm.MutationRecord, 'removedNodes');
const lengthOf = getter(realm.NodeList, 'length'), itemOf = method(realm.NodeList, 'item');
if (page && Observer && NativeRef && Registry) {
  const observe = method(Observer, 'observe');
  observe(new Observer(changes => {
    for (let i = 0; i < changes.length; i++) {
      const gone = removedOf(changes[i]);
      for (let n = lengthOf(gone) - 1; n >= 0; n--) addWeak(removed, itemOf(gone, n));
    }
    if (entered > 0) wait();
  }), page, {__proto__: null, childList: true, subtree: true});
}
hide('store1', store1);
hide('store', store);
