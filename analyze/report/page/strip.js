// The strip shows a window's frames one beside the other: those that changed something, those that did not, and those that
// are missing.

class Strip extends Plot {
  constructor(box, view, timeline, player) {
    super(box, view, timeline, player, 46);
    this.unique = uniqueFrames(view.data);
    this.shown = new Set(view.data.shown.map((e) => e.frame));
    this.begin();
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) {
      return;
    }
    this.inner = Math.max(10, width - margin.left - margin.right);
    this.svg.setAttribute('viewBox', `0 0 ${width} ${this.height}`);
    this.svg.setAttribute('width', width);
    this.svg.replaceChildren();
    const clip = element('svg', {
      x: margin.left, y: 0, width: this.inner, height: this.height, viewBox: `${margin.left} 0 ${this.inner} ${this.height}`,
    }, this.svg);
    drawMarks(clip, this, 8, 36);
    this.drawFrames(clip);
    this.pointer = element('line', {class: 'pointer', y1: 0, y2: this.height, visibility: 'hidden'}, clip);
    this.cursor = element('line', {class: 'cursor', y1: 0, y2: this.height}, clip);
    this.away = false;
    this.point();
  }

  // drawFrames draws one path for each look, so that many frames are few elements.
  drawFrames(parent) {
    const {times, first} = this.view.data;
    const paths = {same: [], unique: [], shown: []};
    const from = Math.max(0, below(times, this.view.from) - 1);
    const to = Math.min(times.length, below(times, this.view.to) + 1);
    const pixel = this.inner * (times.length > 1 ? (times[times.length - 1] - times[0]) / (times.length - 1) : 0) / (this.view.to - this.view.from);
    const width = Math.max(1, Math.min(pixel - (pixel > 4 ? 1.5 : 0), 24));
    for (let i = from; i < to; i++) {
      const x = this.x(times[i]).toFixed(1);
      const kind = this.unique === null || this.unique.has(first + i) ? 'unique' : 'same';
      paths[kind].push(kind === 'unique' ? `M${x} 10h${width.toFixed(1)}v24h-${width.toFixed(1)}z` : `M${x} 19h${width.toFixed(1)}v6h-${width.toFixed(1)}z`);
      if (this.shown.has(first + i)) {
        paths.shown.push(`M${(this.x(times[i]) + width / 2).toFixed(1)} 6l-4 -6h8z`);
      }
    }
    for (const [kind, path] of Object.entries(paths)) {
      element('path', {class: `frames-${kind}`, d: path.join('')}, parent);
    }
  }

  told(frame) {
    const w = this.view.data;
    const lost = w.lost.find((l) => l.before_frame === frame);
    const what = this.unique === null ? [] : [this.unique.has(frame) ? 'changed' : 'the same as before'];
    return [...what, ...w.shown.filter((e) => e.frame === frame).slice(0, 2).map((e) => e.kind.replaceAll('_', ' ')),
      ...(lost ? [`${grouped(lost.frames)} lost before it: ${lost.cause}`] : [])];
  }
}

// uniqueFrames are the frames that changed something: those to which the framerate gives a time. Null where it was not measured.
function uniqueFrames(data) {
  for (const c of data.charts) {
    const s = c.measure === 'fps' && c.series.find((one) => one.name === 'frame_time');
    if (s) {
      return new Set(s.frames);
    }
  }
  return null;
}
