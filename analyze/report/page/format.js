// Texts of times, counts and values of series. Texts of measured values come with the results.

export const million = 1e6; // nanoseconds of a millisecond

/** @param {number} n */
export function grouped(n) {
  return n.toLocaleString('en-US', {maximumFractionDigits: 0});
}

/**
 * spoken is a value of a series with its unit.
 * @param {number} value
 * @param {string} unit
 */
export function spoken(value, unit) {
  if (unit === 'fraction') {
    return rounded(100 * value) + ' %';
  }
  return rounded(value) + (unit ? ' ' + unit : '');
}

/** @param {number} x */
export function rounded(x) {
  const size = Math.abs(x);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 4;
  return x.toLocaleString('en-US', {maximumFractionDigits: digits}).replace('-', '−');
}

/**
 * clock is a time in nanoseconds, in seconds.
 * @param {number} ns
 */
export function clock(ns) {
  return (ns / 1e9).toFixed(3).replace('-', '−') + ' s';
}

/** @param {number} ns */
export const lasts = (ns) => ns < 1e7 ? `${(ns / 1e6).toFixed(ns < 1e6 ? 2 : 1)} ms` : `${grouped(ns / 1e6)} ms`;

/**
 * banded is a time with its bounds, which are rounded outwards, such as 80 (76–84) ms.
 * @param {{value: number, low: number, high: number}} span in ns
 */
export function banded({value, low, high}) {
  const step = value === 0 || value >= 1e7 ? 1e6 : value < 1e5 ? 1e3 : value < 1e6 ? 1e4 : 1e5;
  const write = (/** @type {number} */ steps) => (steps * step / 1e6).toLocaleString('en-US',
    {minimumFractionDigits: Math.round(Math.log10(1e6 / step)), maximumFractionDigits: 3});
  const [text, least, most] = [write(Math.round(value / step)), write(Math.floor(low / step + 1e-6)),
    write(Math.ceil(high / step - 1e-6))];
  return least === text && most === text || low === high ? `${text} ms` : `${text} (${least}–${most}) ms`;
}

/**
 * below returns how many values of an ascending list are below x, or with orEqual at most x.
 * @param {ArrayLike<number>} list
 * @param {number} x
 */
export function below(list, x, orEqual = false) {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const mid = (from + to) >> 1;
    if (list[mid] < x || (orEqual && list[mid] === x)) {
      from = mid + 1;
    } else {
      to = mid;
    }
  }
  return from;
}
