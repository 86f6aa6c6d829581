// A chart draws series of one unit over a window's time. Its cursor is where the timeline stands.

class Chart extends Plot {
  constructor(box, legend, data, view, timeline, player) {
    super(box, view, timeline, player, 170);
    this.data = data;
    this.series = data.series.map((s) => ({
      ...s, times: s.frames.map((n) => view.timeOf(n)), label: s.name.replaceAll('_', ' ').replaceAll('.', ' · '),
    }));
    this.drawLegend(legend);
    this.begin();
  }

  drawLegend(legend) {
    this.values = this.series.map((s, i) => {
      const item = element('li', {class: `line-${i}`}, legend);
      element('span', {text: s.label}, item);
      return element('em', {}, item);
    });
  }

  // range is what the y axis covers: from nothing, unless values are negative.
  range() {
    let low = 0;
    let high = this.data.unit === 'fraction' ? 1 : 0;
    for (const s of this.series) {
      for (const v of s.values) {
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
    }
    if (low === high) {
      high = low + 1;
    }
    const room = this.data.unit === 'fraction' && high === 1 ? 0.04 : 0.08;
    return [low - (low < 0 ? room * (high - low) : 0), high + room * (high - low)];
  }

  y(v) {
    const [low, high] = this.limits;
    return margin.top + (high - v) / (high - low) * (this.height - margin.top - margin.bottom);
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) {
      return;
    }
    this.width = width;
    this.inner = Math.max(10, width - margin.left - margin.right);
    this.limits ??= this.range();
    this.svg.setAttribute('viewBox', `0 0 ${width} ${this.height}`);
    this.svg.setAttribute('width', width);
    this.svg.replaceChildren();
    drawTime(this.svg, this, this.height);
    this.drawValues();
    const clip = element('svg', {
      x: margin.left, y: 0, width: this.inner, height: this.height, viewBox: `${margin.left} 0 ${this.inner} ${this.height}`,
    }, this.svg);
    drawMarks(clip, this, margin.top, this.height - margin.bottom);
    this.series.forEach((s, i) => this.drawSeries(clip, s, i));
    this.pointer = element('line', {class: 'pointer', y1: margin.top, y2: this.height - margin.bottom, visibility: 'hidden'}, clip);
    this.cursor = element('line', {class: 'cursor', y1: 0, y2: this.height - margin.bottom}, clip);
    this.dots = this.series.map((_, i) => element('circle', {class: `dot line-${i}`, r: 4}, clip));
    this.away = false;
    this.point();
  }

  drawValues() {
    const scale = this.data.unit === 'fraction' ? 100 : 1;
    const [low, high] = this.limits.map((v) => v * scale);
    const {step, all} = ticks(low, high, 4);
    for (const v of all) {
      const y = this.y(v / scale);
      element('line', {class: v === 0 ? 'axis' : 'grid', x1: margin.left, x2: margin.left + this.inner, y1: y, y2: y}, this.svg);
      element('text', {class: 'tick', x: margin.left - 7, y: y + 4, 'text-anchor': 'end', text: tickText(v, step)}, this.svg);
    }
  }

  // drawSeries draws what is in sight, and one more on either side. Values that do not hold are joined where their frames follow
  // each other.
  drawSeries(parent, s, i) {
    const from = Math.max(0, below(s.times, this.view.from) - 1);
    const to = Math.min(s.times.length, below(s.times, this.view.to) + 1);
    const points = [];
    for (let k = from; k < to; k++) {
      if (!s.holds && k > from && s.frames[k] !== s.frames[k - 1] + 1) {
        points.push(null);
      }
      points.push({x: this.x(s.times[k]), y: this.y(s.values[k])});
    }
    const end = this.x(Math.max(this.view.data.to - this.view.data.from, s.times[s.times.length - 1]));
    const line = linePath(points, s.holds, to === s.times.length ? end : this.x(s.times[to - 1]));
    if (this.series.length === 1 && s.holds && points.length) {
      element('path', {class: `area line-${i}`, d: `${line}V${this.y(0)}H${points[0].x.toFixed(1)}Z`}, parent);
    }
    element('path', {class: `line line-${i}`, d: line}, parent);
    if (!s.holds && to - from < this.inner / 5) {
      for (const p of points) {
        if (p) {
          element('circle', {class: `mote line-${i}`, cx: p.x, cy: p.y, r: 2.5}, parent);
        }
      }
    }
  }

  // valueAt is a series' value in a frame, or undefined.
  valueAt(s, frame) {
    const i = below(s.frames, frame, true) - 1;
    return i >= 0 && (s.holds || s.frames[i] === frame) ? s.values[i] : undefined;
  }

  // pointed says each series' value at the cursor.
  pointed(t, here) {
    this.series.forEach((s, i) => {
      const v = here ? this.valueAt(s, this.timeline.frame) : undefined;
      this.values[i].textContent = v === undefined ? '' : spoken(v, this.data.unit);
      this.dots[i].setAttribute('visibility', v === undefined ? 'hidden' : 'visible');
      if (v !== undefined) {
        this.dots[i].setAttribute('cx', this.x(t));
        this.dots[i].setAttribute('cy', this.y(v));
      }
    });
  }

  // told is what a tip says of a frame.
  told(frame) {
    return this.series.flatMap((s) => {
      const v = this.valueAt(s, frame);
      return v === undefined ? [] : [(this.series.length > 1 ? s.label + ' ' : '') + spoken(v, this.data.unit)];
    });
  }
}

// drawTime draws the axis of time below a plot.
function drawTime(svg, plot, height) {
  const fine = plot.view.to - plot.view.from < 2e9;
  const unit = fine ? million : 1e9;
  const {step, all} = ticks(plot.view.from / unit, plot.view.to / unit, plot.inner / 90);
  for (const t of all) {
    const x = plot.x(t * unit);
    element('line', {class: 'grid', x1: x, x2: x, y1: margin.top, y2: height - margin.bottom}, svg);
    element('text', {class: 'tick', x, y: height - 5, 'text-anchor': 'middle', text: tickText(t, step) + (fine ? ' ms' : ' s')}, svg);
  }
}

// drawMarks draws T0, the markers and what was lost.
function drawMarks(svg, plot, top, bottom) {
  const w = plot.view.data;
  const band = (from, to, kind) => {
    if (to > plot.view.from && from < plot.view.to && to > from) {
      element('rect', {class: kind, x: plot.x(from), width: Math.max(1, plot.x(to) - plot.x(from)), y: top, height: bottom - top}, svg);
    }
  };
  if (w.green >= 0) {
    band(plot.view.whole[0], 0, 'band-green');
  }
  if (w.red >= 0) {
    band(w.to - w.from, plot.view.whole[1], 'band-red');
  }
  for (const l of w.lost) {
    const to = plot.view.timeOf(l.before_frame);
    const from = plot.view.timeOf(l.before_frame - 1);
    band(Number.isNaN(from) ? to : from, to, 'band-lost');
  }
  if (w.t0 !== null) {
    const x = plot.x(w.t0);
    element('line', {class: 'mark-t0', x1: x, x2: x, y1: top, y2: bottom}, svg);
    element('text', {class: 'mark-text', x: x + 4, y: top + 10, text: 'T0'}, svg);
  }
}

// pointing lets a plot be clicked, dragged in and hovered over, and zoomed with ctrl and the wheel.
function pointing(plot) {
  const at = (event) => plot.view.frameAt(plot.t(event.clientX - plot.svg.getBoundingClientRect().left));
  const tip = document.getElementById('tip');
  plot.svg.addEventListener('pointerdown', (event) => {
    if (event.button === 0) {
      plot.svg.setPointerCapture(event.pointerId);
      plot.dragged = true;
      plot.player.seekFrame(at(event));
    }
  });
  plot.svg.addEventListener('pointermove', (event) => {
    const frame = at(event);
    if (plot.dragged) {
      plot.player.seekFrame(frame);
    }
    const t = plot.view.timeOf(frame);
    if (plot.pointer && !Number.isNaN(t)) {
      const x = plot.x(t);
      plot.pointer.setAttribute('x1', x);
      plot.pointer.setAttribute('x2', x);
      plot.pointer.setAttribute('visibility', 'visible');
      showTip(tip, event, [`frame ${grouped(frame)}`, clock(t), ...plot.told(frame)].join(' · '));
    }
  });
  const gone = () => {
    tip.hidden = true;
    plot.pointer?.setAttribute('visibility', 'hidden');
  };
  const released = () => {
    plot.dragged = false;
  };
  plot.svg.addEventListener('pointerup', released);
  plot.svg.addEventListener('pointercancel', released);
  plot.svg.addEventListener('pointerleave', gone);
  plot.svg.addEventListener('wheel', (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      plot.view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), plot.t(event.clientX - plot.svg.getBoundingClientRect().left));
    }
  }, {passive: false});
}

function showTip(tip, event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const width = tip.offsetWidth;
  tip.style.left = Math.max(4, Math.min(document.documentElement.clientWidth - width - 4, event.clientX + 14)) + 'px';
  tip.style.top = Math.max(4, event.clientY - 34) + 'px';
}
