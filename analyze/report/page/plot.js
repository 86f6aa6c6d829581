// Drawing: scales, ticks, and lines of as many points as there are pixels.

const margin = {left: 46, right: 10, top: 8, bottom: 20};

// ticks returns round numbers between two, about so many.
function ticks(from, to, about) {
  const rough = (to - from) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.999);
  const all = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k++) {
    all.push(k * step);
  }
  return {step, all};
}

// tickText has as many digits as its step needs.
function tickText(value, step) {
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  if (Math.abs(value) >= 10000 && step >= 100) {
    return rounded(value / 1000) + 'k';
  }
  return value.toFixed(Math.min(digits, 6)).replace('-', '−');
}

// linePath is the path of a series' points, x ascending. Where several fall on one pixel column it goes through the
// first, the least, the greatest and the last of them, which looks the same.
function linePath(points, holds, right) {
  const parts = [];
  let move = true;
  let lastY = 0;
  for (let i = 0; i < points.length;) {
    if (points[i] === null) { // a break
      move = true;
      i++;
      continue;
    }
    const column = Math.round(points[i].x);
    let last = i;
    let low = points[i].y;
    let high = points[i].y;
    while (last + 1 < points.length && points[last + 1] !== null && Math.round(points[last + 1].x) === column) {
      last++;
      low = Math.min(low, points[last].y);
      high = Math.max(high, points[last].y);
    }
    const x = points[i].x.toFixed(1);
    if (move) {
      parts.push(`M${x} ${points[i].y.toFixed(1)}`);
    } else if (holds) {
      parts.push(`L${x} ${lastY.toFixed(1)}L${x} ${points[i].y.toFixed(1)}`);
    } else {
      parts.push(`L${x} ${points[i].y.toFixed(1)}`);
    }
    if (last > i) {
      parts.push(`L${x} ${low.toFixed(1)}L${x} ${high.toFixed(1)}L${x} ${points[last].y.toFixed(1)}`);
    }
    lastY = points[last].y;
    move = false;
    i = last + 1;
  }
  if (holds && !move) {
    parts.push(`L${right.toFixed(1)} ${lastY.toFixed(1)}`);
  }
  return parts.join('');
}

// A Plot draws something over a window's time, with a cursor where the timeline stands.
class Plot {
  constructor(box, view, timeline, player, height) {
    Object.assign(this, {box, view, timeline, player, height});
    this.svg = element('svg', {class: 'plot', height}, box);
  }

  // begin draws it, and again whenever what is shown or its width changes.
  begin() {
    this.view.onChange(() => this.draw());
    this.timeline.onMove(() => this.point());
    new ResizeObserver(() => this.draw()).observe(this.box);
    pointing(this);
    this.draw();
  }

  x(t) {
    return margin.left + (t - this.view.from) / (this.view.to - this.view.from) * this.inner;
  }

  t(x) {
    return this.view.from + (x - margin.left) / this.inner * (this.view.to - this.view.from);
  }

  // point puts the cursor to where the timeline stands.
  point() {
    if (!this.cursor) {
      return;
    }
    const t = this.timeline.time - this.view.data.from;
    const here = t >= this.view.whole[0] && t <= this.view.whole[1];
    if (!here && this.away) {
      return; // as most graphs of a page are, most of the time
    }
    this.away = !here;
    this.cursor.setAttribute('visibility', here ? 'visible' : 'hidden');
    this.cursor.setAttribute('x1', this.x(t));
    this.cursor.setAttribute('x2', this.x(t));
    this.pointed(t, here);
  }

  // pointed is told where the cursor stands, and whether that is in the window.
  pointed() {}
}
