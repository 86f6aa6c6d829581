// Addresses of the page: #/runs/ID?frame=123.

/** @typedef {{path: string[], query: URLSearchParams}} Route */

/** @returns {Route} */
export function route() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?', 2);
  return {path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query ?? '')};
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // typed by hand
  }
}

/**
 * address makes one of a path and what is asked of it.
 * @param {string[]} path
 * @param {Record<string, string | number | null | undefined>} [query]
 */
export function address(path, query = {}) {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') {
      q.set(key, String(value));
    }
  }
  const text = q.toString();
  return '#/' + path.map(encodeURIComponent).join('/') + (text ? '?' + text : '');
}

/**
 * setAddress is the address of the runs of a set: its ID, or RIG/ID in a fleet.
 * @param {string} set
 */
export const setAddress = (set) => set.includes('/') ? address(['fleet', ...set.split('/')])
  : address(['runs'], {set});

/**
 * jobAddress is the address of a job: of its runs once it is over. A hub has it in its queue.
 * @param {string} job
 * @param {boolean} over
 * @param {string} [device] RIG/DEVICE on a hub
 */
export const jobAddress = (job, over, device) => device?.includes('/') ? address(['fleet', job])
  : over ? address(['runs'], {set: job}) : address(['jobs', job]);

/**
 * @param {string[]} path
 * @param {Record<string, string | number | null | undefined>} [query]
 */
export function go(path, query) {
  location.hash = address(path, query);
}

/**
 * note changes the address to where the page is already, so that it can be handed on.
 * @param {Record<string, string | number | null | undefined>} query
 */
export function note(query) {
  const now = route();
  const all = {...Object.fromEntries(now.query), ...query};
  history.replaceState(null, '', address(now.path, all));
}
