// A view is the part of a window's time that its graphs show. All graphs of a window share one.

class View {
  constructor(data) {
    this.data = data;
    const last = data.times.length ? data.times[data.times.length - 1] : 0;
    const period = data.times.length > 1 ? (last - data.times[0]) / (data.times.length - 1) : 0;
    let from = Math.min(0, data.times[0] ?? 0);
    const to = Math.max(data.to - data.from, last + period, 1);
    if (data.t0 !== null && data.t0 > -3 * to) {
      from = Math.min(from, data.t0);
    }
    this.whole = [from - 0.01 * (to - from), to + 0.01 * (to - from)];
    [this.from, this.to] = this.whole;
    this.least = Math.min(this.whole[1] - this.whole[0], Math.max(8 * period, 1));
    this.listeners = [];
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  show(from, to) {
    const width = Math.min(Math.max(to - from, this.least), this.whole[1] - this.whole[0]);
    from = Math.max(this.whole[0], Math.min(this.whole[1] - width, from));
    if (from !== this.from || from + width !== this.to) {
      this.from = from;
      this.to = from + width;
      this.listeners.forEach((tell) => tell());
    }
  }

  // zoom keeps a time where it is on the screen.
  zoom(factor, around) {
    const t = around ?? (this.from + this.to) / 2;
    this.show(t - (t - this.from) * factor, t + (this.to - t) * factor);
  }

  all() {
    this.show(...this.whole);
  }

  // reveal turns the page where a time is out of sight.
  reveal(t) {
    const width = this.to - this.from;
    if (t >= this.whole[0] && t <= this.whole[1] && (t < this.from || t > this.to)) {
      this.show(t - 0.1 * width, t + 0.9 * width);
    }
  }

  // timeOf is a frame's time from the window's start, or NaN outside.
  timeOf(frame) {
    return this.data.times[frame - this.data.first] ?? NaN;
  }

  // frameAt is the frame that is nearest to a time.
  frameAt(t) {
    const times = this.data.times;
    if (!times.length) {
      return this.data.start;
    }
    const i = below(times, t);
    const nearer = i > 0 && (i === times.length || t - times[i - 1] <= times[i] - t) ? i - 1 : i;
    return this.data.first + nearer;
  }
}
