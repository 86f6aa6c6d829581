// A bar grows in ten steps of twelve frames. A square turns blue at the end.
import {Bar} from './bar.js';
import {widths} from './widths.js';

const frame = () => new Promise(requestAnimationFrame);
const frames = async count => { for (let i = 0; i < count; i++) await frame(); };

async function play() {
  await new Promise(done => { setTimeout(done, 500); });
  const bar = new Bar(document.querySelector('p'));
  for (const width of widths({count: 10})) {
    await frames(12);
    bar.width = width;
  }
  const {finish} = await import('./finish.js');
  await frames(12);
  finish(document.querySelector('i'), {color: '#00f'});
}

play();
