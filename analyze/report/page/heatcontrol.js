// The heat map over the frame: on or off, and how strong.

import {complain, h} from './dom.js';
import {drawHeat, gradient, readHeat} from './heat.js';
import {grouped} from './format.js';

export class HeatControl {
  /**
   * @param {import('./pictures.js').Files} files
   * @param {import('./stage.js').Stage} stage
   */
  constructor(files, stage) {
    this.files = files;
    this.stage = stage;
    /** @type {import('./film.js').WindowData | null} */
    this.window = null;
    this.loaded = '';
    this.opacity = h('input', {type: 'range', min: 0, max: 100, value: 60, 'aria-label': 'Opacity of the heat map'});
    this.opacity.addEventListener('input', () => { stage.heat.style.opacity = this.opacity.value / 100; });
    this.box = h('input', {type: 'checkbox', onchange: () => this.draw()});
    this.most = h('span');
    this.legend = h('span.heat-legend', {hidden: true}, 'few ', gradient(), ' ', this.most);
    this.root = h('div.heat-control', {hidden: true}, h('label', null, this.box, ' heat map over the frame'),
      this.opacity, this.legend);
    stage.heat.style.opacity = '0.6';
  }

  /** @param {import('./film.js').WindowData} w */
  show(w) {
    this.window = w;
    this.root.hidden = !this.file();
    this.draw();
  }

  file() {
    return this.files.read ? this.window?.whole.pictures.find((p) => p.kind === 'heatmap')?.data ?? '' : '';
  }

  toggle() {
    if (!this.root.hidden) {
      this.box.checked = !this.box.checked;
      this.draw();
    }
  }

  async draw() {
    const {heat, size} = this.stage;
    const file = this.file();
    heat.hidden = this.legend.hidden = !this.box.checked || !file;
    if (heat.hidden || this.loaded === file || !this.files.read) {
      return;
    }
    this.loaded = file;
    try {
      const numbers = readHeat(await this.files.read(file));
      if (this.loaded !== file) {
        return;
      }
      const region = this.window?.whole.region ?? [];
      const [x, y, width, height] = region.length === 4 ? region : [0, 0, size.width, size.height];
      Object.assign(heat.style, {
        left: `${100 * x / size.width}%`, top: `${100 * y / size.height}%`,
        width: `${100 * width / size.width}%`, height: `${100 * height / size.height}%`,
      });
      drawHeat(heat, numbers);
      this.most.textContent = `${grouped(numbers.most)} changes`;
    } catch (error) {
      this.loaded = '';
      complain(error);
    }
  }
}
