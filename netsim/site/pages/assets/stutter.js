// The content of the stutter page: an animation that two calls of slow() and a script hold up.
'use strict';

const boxes = document.querySelectorAll('.box'), number = document.getElementById('number');
const first = 50, rest = 30; // pictures before the first hold-up, and after each
const slowCalls = [], lateScripts = []; // {inside, around}: ms, without and with entry and return

// slow works for a number of milliseconds, and notes for how long it did.
function slow(ms) {
  const begin = performance.now();
  let work = 0;
  while (performance.now() - begin < ms) {
    for (let i = 0; i < 2000; i++) work = Math.imul(work ^ i, 0x9e3779b1) >>> 7;
  }
  slowCalls.push({ inside: performance.now() - begin });
  return work;
}

function move(n) {
  const width = innerWidth * 0.79;
  boxes.forEach((box, i) => {
    box.style.transform = `translateX(${(n * (i + 2) * 3) % width}px)`;
  });
  number.textContent = String(n + 1).padStart(3, '0');
}

const holdUps = [() => call(150), addScript, () => call(250)];
let held = 0, due = first, shown = 0, left = 0; // the next hold-up's picture, the last one and its time

function call(ms) {
  const entered = performance.now();
  slow(ms);
  slowCalls.at(-1).around = performance.now() - entered;
}

function addScript() {
  const script = document.createElement('script');
  script.src = '/assets/late.js';
  script.onload = () => { lateScripts[0].around = performance.now() - left; };
  document.body.append(script);
}

function advance(n) {
  const awaited = held === 2 && lateScripts.length === 0; // a busy machine loads the script later
  if (awaited) due = n + rest;
  if (n === due && held < holdUps.length) {
    holdUps[held++]();
    due = n + rest;
  }
  move(n);
  shown = n;
  left = performance.now();
}

// over ends the page when each hold-up has had pictures before and after it.
const over = () => held === holdUps.length && shown >= due;
