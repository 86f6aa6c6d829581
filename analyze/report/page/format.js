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
