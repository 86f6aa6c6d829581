// A set of the store's runs: its values, and its runs in the order in which they were made.

import {complain, fill, later} from '../shared/dom.js';
import {verdict} from '../shared/compared.js';
import {setView} from '../shared/setview.js';
import {fetchFile} from './api.js';
import {baselineOf} from './baseline.js';
import {address} from './router.js';

/** @typedef {import('rig').RunInfo} RunInfo */

/**
 * setPage shows a set. It returns false where no run is of that set.
 * @param {import('./main.js').Page} page
 * @param {string} id
 */
export async function setPage({main, rig, signal}, id) {
  /** @type {Element | null} */
  let baseline = null; // it stays, since it may be being clicked
  /** @type {Plan} */
  let plan = {variants: [], plain: [], judged: false}; // it does not change
  /** @type {string[]} */
  let costs = [];
  let compared = 0; // runs of which they are
  const show = async () => {
    const runs = await allRuns(rig, id);
    const variantOf = variantsOf(runs, id);
    if (!plan.variants.length && new Set(runs.map(variantOf)).size > 1) {
      plan = await planOf(id, signal);
    }
    const byPlan = ordered(runs, id, plan.variants);
    const values = await valuesOf(rig, id, byPlan);
    const sides = comparedOf(byPlan, id, plan);
    const good = byPlan.filter((r) => r.state === 'ok').length;
    if (good !== compared) { // not at each event
      try {
        [costs, compared] = [await costsOf(rig, id, byPlan, plan), good];
      } catch {
        costs = []; // the next event asks again
      }
    }
    if (runs.length && !signal.aborted) {
      main.className = 'comparison';
      const variants = [...new Set(byPlan.map(variantOf))];
      baseline ??= baselineOf(rig, id, runs[0].test);
      fill(main, setView({name: id, test: runs[0].test, variants, values, costs, warnings: [],
        compare: sides.length ? address(['compare'], {a: `${id}~${sides[0]}`, b: `${id}~${sides[1]}`,
          ...plan.judged ? {unlike: '1'} : {}}) : '',
        compared: variants.filter((v) => byPlan.some((r) => variantOf(r) === v && sides.includes(folderOf(r, id)))),
        runs: runs.map((r) => ({dir: nameOf(r, id), variant: variantOf(r), state: r.state, reason: r.reason ?? '',
          warm_up: r.warm_up, report: address(['runs', r.run])}))}, 'Set', 'Values'));
      main.querySelector('header')?.append(' ', baseline ?? '');
    }
    return runs.length > 0;
  };
  const there = await show();
  if (there) {
    const again = later(() => show().catch(complain), 400);
    rig.follow(signal, (event) => (event.store || event.run) && again(), again);
  }
  return there;
}

/**
 * allRuns are those of a set, oldest first.
 * @param {import('./api.js').Rig} rig
 * @param {string} set
 */
async function allRuns(rig, set) {
  /** @type {RunInfo[]} */
  const all = [];
  let cursor = '';
  do {
    const {runs, next} = await rig.call('run.list', {set, limit: 200, cursor: cursor || undefined});
    all.push(...runs);
    cursor = next;
  } while (cursor);
  return all.reverse();
}

/**
 * Plan has the folders of a set's variants, the base first, and those of plain runs, each before its profiled ones.
 * @typedef {{variants: string[], plain: string[], judged: boolean}} Plan
 */

/**
 * planOf returns the plan of a set; without variants: the set has none.
 * @param {string} set
 * @param {AbortSignal} signal
 * @returns {Promise<Plan>}
 */
async function planOf(set, signal) {
  const list = (/** @type {any} */ names) => Array.isArray(names) ? names.slice(0, 16).map(String) : [];
  try {
    const plan = await (await fetchFile(set, 'set.json', signal)).json();
    return {variants: list(plan.variants), plain: list(plan.plain), judged: plan.observer_effect === true};
  } catch {
    return {variants: [], plain: [], judged: false}; // the page is gone, or somebody pushed the set without it
  }
}

/**
 * ordered sorts runs by their variants as planned. Without a plan it sorts by name. Runs of a variant keep their order.
 * @param {RunInfo[]} runs
 * @param {string} set
 * @param {string[]} plan
 */
function ordered(runs, set, plan) {
  const variantOf = variantsOf(runs, set);
  const place = (/** @type {RunInfo} */ r) => {
    const at = plan.indexOf(nameOf(r, set).split('/')[0]);
    return at < 0 ? plan.length : at;
  };
  return [...runs].sort((a, b) => place(a) - place(b) || (variantOf(a) < variantOf(b) ? -1
    : Number(variantOf(a) > variantOf(b))));
}

/**
 * foldersOf returns the folders of variants with runs that count.
 * @param {RunInfo[]} runs as planned
 * @param {string} set
 */
const foldersOf = (runs, set) => [...new Set(runs.filter((r) => r.state === 'ok' && !r.warm_up)
  .map((r) => folderOf(r, set)).filter(Boolean))];

/**
 * comparedOf returns the two variants of a set that are compared; empty: it has not two. Plain ones beside profiled
 * ones do not count, if two others are left.
 * @param {RunInfo[]} runs as planned
 * @param {string} set
 * @param {Plan} plan
 */
function comparedOf(runs, set, {plain}) {
  const folders = foldersOf(runs, set);
  const sides = folders.length === 2 ? folders : folders.filter((f) => !plain.includes(f));
  return sides.length === 2 ? sides : [];
}

/**
 * costsOf states the costs of profiles: those of profiled runs against the plain ones beside them.
 * @param {import('./api.js').Rig} rig
 * @param {string} set
 * @param {RunInfo[]} runs as planned
 * @param {Plan} plan
 */
async function costsOf(rig, set, runs, {variants, plain}) {
  const there = foldersOf(runs, set);
  const costs = [];
  for (const [i, base] of variants.slice(0, -1).entries()) { // one at a time: the rig may be measuring
    const other = variants[i + 1];
    if (plain.includes(base) && there.includes(base) && there.includes(other)) {
      const c = await rig.call('compare', {base: `${set}~${base}`, with: `${set}~${other}`});
      costs.push(c.comparison?.cost ? verdict(c.outcome, c.sentence, c.comparison).sentence
        : `The cost of the profile of ${other} is unknown: it was not recorded in each of its runs.`);
    }
  }
  return costs;
}

/** @typedef {(of: {device: string, browser: string, run?: string, variant?: string}) => string} VariantOf */

/**
 * variantsOf tells the variants of runs apart: by their names, where they have their own, else by their browsers, and
 * by their devices where there are several.
 * @param {RunInfo[]} runs
 * @param {string} set
 * @returns {VariantOf}
 */
function variantsOf(runs, set) {
  const several = new Set(runs.map((r) => r.device)).size > 1;
  return ({device, browser, run, variant}) => {
    const parts = run?.startsWith(`${set}~`) ? run.slice(set.length + 1).split('~') : [];
    const usual = ['rejected', 'failed', 'warm-up', browser, device, `${device}-${browser}`];
    const name = variant || (parts.length > 1 && !usual.includes(parts[0]) ? parts[0] : '');
    return name || (several ? [device, browser].filter(Boolean).join(' · ') : browser || device);
  };
}

/**
 * folderOf is the folder of a run's variant; empty: its set has one variant.
 * @param {RunInfo} r
 * @param {string} set
 */
const folderOf = (r, set) => r.run.startsWith(`${set}~`) ? nameOf(r, set).split('/').slice(0, -1).join('/') : '';

/**
 * nameOf is a run's name within its set.
 * @param {RunInfo} r
 * @param {string} set
 */
const nameOf = (r, set) => r.run.startsWith(`${set}~`) ? r.run.slice(set.length + 1).replaceAll('~', '/') : r.run;

/**
 * valuesOf has the headline values of the runs that count. The rig computes their medians and intervals.
 * @param {import('./api.js').Rig} rig
 * @param {string} set
 * @param {RunInfo[]} runs as planned
 */
async function valuesOf(rig, set, runs) {
  const good = runs.filter((r) => r.state === 'ok' && !r.warm_up);
  const times = runs.map((r) => r.started_wall_ns);
  const kinds = new Map(good.flatMap((r) => r.values ?? []).map((v) =>
    [`${v.window ?? ''}/${v.measure}.${v.name}`, v]));
  const variantOf = variantsOf(runs, set);
  const several = new Set([...kinds.values()].map((v) => v.window)).size > 1;
  return Promise.all([...kinds.values()].slice(0, 5).map(async (kind) => {
    const {measure, name, window, unit} = kind;
    const points = (await Promise.all([...new Set(runs.map((r) => r.test))].map((test) => rig.call('trend', {test,
      measure, value: name, window: window || undefined, from_wall_ns: Math.min(...times),
      to_wall_ns: Math.max(...times) + 1e9})))).flatMap((t) => t.points);
    const samples = [...new Set(good.map(variantOf))].flatMap((variant) => {
      const of = good.filter((r) => variantOf(r) === variant);
      const median = points.find((p) => variantOf(p) === variant
        && (p.id === set || of.some((r) => r.run === p.id)));
      const values = of.flatMap((r) => (r.values ?? []).filter((v) => v.measure === measure && v.name === name
        && (v.window ?? '') === (window ?? '')).slice(0, 1).map((v) => ({run: nameOf(r, set).split('/').pop() ?? '',
        value: v.value})));
      return median && values.length ? [{name: variant, text: median.text, values, median: {estimate: median.median,
        low: median.interval ? median.low : null, high: median.interval ? median.high : null}}] : [];
    });
    return {name: `${measure}.${name}`, window: several ? window ?? '' : '', measure, value: name, unit, samples};
  })).then((all) => all.filter((v) => v.samples.length));
}
