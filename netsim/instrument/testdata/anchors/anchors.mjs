// Rewrites programs with other tools: node anchors.mjs < {texts, turns} > {texts: {path: istanbul's}, ms: {tool: {path: least}}, clock}
// The CPU time includes the tools' other threads. Istanbul counts statements, branches and functions; swc only prints.
// The clock is the time of one performance.now(), in ns.
import {createRequire} from 'node:module';
import {readFileSync} from 'node:fs';

const npm = createRequire(import.meta.url);
const babel = npm('@babel/core'), swc = npm('@swc/core'), istanbul = npm.resolve('babel-plugin-istanbul');
const options = {
  babelrc: false, configFile: false, cwd: '/', sourceType: 'script', compact: true,
  plugins: [[istanbul, {cwd: '/', exclude: [], excludeNodeModules: false}]],
};
const tools = {
  istanbul: (path, text) => babel.transformSync(text, {...options, filename: '/' + path}).code,
  swc: (path, text) => swc.transformSync(text, {swcrc: false, configFile: false, isModule: false, jsc: {target: 'es2022'}}).code,
};
const {texts, turns} = JSON.parse(readFileSync(0, 'utf8')), result = {texts: {}, ms: {istanbul: {}, swc: {}}, clock: Infinity};
for (let i = 0; i < turns; i++) {
  for (const [path, text] of Object.entries(texts)) {
    for (const tool in tools) {
      const from = process.cpuUsage(), code = tools[tool](path, text), {user, system} = process.cpuUsage(from);
      result.ms[tool][path] = Math.min(result.ms[tool][path] ?? Infinity, (user + system) / 1000);
      if (tool === 'istanbul') result.texts[path] = code;
    }
  }
}
const now = performance.now.bind(performance);
for (let i = 0; i < 50; i++) {
  const from = process.cpuUsage();
  for (let n = 0; n < 1e5; n++) now();
  const {user, system} = process.cpuUsage(from);
  result.clock = Math.min(result.clock, (user + system) / 100);
}
process.stdout.write(JSON.stringify(result));
