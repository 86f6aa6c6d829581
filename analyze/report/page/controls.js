// The bar below a stage: where it stands, and how it is moved.

import {h} from './dom.js';
import {clock, grouped} from './format.js';

/**
 * controls makes the bar.
 * @param {import('./stage.js').Stage} stage
 * @param {boolean} hasVideo
 * @param {() => {name: string, t: number} | null} where the window in which it stands, and the time there
 */
export function controls(stage, hasVideo, where) {
  const {timeline, player, video} = stage;
  const scrub = h('input.scrub', {type: 'range', min: 0, max: Math.max(0, timeline.frames.length - 1), step: 1,
    value: 0, 'aria-label': 'Frame'});
  scrub.addEventListener('input', () => {
    player.pause();
    player.seek(Number(scrub.value));
  });
  const play = h('button.play', {title: hasVideo ? 'Play or pause (space)' : 'This run has no video',
    disabled: !hasVideo, 'aria-label': 'Play', onclick: () => player.toggle()});
  const button = (/** @type {string} */ look, /** @type {number} */ n, /** @type {string} */ title) =>
    h('button.' + look, {title, 'aria-label': title, onclick: () => player.step(n)});
  const number = h('input.frame-number', {type: 'number', min: 0, 'aria-label': 'Go to frame'});
  number.addEventListener('change', () => number.value !== '' && player.seekFrame(Number(number.value)));
  const readout = h('output.readout', {'aria-live': 'off'});
  const chip = h('span.state');
  const speed = h('select', {'aria-label': 'Speed', disabled: !hasVideo},
    [[1, '1 ×'], [0.5, '½ ×'], [0.25, '¼ ×'], [0.1, '⅒ ×']].map(([v, text]) => h('option', {value: v}, text)));
  speed.addEventListener('change', () => { video.playbackRate = Number(speed.value); });
  for (const event of ['play', 'pause']) {
    video.addEventListener(event, () => {
      play.classList.toggle('playing', !video.paused);
      play.setAttribute('aria-label', video.paused ? 'Play' : 'Pause');
    });
  }
  const tell = () => {
    const {frame} = timeline;
    scrub.value = String(timeline.place);
    scrub.setAttribute('aria-valuetext', frame < 0 ? 'lost frame' : `frame ${frame}`);
    if (document.activeElement !== number) {
      number.value = frame < 0 ? '' : String(frame);
    }
    const at = where();
    const when = at ? ` ${clock(at.t)}${at.name ? ' into ' + at.name : ''}`
      : frame >= 0 ? ` ${clock(timeline.time)}` : '';
    readout.textContent = (frame < 0 ? 'lost frame' : '') + when;
    const exact = frame >= 0 && stage.shown === frame;
    chip.className = `state ${exact ? 'exact' : 'refused'}`;
    chip.textContent = frame < 0 ? 'not recorded' : exact ? 'exact pixels'
      : stage.playing || !stage.stills ? 'video, compressed' : 'loading';
    chip.title = exact ? `Every pixel of captured frame ${grouped(frame)}` : '';
  };
  timeline.onMove(tell);
  stage.onShown(tell);
  return h('div.controls-box', null, scrub, h('div.controls', null, button('back', -1, 'One captured frame back (←)'),
    play, button('on', 1, 'One captured frame on (→)'),
    h('label.frame-label', null, 'frame ', number), readout, chip, speed));
}

/**
 * stepKeys are the keys that move a stage.
 * @param {import('./player.js').Player} player
 * @returns {import('./keys.js').Key[]}
 */
export function stepKeys(player) {
  return [
    {keys: ['ArrowRight', '.'], about: 'one captured frame on', act: () => player.step(1)},
    {keys: ['ArrowLeft', ','], about: 'one captured frame back', act: () => player.step(-1)},
    {keys: ['Shift+ArrowRight'], about: 'ten frames on', act: () => player.step(10)},
    {keys: ['Shift+ArrowLeft'], about: 'ten frames back', act: () => player.step(-10)},
    {keys: [' '], about: 'play or pause', act: () => player.toggle()},
  ];
}
