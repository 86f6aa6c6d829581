// Two runs side by side, in step, with what differs between their frames and what the statistics say in words.

import {complain, fill, h} from '../shared/dom.js';
import {setHere} from '../shared/keys.js';
import {address, go, note} from './router.js';
import {runsOf} from './fleetjobs.js';
import {ComparedRun, tickOf} from './comparedrun.js';
import {counting, DifferenceView} from './difference.js';
import {statistics} from './statistics.js';
import {clock, grouped} from '../shared/format.js';
import {moment} from '../shared/words.js';

/** @param {import('./main.js').Page} page */
export async function comparePage(page) {
  const {main, rig, route: {query}, signal} = page;
  main.className = 'wide';
  const a = query.get('a') ?? '';
  const b = query.get('b') ?? '';
  const picking = await picker(rig, a, b);
  if (signal.aborted) {
    return;
  }
  const place = h('div.compared');
  fill(main, h('header.top', null, h('h1', null, 'Compare'), picking), place);
  if (!a || !b) {
    fill(place, h('p.about', null, 'Name two runs or sets: the first is the base, the second is held against it.'));
    return;
  }
  const words = h('section.card', {'aria-label': 'Statistics'}, h('h2', null, 'In words'),
    h('p.quiet-text', null, 'Comparing …'));
  const together = h('div');
  fill(place, words, together);
  const remote = [a, b].filter((name) => name.includes('/'));
  if (remote.length) { // recordings are on their rigs: the runs' pages relay them
    const sets = [...new Set(remote.map((name) => name.split('~')[0]))];
    fill(together, h('section.card.fleet', {'aria-label': 'Runs'}, h('h2', null, 'Runs'), sets.map((set) => {
      const runs = runsOf(set, signal);
      runs.open = true;
      return runs;
    })));
  }
  const comparison = await judge(page, words, {base: a, with: b, judge_unlike: query.get('unlike') === '1'});
  if (remote.length) {
    return;
  }
  try {
    const runs = await Promise.all([ComparedRun.load(rig, a, comparison?.a, signal),
      ComparedRun.load(rig, b, comparison?.b, signal)]);
    if (!signal.aborted) {
      new Pair(page, runs, together).begin(query);
    }
  } catch (error) {
    complain(error);
  }
}

/**
 * judge shows what the statistics say. Where a verdict was withheld, a checkbox asks for it anyway.
 * @param {import('./main.js').Page} page
 * @param {Element} words
 * @param {import('rig').CompareParams} params
 * @returns {Promise<any>} what eideticker compare prints; null: it failed
 */
async function judge(page, words, params) {
  try {
    const compared = await page.rig.call('compare', params);
    if (page.signal.aborted) {
      return null;
    }
    const box = h('input', {type: 'checkbox', checked: params.judge_unlike});
    box.addEventListener('change', () => {
      note({unlike: box.checked ? '1' : null});
      box.disabled = true;
      judge(page, words, {...params, judge_unlike: box.checked});
    });
    const choice = compared.comparison?.withheld || params.judge_unlike
      ? h('label.check', null, box, ' Judge anyway, though the sides were not measured alike') : null;
    const [title, outcome, ...rest] = statistics(compared);
    fill(words, title, outcome, choice, rest);
    return compared.comparison;
  } catch (error) {
    fill(words, h('h2', null, 'In words'), h('p.refusal', null,
      error instanceof Error ? error.message : String(error)));
    return null;
  }
}

/**
 * picker asks for two runs, sets or baselines.
 * @param {import('./api.js').Rig} rig
 * @param {string} a
 * @param {string} b
 */
async function picker(rig, a, b) {
  const [{sets}, {runs}, {baselines}] = await Promise.all([rig.call('set.list', {limit: 50}),
    rig.call('run.list', {limit: 100, state: 'ok'}), rig.call('baseline.list', {})]);
  const options = [...baselines.map((one) => h('option', {value: one.name}, `baseline ${one.id}`)),
    ...sets.filter((s) => s.runs > 1).map((s) =>
      h('option', {value: s.set}, `set of ${s.runs}, ${s.test}, ${moment(s.started_wall_ns)}`)),
    ...runs.map((r) => h('option', {value: r.run}, `${r.test} ${r.browser} ${r.label}, ${moment(r.started_wall_ns)}`))];
  const input = (/** @type {string} */ name, /** @type {string} */ value) =>
    h('input', {type: 'search', list: 'candidates', value, 'aria-label': name, placeholder: 'run, set or baseline'});
  const base = input('Base', a);
  const other = input('Held against it', b);
  const form = h('form.toolbar.picker', null, h('label', null, 'base ', base), h('label', null, 'against it ', other),
    h('datalist', {id: 'candidates'}, options), h('button.button.main', null, 'Compare'),
    h('button.button', {type: 'button', onclick: () => go(['compare'], {a: other.value.trim(), b: base.value.trim()})},
      'Swap'));
  form.addEventListener('submit', (/** @type {Event} */ event) => {
    event.preventDefault();
    go(['compare'], {a: base.value.trim(), b: other.value.trim()});
  });
  return form;
}

/** Pair keeps two runs in step. */
class Pair {
  /**
   * @param {import('./main.js').Page} page
   * @param {ComparedRun[]} runs
   * @param {Element} place
   */
  constructor(page, runs, place) {
    this.page = page;
    this.runs = runs;
    this.place = place;
    this.step = 0;
    this.difference = new DifferenceView();
    this.searching = new AbortController();
    this.tick = tickOf(runs[0], runs[1]);
    this.counted = counting(null, null);
  }

  /** @param {URLSearchParams} query */
  begin(query) {
    const [a, b] = this.runs;
    const {signal} = this.page;
    this.readout = h('output.readout', null);
    this.slider = h('input.scrub', {type: 'range', min: 0, value: 0, step: 1, 'aria-label': 'Step'});
    this.slider.addEventListener('input', () => this.go(Number(this.slider.value)));
    this.found = h('span.quiet-text', {role: 'status'});
    const windows = a.windows.filter((w) => b.windowLike(w) !== null);
    this.window = h('select', {'aria-label': 'Window'},
      windows.map((w, i) => h('option', {value: String(i)}, w.name || `Window ${i + 1}`)));
    this.window.hidden = windows.length < 2;
    this.window.addEventListener('change', () => this.choose(windows[Number(this.window.value)]));
    const button = (/** @type {string} */ look, /** @type {string} */ title, /** @type {() => void} */ act) =>
      h(`button.${look}`, {title, 'aria-label': title, onclick: act});
    this.play = button('play', 'Play or pause (space)', () => this.toggle());
    fill(this.place, h('section.card.pair', {'aria-label': 'Side by side'},
      h('div.stages', null, this.column(a, 'A, the base'), this.column(b, 'B'), this.difference.root),
      h('div.controls-box', null, this.slider, h('div.controls', null,
        button('back', 'One step back (←)', () => this.go(this.step - 1)), this.play,
        button('on', 'One step on (→)', () => this.go(this.step + 1)), this.readout, this.window,
        h('button.button', {onclick: () => this.findFirst(0)}, 'First difference'),
        h('button.button', {onclick: () => this.findFirst(this.step + 1)}, 'Next difference'), this.found))));
    for (const run of this.runs) {
      run.stage.onShown(() => this.compareFrames());
    }
    a.stage.timeline.onMove(() => this.follow());
    a.stage.video.addEventListener('pause', () => this.paused());
    signal.addEventListener('abort', () => {
      this.searching.abort();
      this.runs.forEach((run) => run.stage.close());
    });
    const named = windows.find((w) => w.name === query.get('window')) ?? windows[0];
    if (!named) {
      this.place.prepend(h('p.refusal.card', null,
        'These runs have no window in common to put them in step: they are shown from their first frame.'));
    }
    if (named) {
      this.window.value = String(windows.indexOf(named));
    }
    this.choose(named ?? null, Number(query.get('step')) || 0);
    setHere([
      {keys: ['ArrowRight', '.'], about: 'one step on', act: () => this.go(this.step + 1)},
      {keys: ['ArrowLeft', ','], about: 'one step back', act: () => this.go(this.step - 1)},
      {keys: ['Shift+ArrowRight'], about: 'ten steps on', act: () => this.go(this.step + 10)},
      {keys: ['Shift+ArrowLeft'], about: 'ten steps back', act: () => this.go(this.step - 10)},
      {keys: [' '], about: 'play or pause both', act: () => this.toggle()},
      {keys: ['Home'], about: 'where both start', act: () => this.go(0)},
      {keys: ['f'], about: 'first frame that differs', act: () => this.findFirst(0)},
      {keys: ['n'], about: 'next frame that differs', act: () => this.findFirst(this.step + 1)},
    ]);
  }

  /**
   * @param {ComparedRun} run
   * @param {string} name
   */
  column(run, name) {
    run.label = h('figcaption', null, '');
    return h('figure.column', null, h('h3', null, name, ' ', h('a', {href: address(['runs', run.id])}, run.id)),
      run.stage.root, run.label);
  }

  /**
   * choose puts the runs in step at the start of a window.
   * @param {import('../shared/film.js').WindowData | null} w of the first
   * @param {number} [step]
   */
  choose(w, step = 0) {
    const [a, b] = this.runs;
    a.begin(w, this.tick);
    b.begin(w && b.windowLike(w), this.tick);
    this.counted = counting(a.window?.whole ?? null, b.window?.whole ?? null);
    this.slider.max = Math.max(a.steps, b.steps) - 1;
    this.go(step);
  }

  /** @param {number} step */
  go(step) {
    this.searching.abort();
    this.found.textContent = '';
    this.step = Math.max(0, Math.min(Number(this.slider.max), step));
    for (const run of this.runs) {
      run.go(this.step);
    }
    this.tell();
    clearTimeout(this.noting);
    this.noting = setTimeout(() => !this.page.signal.aborted &&
      note({step: this.step, window: this.runs[0].window?.name}), 250);
  }

  tell() {
    this.slider.value = String(this.step);
    this.readout.textContent = `step ${grouped(this.step)} · ${clock(this.runs[0].timeAt(this.step))} from the start`;
    for (const run of this.runs) {
      const frame = run.frameAt(this.step);
      run.label.textContent = frame < 0 ? (this.step < run.steps ? 'this frame was not recorded'
        : 'it has ended: its last frame') : `frame ${grouped(frame)}`;
    }
  }

  toggle() {
    this.searching.abort();
    const playing = this.runs.some((run) => run.stage.playing);
    for (const run of this.runs) {
      if (playing) {
        run.stage.player.pause();
      } else if (run.stage.player.video) {
        run.stage.player.play();
      }
    }
    this.play.classList.toggle('playing', !playing);
  }

  /** follow keeps the second video with the first one while they play. */
  follow() {
    const [a, b] = this.runs;
    if (!a.stage.playing) {
      return;
    }
    this.step = a.stepNow();
    this.tell();
    if (b.stage.playing && Math.abs(b.stepNow() - this.step) > 2 && this.step < b.steps) {
      b.jump(this.step);
    }
  }

  paused() {
    this.play.classList.remove('playing');
    this.runs[1].stage.player.pause();
    this.go(this.runs[0].stepNow());
  }

  /** compareFrames shows what differs once both exact frames are there. */
  compareFrames() {
    const [a, b] = this.runs;
    const frames = this.runs.map((run) => run.frameAt(this.step));
    if (frames[0] < 0 || frames[1] < 0) {
      this.difference.none('There is no pair of frames here.');
    } else if (a.stage.shown === frames[0] && b.stage.shown === frames[1]) {
      this.difference.show(a.stage.exact, b.stage.exact, this.counted);
    }
  }

  /** @param {number} from */
  async findFirst(from) {
    this.searching.abort();
    this.searching = new AbortController();
    const {signal} = this.searching;
    const [a, b] = this.runs;
    const last = Math.min(a.steps, b.steps);
    /** @type {number[] | null} the last pair that was looked at, which is alike */
    let alike = null;
    try {
      for (let step = from; step < last; step++) {
        this.found.textContent = `looking at step ${grouped(step)} of ${grouped(last)} …`;
        const frames = this.runs.map((run) => run.frameAt(step));
        if (frames[0] < 0 || frames[1] < 0) {
          continue;
        }
        if (alike && this.counted.exact && !a.changedIn(alike[0], frames[0]) && !b.changedIn(alike[1], frames[1])) {
          continue; // as alike as that
        }
        const [left, right] = await Promise.all(this.runs.map((run, i) => run.search.get(frames[i])));
        if (signal.aborted) {
          return;
        }
        const pixels = this.difference.count(left, right, this.counted);
        if (pixels < 0 || pixels > this.counted.most) {
          this.go(step);
          this.found.textContent = pixels < 0 ? 'the frames differ in size'
            : `step ${grouped(step)} differs in ${grouped(pixels)} pixels`;
          return;
        }
        alike = frames;
      }
      this.found.textContent = from ? 'none after this one' : 'no frame differs';
    } catch (error) {
      this.found.textContent = '';
      complain(error);
    }
  }
}
