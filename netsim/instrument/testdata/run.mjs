// Runs programs, each in a realm of its own: node --experimental-vm-modules run.mjs < cases.json > results.json
// A case is {text, module, runtime, nonce}. Its result has all visible behaviour and the runtime's report.
import vm from 'node:vm';
import {readFileSync} from 'node:fs';
import {inspect} from 'node:util';

const show = v => {
  try {
    if (v !== null && typeof v === 'object' && Object.prototype.toString.call(v) === '[object Error]')
      return `${v.name}: ${v.message}`;
    return typeof v === 'function' ? `function ${v.name}` : inspect(v, {depth: 4});
  } catch (e) { return 'not shown: ' + e; }
};
const turn = () => new Promise(done => setImmediate(done));

async function run({text, module, runtime, nonce}) {
  const result = {log: [], end: ''};
  const context = vm.createContext({log: (...values) => { result.log.push(values.map(show).join(' ')); }});
  vm.runInContext(runtime, context);
  try {
    if (module) {
      const m = new vm.SourceTextModule(text, {context, initializeImportMeta: meta => { meta.url = 'test:main'; }});
      await m.link(() => { throw new Error('no imports'); });
      await m.evaluate();
      result.end = 'value of ' + show(m.namespace.default);
    } else {
      result.end = 'value ' + show(vm.runInContext(text, context));
    }
  } catch (e) { result.end = 'throws ' + show(e); }
  for (let i = 0; i < 4; i++) await turn();
  return Object.assign(result, vm.runInContext(`report${nonce}()`, context));
}

process.on('unhandledRejection', () => {}); // the same in plain programs
const results = [];
for (const c of JSON.parse(readFileSync(0, 'utf8'))) results.push(await run(c));
process.stdout.write(JSON.stringify(results));
