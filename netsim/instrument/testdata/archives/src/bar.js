export class Bar {
  #element;
  static unit = 'px';

  constructor(element) {
    this.#element = element;
  }

  set width(width) {
    try {
      this.#element.style.width = `${width}${Bar.unit}`;
    } finally {
      this.#element?.setAttribute('data-width', width);
    }
  }
}
