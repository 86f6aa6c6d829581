// Runs a job: node job.cjs < {name, texts, text, before, rounds, coverage} > {hash, cpu, counted, begun, lost}
// The result has the hash of all steps, the least CPU time of a round in ms, the calls that a round counted, and the
// records of calls that it sent and lost.
'use strict';
const vm = require('node:vm'), {createHash} = require('node:crypto'), {createRequire} = require('node:module');
const {readFileSync} = require('node:fs'), inspector = require('node:inspector');

const {name, texts, text, before, rounds, coverage} = JSON.parse(readFileSync(0, 'utf8'));
const npm = createRequire(process.cwd() + '/../ecma/testdata/package.json');
const TURNS = 8; // of a round that is measured, so that it has its share of garbage collection
const turn = () => new Promise(done => { setImmediate(done); });

// The globals that pages have and Node lacks. The collector accepts all batches.
let bodies = [];
class Response { get status() { return 204; } async text() { return ''; } }
Object.assign(globalThis, {self: globalThis, location: {href: 'http://a.test/'}, addEventListener() {}, Response, async fetch(url, {body}) {
  if (bodies && body) bodies.push(body.slice());
  return new Response();
}});

const job = require('./jobs.cjs')[name];

(async () => {
  if (coverage) {
    const session = new inspector.Session();
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.startPreciseCoverage', {callCount: true, detailed: false});
  }
  // The timers of the runtime are due at the end of each round.
  const timers = [], {setTimeout} = globalThis;
  globalThis.setTimeout = f => { timers.push(f); };
  vm.runInThisContext(before);
  globalThis.setTimeout = setTimeout;
  const loaded = {};
  for (const [id, path] of Object.entries(job.files)) {
    const module = {exports: {}}, require = wanted => loaded[wanted] ?? npm(wanted);
    vm.runInThisContext(`(function(exports,require,module){${texts[path]}\n})`, {filename: path})
      .call(module.exports, module.exports, require, module);
    loaded[id] = module.exports;
  }
  const steps = job.steps(loaded, text), calls = globalThis.callsOfJob ?? (() => 0);
  const round = async () => {
    const all = [];
    for (const step of steps) {
      all.push(await step());
      await turn();
    }
    for (const due of timers.splice(0)) due();
    await turn();
    return createHash('sha256').update(all.join('\n')).digest('hex');
  };
  const loadCalls = calls(), hash = await round(), counted = calls() - loadCalls;
  let begun = 0, lost = 0, cpu = Infinity;
  for (const body of bodies) {
    const view = new DataView(body.buffer);
    for (let n = view.getUint32(32, true), at = 40; n > 0; n--, at += 16) {
      if (body[at] === 1) begun++;
      else if (body[at] === 9) lost += view.getUint32(at + 4, true);
      else if (body[at] === 21) begun += view.getFloat64(at + 8, true);
    }
  }
  bodies = null;
  for (let i = 0; i < rounds; i++) {
    const from = process.cpuUsage();
    for (let k = 0; k < TURNS; k++) if (await round() !== hash) throw new Error(`round ${i} has another hash`);
    const {user, system} = process.cpuUsage(from);
    cpu = Math.min(cpu, (user + system) / 1000 / TURNS);
  }
  process.stdout.write(JSON.stringify({hash, cpu: rounds > 0 ? cpu : 0, counted, begun, lost}), () => process.exit());
})();
