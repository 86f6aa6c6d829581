// How often each pixel changed, over the frame: numbers from the NPY file that stands beside the picture.

/** @typedef {{width: number, height: number, counts: Uint32Array, most: number}} Heat */

const maxPixels = 1 << 26;

/**
 * readHeat reads what package render writes: an array of uint32, rows of pixels.
 * @param {ArrayBuffer} file
 * @returns {Heat}
 */
export function readHeat(file) {
  const bytes = new Uint8Array(file);
  const begins = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1].every((b, i) => bytes[i] === b); // "\x93NUMPY", version 1
  const headerEnd = begins ? 10 + new DataView(file).getUint16(8, true) : 0;
  const header = new TextDecoder('latin1').decode(bytes.subarray(10, headerEnd));
  const shape = /'descr': '<u4', 'fortran_order': False, 'shape': \((\d+), (\d+)\)/.exec(header);
  const [height, width] = shape ? [Number(shape[1]), Number(shape[2])] : [0, 0];
  if (!shape || width * height > maxPixels || file.byteLength < headerEnd + 4 * width * height) {
    throw new Error('the numbers of the heat map cannot be read');
  }
  const counts = new Uint32Array(file.slice(headerEnd, headerEnd + 4 * width * height));
  return {width, height, counts, most: counts.reduce((most, n) => Math.max(most, n), 0)};
}

/** stops of the colours from few to many: lighter is always more, also without colour. */
const stops = [[33, 11, 84], [112, 17, 115], [186, 40, 86], [230, 92, 39], [245, 161, 22], [250, 240, 170]];

/**
 * heatColour is that of a share of the most changes.
 * @param {number} t from 0 to 1
 * @returns {number[]}
 */
function heatColour(t) {
  const at = Math.min(0.9999, Math.max(0, t)) * (stops.length - 1);
  const i = Math.floor(at);
  return stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * (at - i)));
}

/**
 * drawHeat draws it; what did not change stays clear. The scale is by square root, since few pixels change most.
 * @param {HTMLCanvasElement} canvas
 * @param {Heat} heat
 */
export function drawHeat(canvas, heat) {
  canvas.width = heat.width;
  canvas.height = heat.height;
  const context = canvas.getContext('2d');
  if (!context || !heat.width) {
    return;
  }
  const table = new Uint32Array(257);
  for (let i = 0; i <= 256; i++) {
    const [r, g, b] = heatColour(i / 256);
    table[i] = (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  }
  const image = context.createImageData(heat.width, heat.height);
  const out = new Uint32Array(image.data.buffer);
  for (let i = 0; i < out.length; i++) {
    const n = heat.counts[i];
    out[i] = n ? table[Math.round(256 * Math.sqrt(n / heat.most))] : 0;
  }
  context.putImageData(image, 0, 0);
}

/** gradient is the scale's colours for a legend, as a row of cells, since no style may stand in the document. */
export function gradient() {
  const canvas = document.createElement('canvas');
  canvas.width = 120;
  canvas.height = 10;
  const context = canvas.getContext('2d');
  for (let x = 0; context && x < canvas.width; x++) {
    context.fillStyle = `rgb(${heatColour(x / canvas.width).join(' ')})`;
    context.fillRect(x, 0, 1, canvas.height);
  }
  return canvas;
}
