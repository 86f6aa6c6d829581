// landscape paints mountains, layer behind layer, as high as the canvas, and makes sure that it
// holds none of some colours.
'use strict';

function landscape(canvas, without) {
  const { width, height } = canvas;
  const to = canvas.getContext('2d', { alpha: false, willReadFrequently: true });
  const screen = innerHeight;
  const mix = (a, b, u) => a.map((v, i) => Math.round(v + (b[i] - v) * u));
  const css = (c) => `rgb(${c.join(',')})`;
  const sky = to.createLinearGradient(0, 0, 0, screen * 0.62);
  sky.addColorStop(0, '#1d2c56');
  sky.addColorStop(0.55, '#8a5a92');
  sky.addColorStop(1, '#f0a878');
  to.fillStyle = sky;
  to.fillRect(0, 0, width, height);
  to.fillStyle = '#ffdca0';
  to.beginPath();
  to.arc(width * 0.3, screen * 0.4, screen * 0.09, 0, 2 * Math.PI);
  to.fill();
  // From the horizon down: each ridge nearer, larger and of another hour's colour.
  const hues = [[196, 120, 128], [128, 84, 124], [78, 66, 116], [44, 74, 104], [30, 94, 100], [44, 112, 84],
    [96, 118, 66], [150, 104, 56], [120, 62, 60], [66, 44, 80]];
  const gap = screen * 0.11;
  for (let i = 0, base = screen * 0.5; base < height + gap * 2; i++, base += gap) {
    const at = i * 0.75, k = Math.floor(at);
    to.fillStyle = css(mix(hues[k % hues.length], hues[(k + 1) % hues.length], at - k));
    to.beginPath();
    to.moveTo(0, Math.min(height, base + gap * 3));
    for (let x = 0; x <= width; x += 8) {
      const u = x / 1280;
      const up = Math.sin(u * 5 + i * 2.1) * 0.5 + Math.sin(u * 13 + i * 5.3) * 0.3 +
        Math.sin(u * 37 + i * 1.7) * 0.12 + Math.sin(u * 83 + i) * 0.05;
      to.lineTo(x, base - gap * up);
    }
    to.lineTo(width, base + gap * 3);
    to.fill();
  }
  const banned = new Set(without.map((c) => parseInt(c.slice(5, 7) + c.slice(3, 5) + c.slice(1, 3), 16)));
  const pixels = new Uint32Array(to.getImageData(0, 0, width, height).data.buffer);
  if (pixels.some((v) => banned.has(v & 0xffffff))) throw new Error('the landscape holds a colour of the checkerboard');
}
