// The stutter page adds this script late. Its code outside functions holds up a picture.
'use strict';

{
  const begin = performance.now();
  let work = 0;
  while (performance.now() - begin < 200) {
    for (let i = 0; i < 2000; i++) work = Math.imul(work ^ i, 0x9e3779b1) >>> 7;
  }
  lateScripts.push({ inside: performance.now() - begin });
}
