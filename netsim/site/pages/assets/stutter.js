// The content of the stutter page: an animation that two calls of slow() and a script hold up.
'use strict';

const boxes = document.querySelectorAll('.box'), number = document.getElementById('number');
const stalls = new Map([[50, 150], [110, 250]]); // picture → ms
const slowCalls = [], lateScripts = []; // durations in ms

// slow works for a number of milliseconds, and notes for how long it did.
function slow(ms) {
  const begin = performance.now();
  let work = 0;
  while (performance.now() - begin < ms) {
    for (let i = 0; i < 2000; i++) work = Math.imul(work ^ i, 0x9e3779b1) >>> 7;
  }
  slowCalls.push(performance.now() - begin);
  return work;
}

function move(n) {
  const width = innerWidth * 0.79;
  boxes.forEach((box, i) => {
    box.style.transform = `translateX(${(n * (i + 2) * 3) % width}px)`;
  });
  number.textContent = String(n + 1).padStart(3, '0');
}

function advance(n) {
  if (stalls.has(n)) slow(stalls.get(n));
  if (n === 75) {
    const script = document.createElement('script');
    script.src = '/assets/late.js';
    document.body.append(script);
  }
  move(n);
}
