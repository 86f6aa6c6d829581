// Builds the program in src with ten build tools: node build.mjs OUT. Each has a folder of its own in OUT.
import {mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {createRequire} from 'node:module';
import babel from '@babel/core';
import swc from '@swc/core';
import esbuild from 'esbuild';
import {rollup} from 'rollup';
import ts from 'typescript';
import webpack from 'webpack';
import * as vite from 'vite';
import {compile} from 'svelte/compiler';

process.chdir(import.meta.dirname);
const out = process.argv[2], src = join(import.meta.dirname, 'src'), entry = join(src, 'main.js');
const page = readFileSync('src/index.html', 'utf8'), script = '<script type="module" src="./main.js"></script>';
const modules = readdirSync(src).filter(name => name.endsWith('.js'));
const text = name => readFileSync(join(src, name), 'utf8');

// write adds a file of a tool. The page runs main.js as a module or as a classic script.
const folder = tool => {
  const dir = join(out, tool);
  mkdirSync(dir, {recursive: true});
  return dir;
};
const html = (tool, tag = script, body = page) => { writeFileSync(join(folder(tool), 'index.html'), body.replace(script, tag)); };
const write = (tool, name, code) => { writeFileSync(join(folder(tool), name), code); };
const classic = '<script src="main.js"></script>';

const tools = {
  async esbuild() {
    await esbuild.build({entryPoints: [entry], bundle: true, minify: true, sourcemap: true, outdir: folder('esbuild')});
    html('esbuild', classic);
  },
  async rollup() { // with a chunk
    const bundle = await rollup({input: entry});
    await bundle.write({dir: folder('rollup'), format: 'es'});
    html('rollup');
  },
  async webpack() {
    await new Promise((done, failed) => {
      webpack({mode: 'production', entry, devtool: 'source-map', output: {path: folder('webpack'), filename: 'main.js'}},
        (error, stats) => { if (error || stats.hasErrors()) failed(error ?? stats.toString()); else done(); });
    });
    html('webpack', classic);
  },
  async vite() {
    await vite.build({root: src, base: './', logLevel: 'silent', build: {outDir: join(out, 'vite'), emptyOutDir: true}});
  },
  async parcel() {
    const {Parcel} = createRequire(import.meta.url)('@parcel/core');
    await new Parcel({entries: join(src, 'index.html'), defaultConfig: '@parcel/config-default', mode: 'production',
      shouldDisableCache: true, defaultTargetOptions: {distDir: folder('parcel'), publicUrl: './'}}).run();
  },
  async tsc() { // modules without a bundle
    for (const name of modules) {
      const {outputText} = ts.transpileModule(text(name), {compilerOptions: {target: 'ES2015', module: 'ES2015',
        inlineSourceMap: true}, fileName: name});
      write('tsc', name, outputText);
    }
    html('tsc');
  },
  async babel() { // for old browsers
    const {code} = await babel.transformAsync(await iife(), {presets: [['@babel/preset-env', {targets: 'ie 11'}]],
      configFile: false, sourceType: 'script'});
    write('babel', 'main.js', code);
    html('babel', classic);
  },
  async swc() {
    const {code} = await swc.transform(await iife(), {isModule: false, minify: true, swcrc: false, jsc: {target: 'es2017',
      minify: {compress: true, mangle: true}}});
    write('swc', 'main.js', code);
    html('swc', classic);
  },
  async browserify() {
    for (const name of modules) {
      const {code} = await esbuild.transform(text(name), {format: 'cjs', target: 'es2017'});
      mkdirSync(join(out, 'commonjs'), {recursive: true});
      writeFileSync(join(out, 'commonjs', name), code);
    }
    const browserify = createRequire(import.meta.url)('browserify');
    const code = await new Promise((done, failed) => {
      browserify(join(out, 'commonjs/main.js')).bundle((error, code) => { if (error) failed(error); else done(code); });
    });
    rmSync(join(out, 'commonjs'), {recursive: true});
    write('browserify', 'main.js', code);
    html('browserify', classic);
  },
  async svelte() {
    const plugin = {name: 'svelte', setup(build) {
      build.onLoad({filter: /\.svelte$/}, ({path}) => ({contents: compile(readFileSync(path, 'utf8'), {filename: path}).js.code}));
    }};
    await esbuild.build({stdin: {contents: `import {mount} from 'svelte'; import App from './App.svelte';
      mount(App, {target: document.body});`, resolveDir: src}, bundle: true, minify: true, plugins: [plugin],
      conditions: ['browser'], outfile: join(folder('svelte'), 'main.js')});
    html('svelte', classic, page.replace('<p></p><i></i>', '<body>'));
  },
};

// iife returns the program in one classic script.
async function iife() {
  const bundle = await rollup({input: entry});
  const {output} = await bundle.generate({format: 'iife', inlineDynamicImports: true});
  return output[0].code;
}

for (const [name, build] of Object.entries(tools)) {
  rmSync(join(out, name), {recursive: true, force: true});
  try {
    await build();
    console.log(name);
  } catch (e) {
    console.error(`${name}: ${e.stack ?? e}`);
    process.exitCode = 1;
  }
}
process.exit();
