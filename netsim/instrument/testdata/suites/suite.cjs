// Runs the test suite of a library: node suite.cjs < {suite, root, texts, before} > [[name, passed], …]
// texts has other contents of files, by absolute path. before runs before all of them.
'use strict';
const vm = require('node:vm'), Module = require('node:module'), path = require('node:path');
const {readFileSync} = require('node:fs'), {createRequire} = Module;

const {suite, root, texts, before} = JSON.parse(readFileSync(0, 'utf8'));
const npm = createRequire(__filename), results = [];

// The globals that pages have and Node lacks, in both ways to run. The collector accepts all batches.
class Response { get status() { return 204; } async text() { return ''; } }
for (const [name, value] of Object.entries({self: globalThis, location: {href: 'http://a.test/'}, addEventListener() {},
  Response, fetch: async () => new Response()})) {
  Object.defineProperty(globalThis, name, {value, configurable: true, writable: true, enumerable: false});
}
const compile = Module.prototype._compile;
Module.prototype._compile = function (text, filename) { return compile.call(this, texts[filename] ?? text, filename); };
const file = name => path.join(root, name);
const add = (name, passed) => { results.push([String(name), Boolean(passed)]); };
// Names of assertions may contain stacks and addresses of files.
const own = name => String(name).split('\n')[0];

// Libraries that the suites of Debian's source packages require by a path.
const others = {'../node_modules/lodash/lodash.js': 'lodash', '../acorn': 'acorn', '../acorn-loose': 'acorn-loose'};
const resolve = Module._resolveFilename;
Module._resolveFilename = function (wanted, parent, ...rest) {
  if (!parent?.filename?.startsWith(root)) return resolve.call(this, wanted, parent, ...rest);
  if (others[wanted]) return npm.resolve(others[wanted]);
  try { return resolve.call(this, wanted, parent, ...rest); } catch (e) {
    if (wanted.startsWith('.')) throw e;
    return npm.resolve(wanted);
  }
};

const suites = {
  async qs() {
    const tape = npm('tape'), stream = tape.createStream({objectMode: true});
    let test = '';
    stream.on('data', row => {
      if (row.type === 'test') test = row.name;
      if (row.type === 'assert') add(`${test}: ${own(row.name)}`, row.ok);
    });
    for (const name of ['parse', 'stringify', 'utils']) require(file(`test/${name}.js`));
    await new Promise(done => { stream.on('end', done); });
  },

  // A small mocha: hooks and tests run in order.
  async numeral() {
    const tests = [];
    let path = [], hooks = [];
    Object.assign(globalThis, {
      describe(name, body) {
        const outer = hooks;
        path.push(name);
        hooks = [...outer];
        body();
        path.pop();
        hooks = outer;
      },
      it(name, body) { tests.push([[...path, name].join(' '), body, hooks]); },
      beforeEach(body) { hooks.push(['before', body]); }, afterEach(body) { hooks.push(['after', body]); },
      before(body) { hooks.push(['before', body]); }, after(body) { hooks.push(['after', body]); },
    });
    const {readdirSync} = require('node:fs');
    const of = folder => readdirSync(file('tests/' + folder)).filter(n => n.endsWith('.js')).sort()
      .map(n => `tests/${folder}/${n}`);
    for (const name of ['tests/numeral.js', ...of('formats'), ...of('locales')]) require(file(name));
    for (const [name, body, around] of tests) {
      const run = when => { for (const [at, hook] of around) if (at === when) hook(); };
      try {
        run('before');
        body();
        add(name, true);
      } catch (e) { add(name + ' ' + own(e.message), false); }
      run('after');
    }
  },

  async lodash() {
    process.argv.splice(2);
    const QUnit = npm('qunit-extras');
    const ended = new Promise(done => { QUnit.done(done); });
    const tests = new Map(); // tests with timers are repeated, and the last time counts
    QUnit.testDone(({module, name, failed, total}) => { tests.set(`${module}: ${name}: ${total}`, failed === 0); });
    globalThis.QUnit = QUnit;
    require(file('test/test.js'));
    await ended;
    for (const [name, passed] of tests) add(name, passed);
  },

  async acorn() {
    const driver = require(file('test/driver.js'));
    const lists = readFileSync(file('test/run.js'), 'utf8').matchAll(/require\("(\.\/tests.*?\.js)"\)/g);
    for (const [, name] of lists) require(file('test/' + name));
    const run = (parse, config) => {
      driver.runTests({parse, ...config}, (state, code) => {
        add(`${results.length} ${own(code).slice(0, 25)}`, state === 'ok');
      });
    };
    run(npm('acorn').parse, {});
    run(npm('acorn-loose').parse, {loose: true, filter: ({options = {}}) => options.loose !== false});
  },
};

const {stdout, exit} = process, write = stdout.write.bind(stdout);
stdout.write = () => true; // the output of suites
process.exit = () => {};
(async () => {
  if (before) vm.runInThisContext(before);
  await suites[suite]();
  write(JSON.stringify(results), () => { exit(); });
})().catch(e => {
  console.error(e);
  exit(1);
});
