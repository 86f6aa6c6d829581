// The parts of a load page, from its manifest: rectangles that are complete from one frame to the
// next. Each is an element, and each can be painted on a canvas as well, where its pixels are
// counted: the page knows how much of itself is as it will be in the end, to the pixel.
'use strict';

const Parts = (() => {
  const scale = (v, to, of) => Math.round(v * to / of);

  // place scales a part's edges from 1280x720 to the viewport.
  function place(part) {
    const x = scale(part.x, innerWidth, 1280), y = scale(part.y, innerHeight, 720);
    return { x, y, width: scale(part.x + part.width, innerWidth, 1280) - x,
      height: scale(part.y + part.height, innerHeight, 720) - y };
  }

  // letters sets words in lines. How many pixels they have depends on the fonts of this machine.
  function letters(context, part, { x, y, width, height }) {
    context.fillStyle = part.ground;
    context.fillRect(x, y, width, height);
    const size = Math.max(6, scale(part.size, innerHeight, 720));
    context.font = `${part.bold ? 'bold ' : ''}${size}px "DejaVu Sans", Verdana, sans-serif`;
    context.fillStyle = part.colour;
    context.textBaseline = 'top';
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    let line = '', at = y + 1;
    for (const word of part.text.split(' ')) {
      if (line && context.measureText(line + word).width > width) {
        context.fillText(line, x, at);
        line = '';
        at += Math.round(size * 1.55);
      }
      line += `${word} `;
    }
    context.fillText(line, x, at);
    context.restore();
  }

  // picture is a coast in the evening.
  function picture(context, part, { x, y, width, height }) {
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    const sky = context.createLinearGradient(0, y, 0, y + height);
    sky.addColorStop(0, '#27406e');
    sky.addColorStop(0.45, '#b0648a');
    sky.addColorStop(0.62, '#f2a65e');
    context.fillStyle = sky;
    context.fillRect(x, y, width, height);
    context.fillStyle = '#ffdd9e';
    context.beginPath();
    context.arc(x + width * 0.68, y + height * 0.58, height * 0.13, 0, 2 * Math.PI);
    context.fill();
    const ridge = (base, swing, colour, seed) => {
      context.fillStyle = colour;
      context.beginPath();
      context.moveTo(x, y + height);
      for (let i = 0; i <= 48; i++) {
        const u = i / 48;
        const up = Math.sin(u * 7 + seed) * 0.6 + Math.sin(u * 17 + seed * 3) * 0.3 + Math.sin(u * 41 + seed * 7) * 0.1;
        context.lineTo(x + u * width, y + height * (base - swing * up));
      }
      context.lineTo(x + width, y + height);
      context.fill();
    };
    ridge(0.62, 0.1, '#7d4a72', 1);
    ridge(0.74, 0.08, '#4d3560', 4);
    context.fillStyle = part.colour;
    context.fillRect(x, y + Math.round(height * 0.78), width, height);
    context.fillStyle = '#8cc4dd';
    for (let i = 0; i < 26; i++) {
      const wide = width * (0.02 + 0.05 * ((i * 37) % 11) / 11);
      context.fillRect(Math.round(x + width * ((i * 61) % 97) / 97),
        Math.round(y + height * (0.8 + 0.19 * ((i * 29) % 31) / 31)), Math.round(wide), 2);
    }
    ridge(1.0, 0.12, '#1d2440', 2);
    context.restore();
  }

  // spinner is eight squares around a middle, one of them lit.
  function spinner(context, part, { x, y, width, height }, turn) {
    context.fillStyle = part.ground;
    context.fillRect(x, y, width, height);
    const side = Math.floor(Math.min(width, height) * 0.2), way = Math.min(width, height) / 2 - side / 2;
    for (let i = 0; i < 8; i++) {
      const a = Math.PI * i / 4;
      context.fillStyle = (turn - i + 8000) % 8 === 0 ? part.colour : '#b9b3a6';
      context.fillRect(Math.round(x + width / 2 + Math.sin(a) * way - side / 2),
        Math.round(y + height / 2 - Math.cos(a) * way - side / 2), side, side);
    }
  }

  function box(context, part, { x, y, width, height }) {
    context.fillStyle = part.colour;
    context.fillRect(x, y, width, height);
  }

  const painters = { box, letters, picture, spinner };

  // make returns a part with its element. A box is an element with a background, letters and
  // spinner are canvases of their own, the picture is an image in a file's format, as pictures on
  // pages are.
  function make(part) {
    const at = place(part);
    const own = { ...at, x: 0, y: 0 };
    const paint = (context, where, turn) => painters[part.kind](context, part, where, turn);
    const made = { ...part, at, paint, show() {} };
    if (part.kind === 'box') {
      made.element = document.createElement('div');
      made.element.style.background = part.colour;
    } else {
      const c = document.createElement('canvas');
      c.width = at.width;
      c.height = at.height;
      const context = c.getContext('2d', { alpha: false });
      paint(context, own, 0);
      made.element = c;
      if (part.kind === 'picture') {
        made.element = new Image(at.width, at.height);
        made.element.decoding = 'sync';
        made.element.src = c.toDataURL('image/png');
        // What the element shows is what is counted, bit by bit.
        made.paint = (to, where) => to.drawImage(c, where.x, where.y);
      }
      if (part.kind === 'spinner') {
        let shown = 0;
        made.show = (done, turn) => {
          made.element.style.visibility = done > part.until ? 'hidden' : '';
          if (turn !== shown) paint(context, own, shown = turn);
        };
      } else if (part.kind === 'letters') {
        made.paint = (to, where) => to.drawImage(c, where.x, where.y);
      }
    }
    Object.assign(made.element.style, { left: `${at.x}px`, top: `${at.y}px`, width: `${at.width}px`,
      height: `${at.height}px` });
    return made;
  }

  const ready = (parts) => Promise.all(parts.filter((part) => part.element.decode).map((part) =>
    part.element.decode()));

  // count paints the page in every state that it will have and counts the pixels, outside the
  // holes, that are as in the last.
  function count(parts, steps, holes) {
    const c = document.createElement('canvas');
    c.width = innerWidth;
    c.height = innerHeight;
    const context = c.getContext('2d', { alpha: false, willReadFrequently: true });
    const state = (done, turn) => {
      for (const part of parts) {
        if (part.step < done && !(part.kind === 'spinner' && done > part.until)) part.paint(context, part.at, turn);
      }
      return new Uint32Array(context.getImageData(0, 0, c.width, c.height).data.buffer);
    };
    const last = state(steps, 0);
    const seen = new Uint8Array(last.length).fill(1);
    for (const h of holes) {
      for (let y = h.y; y < h.y + h.height; y++) seen.fill(0, y * c.width + h.x, y * c.width + h.x + h.width);
    }
    const pixels = seen.reduce((sum, v) => sum + v, 0);
    const equal = (now) => {
      let n = 0;
      for (let i = 0; i < now.length; i++) if (seen[i] && now[i] === last[i]) n++;
      return n;
    };
    const spinner = parts.find((part) => part.kind === 'spinner');
    const table = []; // [steps done][turn of 8]
    context.fillStyle = '#0f0';
    context.fillRect(0, 0, c.width, c.height);
    for (let done = 0; done <= steps; done++) {
      const turns = spinner && done > spinner.step && done <= spinner.until ? 8 : 1;
      table.push([...Array(turns).keys()].map((turn) => equal(state(done, turn))));
    }
    return { pixels, at: (done, turn) => table[done][turn % table[done].length] };
  }

  return { make, ready, count };
})();
