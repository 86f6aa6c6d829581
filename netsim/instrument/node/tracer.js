// Eideticker's call tracer: calls of functions that modules export or that objects have, and of their callbacks.
// License: Apache-2.0. Guide: docs/tracing.md of https://github.com/eideticker/eideticker
//
//   Node:  node -r ./tracer.js app.js, then kill -USR2 PID, or require('./tracer.js').start()
//   Pages: <script src="tracer.js"></script>, then tracer.trace(object, 'name') and tracer.start().
//          tracer.js#on starts at once. The event "eideticker-tracer" with the detail "start" or "stop" switches.
//
//   trace(object, name)  wraps its functions in place; returns the object, or the wrapper of a function
//   start() and stop()   begin and end the records; stop() also prints the totals
//   log(label)           prints a label
//   toggleOn(signal)     switches at a signal of Node (SIGUSR2 does from the start)
//   print                receives the text; replace it to keep the text elsewhere
//
// Getters, ES modules and local functions are not traced. eideticker trace -- node app.js does so.
(root => {
  'use strict';
  const mark = Symbol.for('eideticker.tracer');
  const isNode = typeof module === 'object' && typeof require === 'function';
  const publish = api => {
    if (isNode) module.exports = api; else root.tracer = api;
  };
  if (root[mark]) { // the program has inserted code, or this file already
    publish(root[mark].trace ? root[mark] : Object.assign({trace: object => object, toggleOn() {}}, root[mark]));
    return;
  }

  const MAX_PARTS = 5, MAX_MODULE_PARTS = 3, MAX_OBJECTS = 20000, LAG_EVERY = 100, MAX_TEXT = 16384, MAX_INDENT = 100;
  const apply = Reflect.apply, construct = Reflect.construct;
  const now = performance.now.bind(performance), nativeTimeout = root.setTimeout, nativeInterval = root.setInterval;
  const nativeImmediate = root.setImmediate || (f => nativeTimeout(f, 0)), clear = root.clearInterval;
  const heap = isNode ? () => require('v8').getHeapStatistics().used_heap_size :
    () => performance.memory ? performance.memory.usedJSHeapSize : 0;

  // Text waits for the end of the turn, so that printing delays few calls.
  let text = '', planned = false;
  const flush = () => {
    planned = false;
    const all = text;
    text = '';
    if (all) api.print(all);
  };
  const print = line => {
    text += 'TRACER ' + line + '\n';
    if (text.length > MAX_TEXT) flush();
    if (planned || !text) return;
    planned = true;
    apply(nativeImmediate, root, [flush]);
  };
  const printNode = all => {
    const bytes = Buffer.from(all);
    for (let at = 0; at < bytes.length;) {
      try {
        at += require('fs').writeSync(2, bytes, at);
      } catch (e) {
        if (e.code !== 'EAGAIN') return;
      }
    }
  };

  // stamp returns the time. The cost of a line is subtracted from all times alike, so a mean is between its bounds.
  let stamps = 0, cost = 0;
  const stamp = () => {
    stamps++;
    return now();
  };

  // A run lasts from start to stop. Calls of an earlier run print nothing.
  let run = 0, running = false, stack = [], totals = new Map(), lagTimer = null, begun = 0;
  const ms = x => x.toFixed(2) + 'ms';
  const line = (code, time, depth, name) =>
    print(code + ' ' + ms(time % 10000) + ' ' + heap() + '  ' + ' '.repeat(Math.min(depth, MAX_INDENT)) + name);

  const calibrate = () => {
    const before = text, wasPlanned = planned;
    planned = true;
    cost = Infinity;
    for (let round = 0; round < 20; round++) {
      const from = now();
      text = '';
      for (let i = 0; i < 50; i++) line('FNI', stamp(), 0, 'calibration');
      cost = Math.min(cost, (now() - from) / 50);
    }
    text = before;
    planned = wasPlanned;
    stamps = 0;
  };

  const totalOf = name => {
    let total = totals.get(name);
    if (!total) totals.set(name, total = {name, calls: 0, open: 0, min: Infinity, max: 0, sum: 0, later: []});
    return total;
  };
  const add = (total, lasted) => {
    total.min = Math.min(total.min, lasted);
    total.max = Math.max(total.max, lasted);
    total.sum += lasted;
  };
  const enter = name => {
    const call = {name, run, total: totalOf(name), at: 0, stamps: 0, lasted: 0, open: true, calls: false};
    call.total.calls++;
    call.total.open++;
    line('FNI', call.at = stamp(), stack.length, name);
    call.stamps = stamps;
    stack.push(call);
    return call;
  };
  const lasts = (call, time) => {
    call.lasted = Math.max(0, time - call.at - (stamps - call.stamps) * cost);
  };
  // leave ends a call, and those above it whose end was lost when the stack was full.
  const leave = (call, how) => {
    if (call.run !== run || !running || !call.open) return;
    for (let top = null; top !== call && stack.length > 0;) {
      top = stack.pop();
      const time = stamp();
      line('FNR', time, stack.length, top.name + (top !== call ? ' throw' : how));
      top.open = false;
      top.total.open--;
      lasts(top, time);
      if (top.calls) top.total.later.push(top); else add(top.total, top.lasted);
    }
  };

  const originals = new WeakMap(), wrappers = new WeakMap(), callbacks = new WeakMap();
  const original = f => originals.get(f) || f;

  // A function that a traced call gets is its callback. Classes are none: programs compare them.
  const isClass = f => {
    const found = Object.getOwnPropertyDescriptor(f, 'prototype');
    return found !== undefined && !found.writable;
  };
  const callback = (f, call) => {
    if (typeof f !== 'function' || isClass(f)) return f;
    let known = callbacks.get(f);
    if (!known) {
      known = {of: call, wrapper: null};
      known.wrapper = new Proxy(f, {
        apply(target, self, args) {
          const {of} = known;
          if (!running || of.run !== run) return apply(target, self, args);
          line('CBI', stamp(), stack.length, of.name);
          const depth = stack.length;
          try {
            return apply(target, self, args);
          } finally {
            if (running && of.run === run) {
              const time = stamp();
              stack.length = Math.min(stack.length, depth);
              line('CBR', time, depth, of.name);
              if (!of.open) lasts(of, time);
            }
          }
        },
        // Node's removeListener looks for the function here.
        get: (target, key, self) => key === 'listener' && !(key in target) ? target : Reflect.get(target, key, self),
      });
      callbacks.set(f, known).set(known.wrapper, known);
      originals.set(known.wrapper, f);
    }
    known.of = call;
    call.calls = true;
    return known.wrapper;
  };
  const withCallbacks = (args, call) => {
    for (let i = 0; i < args.length; i++) args[i] = callback(args[i], call);
    return args;
  };

  const invoke = (name, target, self, args, made) => {
    const call = running ? enter(name) : null;
    let how = ' throw';
    try {
      if (call) withCallbacks(args, call);
      const result = made ? construct(target, args, made) : apply(target, self, args);
      how = '';
      return result;
    } finally {
      if (call) leave(call, how);
    }
  };
  const wrap = (f, name) => {
    const known = wrappers.get(f);
    if (known) return known;
    const wrapper = new Proxy(f, {
      apply: (target, self, args) => invoke(name, target, original(self), args), // private statics need the class
      construct: (target, args, made) => invoke(name, target, null, args, made === wrapper ? target : made),
    });
    wrappers.set(f, wrapper);
    wrappers.set(wrapper, wrapper);
    originals.set(wrapper, f);
    return wrapper;
  };

  // walk replaces functions by wrappers. It leaves alone what belongs to the realm.
  const seen = new WeakSet();
  let objects = 0;
  const isObject = value => typeof value === 'function' || typeof value === 'object' && value !== null;
  const leaveAlone = object => {
    if (!isObject(object)) return;
    seen.add(object);
    for (const key of Object.getOwnPropertyNames(object)) {
      const {value} = Object.getOwnPropertyDescriptor(object, key);
      if (!isObject(value)) continue;
      seen.add(value);
      if (typeof value === 'function' && isObject(value.prototype)) seen.add(value.prototype);
    }
  };
  leaveAlone(root);
  const isWalked = value => isObject(value) && !Array.isArray(value) && !ArrayBuffer.isView(value) &&
    !(root.Node && value instanceof root.Node);
  const walkProperties = (object, name, parts) => {
    for (const key of Object.getOwnPropertyNames(object)) {
      if (key === 'constructor' || key === 'arguments' || key === 'caller' || key === 'super_') continue;
      const found = Object.getOwnPropertyDescriptor(object, key);
      if (!('value' in found) || !isWalked(found.value)) continue;
      const value = walk(found.value, name + '.' + key, parts + 1);
      if (value === found.value || !found.configurable && !found.writable) continue;
      found.value = value;
      Object.defineProperty(object, key, found);
    }
  };
  const walk = (value, name, parts) => {
    if (!isWalked(value)) return value;
    const isFunction = typeof value === 'function';
    if (seen.has(value) || objects >= MAX_OBJECTS || parts > MAX_PARTS) {
      return isFunction && wrappers.get(value) || value;
    }
    objects++;
    seen.add(value);
    walkProperties(value, name, parts);
    if (!isFunction) {
      const type = Object.getPrototypeOf(value);
      if (type) walk(type, name, parts);
      return value;
    }
    const wrapper = wrap(value, name);
    seen.add(wrapper);
    return wrapper;
  };

  const source = Function.prototype.toString;
  // Timers, promise reactions and listeners that a traced call adds are its callbacks.
  const hook = (object, name, edit) => {
    const found = object && Object.getOwnPropertyDescriptor(object, name);
    if (!found || typeof found.value !== 'function') return;
    const f = found.value;
    found.value = new Proxy(f, {
      apply(target, self, args) {
        edit(args, self, target);
        return apply(target, f === source ? original(self) : self, args);
      },
    });
    originals.set(found.value, f);
    seen.add(found.value);
    Object.defineProperty(object, name, found);
  };
  const planning = args => {
    if (running && stack.length > 0) withCallbacks(args, stack[stack.length - 1]);
  };
  hook(Function.prototype, 'toString', () => {});
  const hookRealm = () => {
    for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'requestAnimationFrame',
      'requestIdleCallback']) hook(root, name, planning);
    for (const name of ['then', 'catch', 'finally']) hook(Promise.prototype, name, planning);
    const events = root.EventTarget && root.EventTarget.prototype;
    hook(events, 'addEventListener', planning);
    hook(events, 'removeEventListener', (args, self, remove) => {
      const known = callbacks.get(args[1]);
      if (known) apply(remove, self, [args[0], known.wrapper, args[2]]);
    });
    if (!isNode) return;
    hook(process, 'nextTick', planning);
    const emitter = require('events').prototype;
    for (const name of ['on', 'addListener', 'prependListener']) {
      hook(emitter, name, args => {
        if (typeof args[1] === 'function' && !args[1].listener) planning(args); // else it is that of once
      });
    }
  };

  let isHooked = false, due = 0;
  const api = {
    trace: (object, name) => walk(object, String(name), 0),
    start() {
      if (running) return;
      if (!isHooked) hookRealm();
      isHooked = true;
      calibrate();
      run++;
      stack = [];
      totals = new Map();
      print('OVERHEAD ' + cost.toFixed(5) + 'ms per timing');
      due = now() + LAG_EVERY;
      lagTimer = apply(nativeInterval, root, [() => {
        const late = now() - due;
        if (late >= 1) print('EV LAG ' + late.toFixed(0) + 'ms');
        due = now() + LAG_EVERY;
      }, LAG_EVERY]);
      if (isNode) lagTimer.unref();
      running = true;
    },
    stop() {
      if (!running) return;
      running = false;
      apply(clear, root, [lagTimer]);
      print('TOTAL OVERHEAD ' + ms(stamps * cost));
      const all = Array.from(totals.values());
      for (const total of all) {
        for (const call of total.later) add(total, call.lasted);
        total.min = Math.min(total.min, total.max); // without an end, both are 0
        total.mean = Math.max(total.min, Math.min(total.max, total.sum / Math.max(1, total.calls - total.open)));
      }
      for (const {name, calls, open, min, mean, max} of all.sort((a, b) => b.mean - a.mean)) {
        print('TOTAL ' + [min, mean, max].map(ms).join(' ') + ' ' + calls + ' ' + name +
          (open > 0 ? ' (' + open + ' open)' : ''));
      }
      flush();
    },
    log(label) {
      if (running) print('LOG ' + ms(now() % 10000) + ' ' + String(label).replace(/[\n\r\u2028\u2029]/g, ' '));
    },
    toggleOn(signal) {
      if (isNode) process.on(signal, () => { if (running) api.stop(); else api.start(); });
    },
    print: isNode ? printNode : all => console.log(all.slice(0, -1)),
  };
  root[mark] = api;
  publish(api);

  if (isNode) {
    const Module = require('module'), thread = require('worker_threads');
    const isTraced = name => {
      const parts = name.split(/[\\/]/), at = parts.indexOf('node_modules');
      return name !== __filename && (at < 0 || parts.length - at - 1 <= MAX_MODULE_PARTS);
    };
    const found = loaded => {
      if (!isTraced(loaded.filename)) return;
      const wrapped = walk(loaded.exports, loaded.filename, 0);
      if (wrapped !== loaded.exports) loaded.exports = wrapped;
    };
    // Modules of Node itself stay unchanged.
    const load = Module._load, builtins = new Set(Module.builtinModules);
    for (const entry of process.moduleLoadList || []) {
      const name = entry.replace('NativeModule ', '');
      if (builtins.has(name)) leaveAlone(require(name));
    }
    Module._load = function(request) {
      const result = apply(load, this, arguments);
      if (builtins.has(String(request).replace(/^node:/, ''))) leaveAlone(result);
      return result;
    };
    const loadFile = Module.prototype.load;
    Module.prototype.load = function() {
      const result = apply(loadFile, this, arguments);
      found(this);
      return result;
    };
    const visited = new Set();
    const visit = loaded => {
      if (!loaded || visited.has(loaded)) return;
      visited.add(loaded);
      loaded.children.forEach(visit);
      if (loaded.loaded) found(loaded);
    };
    visit(require.main);
    process.on('exit', () => api.stop());
    if (thread.isMainThread) api.toggleOn('SIGUSR2');
  } else {
    root.addEventListener('eideticker-tracer', event => {
      if (event.detail === 'start') api.start();
      if (event.detail === 'stop') api.stop();
    });
    const script = root.document && root.document.currentScript;
    if (script && /#on$/.test(script.src)) api.start();
  }
})(typeof globalThis === 'object' ? globalThis : typeof self === 'object' ? self : global);
