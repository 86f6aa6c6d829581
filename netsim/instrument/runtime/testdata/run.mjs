// Runs preludes, each in a realm of its own: node run.mjs < cases > results, with a line in JSON for each
// A case is {prelude, code, worker}. The code may await and uses rig. The result has all messages of the realm.
import vm from 'node:vm';
import {createInterface} from 'node:readline';

const decode = bytes => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const u32 = at => view.getUint32(at, true), f64 = at => view.getFloat64(at, true);
  const n = u32(32), m = u32(36), records = [];
  for (let at = 40; at < 40 + 16 * n; at += 16)
    records.push({code: view.getUint8(at), argument: view.getUint16(at + 2, true), id: u32(at + 4), at: f64(at + 8)});
  return {
    magic: new TextDecoder().decode(bytes.subarray(0, 4)), version: view.getUint8(4), kind: view.getUint8(5),
    realm: u32(8), sequence: u32(12), origin: f64(16), sent: f64(24), bytes: bytes.length, size: 40 + 16 * n + m,
    records, details: JSON.parse(new TextDecoder().decode(bytes.subarray(40 + 16 * n))),
  };
};

let failures = []; // of the realm that runs
process.on('unhandledRejection', e => failures.push(String(e)));

async function run({prelude, code, worker}) {
  const requests = [], batches = [], timers = [], listeners = {};
  failures = [];
  let time = 100, answers = () => 204, beaconRoom = 65536;
  class Response {
    #status; #text;
    constructor(status, text) { this.#status = status; this.#text = text; }
    get status() { return this.#status; }
    async text() { return this.#text; }
  }
  const questions = [];
  class XMLHttpRequest {
    #status = 0; #text = '';
    open(method, url, later) { this.question = {method, url, later}; }
    send(text) {
      const {status, answer, wait} = rig.rewrite(text);
      questions.push({...this.question, text});
      time += wait ?? 0;
      if (status === 0) throw new Error('NetworkError');
      this.#status = status;
      this.#text = answer ?? '';
    }
    get status() { return this.#status; }
    get responseText() { return this.#text; }
  }
  class Document { get visibilityState() { return 'visible'; } }
  class Event {
    constructor(fields) { this.fields = fields; this.isTrusted = true; }
    get target() { return this.fields.target; }
  }
  class ErrorEvent extends Event {}
  for (const name of ['message', 'filename', 'lineno', 'colno', 'error'])
    Object.defineProperty(ErrorEvent.prototype, name, {get() { return this.fields[name]; }});
  class PromiseRejectionEvent extends Event { get reason() { return this.fields.reason; } }
  class CustomEvent extends Event { get detail() { return this.fields.detail; } }
  class Node { get baseURI() { return 'http://a.test/dir/'; } }
  class Element extends Node {
    constructor(name, attributes) { super(); this.name = name; this.attributes = attributes; }
    get localName() { return this.name; }
    getAttribute(name) { return this.attributes[name] ?? null; }
  }
  const globals = {
    performance: {now: () => time, timeOrigin: 5000}, TextEncoder, Blob, URL, Response, crypto, Event, ErrorEvent,
    PromiseRejectionEvent, CustomEvent, Node, Element, queueMicrotask, XMLHttpRequest,
    location: {href: 'http://a.test/page?secret=1#x'},
    setTimeout: (f, ms) => { timers.push({f, at: time + ms}); },
    addEventListener: (name, f, capture) => { (listeners[name] ??= []).push({f, capture}); },
    navigator: {sendBeacon(url, data) {
      const size = data.size ?? data.byteLength;
      if (size > beaconRoom) return false;
      beaconRoom -= size;
      const kept = data instanceof Blob ? data.arrayBuffer() : Promise.resolve(data.slice().buffer);
      requests.push({url, beacon: true, type: data.type});
      batches.push(kept.then(b => decode(new Uint8Array(b))));
      return true;
    }},
    async fetch(url, init) {
      const {method, credentials, mode, keepalive} = init;
      requests.push({url, method, credentials, mode, keepalive, type: init.headers['Content-Type']});
      if (url.includes('/clock?')) {
        time += 2;
        return new Response(200, String(Math.round((time - 1) * 1e6)));
      }
      const status = answers(requests.length);
      if (status === 204) batches.push(decode(new Uint8Array(init.body)));
      if (status === 0) throw new TypeError('fetch failed');
      return new Response(status, '');
    },
  };
  const observers = {longtask() {}, navigation() {}, resource() {}};
  class PerformanceEntry {
    constructor(start, duration, fields) { this.fields = {start, duration, ...fields}; }
    get name() { return this.fields.name; }
    get startTime() { return this.fields.start; }
    get duration() { return this.fields.duration; }
  }
  class PerformanceResourceTiming extends PerformanceEntry {
    get initiatorType() { return this.fields.by; }
    get responseStart() { return this.fields.first; }
    get responseEnd() { return this.fields.start + this.fields.duration; }
  }
  class PerformanceObserverEntryList {
    constructor(entries) { this.entries = entries; }
    getEntries() { return this.entries; }
  }
  class PerformanceObserver {
    constructor(f) { this.f = f; }
    observe({entryTypes}) { for (const type of entryTypes) observers[type] = this.f; }
  }
  Object.assign(globals, {PerformanceEntry, PerformanceResourceTiming, PerformanceObserver, PerformanceObserverEntryList});
  if (!worker) {
    globals.document = Object.assign(new Document(), {currentScript: {remove() { requests.push({removed: true}); }}});
    globals.Document = Document;
  }
  const context = vm.createContext(globals);
  const global = vm.runInContext('globalThis', context);
  context.self = global;
  context.top = global;
  const turn = () => new Promise(done => setImmediate(done));
  const rig = context.rig = {
    turn, requests, questions, rewrite: () => ({status: 204}),
    pass(ms) { time += ms; },
    // longTask reports that a task of some ms has just ended.
    longTask(ms) { observers.longtask(new PerformanceObserverEntryList([new PerformanceEntry(time - ms, ms)])); },
    // requested reports a request that has just ended, and its time until the first byte.
    requested(name, by, ms, wait = 0) {
      observers[by === 'navigation' ? by : 'resource'](new PerformanceObserverEntryList(
        [new PerformanceResourceTiming(time - ms, ms, {name, by, first: wait && time - ms + wait})]));
    },
    answer(f) { answers = f; },
    fire(name, fields, type = 'Event') {
      for (const l of listeners[name] ?? []) l.f(new globals[type]({target: global, ...fields}));
    },
    element: (name, attributes) => new Element(name, attributes),
    listeners: name => (listeners[name] ?? []).map(l => l.capture),
    // timers runs what is due until a time has passed.
    async timers(ms) {
      for (const end = time + ms; ;) {
        await turn();
        timers.sort((a, b) => a.at - b.at);
        if (!timers.length || timers[0].at > end) { time = Math.max(time, end); return; }
        const {f, at} = timers.shift();
        time = Math.max(time, at);
        f();
      }
    },
  };
  const result = {value: null, thrown: ''};
  try {
    vm.runInContext(prelude, context);
    await turn();
    const then = vm.runInContext('Promise.prototype.then', context); // the code may replace it
    const promise = vm.runInContext(`(async () => {${code}\n})()`, context);
    result.value = await new Promise((done, fail) => { then.call(promise, done, fail); });
    await rig.timers(0);
  } catch (e) { result.thrown = String(e?.stack ?? e); }
  const sent = await Promise.all(batches);
  await turn(); // for rejections that come late
  return Object.assign(result, {requests, failures, batches: sent});
}

// Realms share some objects of Node, which get back what preludes and pages change.
const shared = [TextEncoder, Blob, URL, crypto].flatMap(o => [o, o.prototype ?? Object.getPrototypeOf(o)])
  .map(o => [o, Object.getOwnPropertyDescriptors(o)]);

for await (const line of createInterface({input: process.stdin})) {
  process.stdout.write(JSON.stringify(await run(JSON.parse(line))) + '\n');
  for (const [o, was] of shared) {
    for (const key of Reflect.ownKeys(o)) if (!Object.hasOwn(was, key)) delete o[key];
    Object.defineProperties(o, was);
  }
}
