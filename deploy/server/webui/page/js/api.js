// The page's connection to the rig: calls, numbered events and pictures (see API.md).

/** @typedef {import('rig').Methods} Methods */
/** @typedef {import('rig').Event} RigEvent */

/** RigError is what a rig answers to a call that it refuses. */
export class RigError extends Error {
  /**
   * @param {number} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const base = 'api/v1/';
const ofRigs = 'fleet/v1/runs/'; // runs of a fleet
const patience = 150000; // ms; a call without an answer then fails, with its connection
const greeting = 30000; // ms, of the first calls of a connection, which wait for nothing

const keyOf = 'eideticker-reservation-'; // and the device

/** stored is what outlives a reload of this window, where the browser allows that. */
function stored() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

/**
 * fileURL is where a file of a run is.
 * @param {string} run RIG/RUN in a fleet
 * @param {string} name
 */
export const fileURL = (run, name) => (run.includes('/') ? ofRigs : `${base}runs/`)
  + [...run.split('/'), ...name.split('/')].map(encodeURIComponent).join('/');

/**
 * runOf is the run in a folder of a set.
 * @param {string} set
 * @param {string} dir
 */
export const runOf = (set, dir) => `${set}~${dir.replaceAll('/', '~')}`;

/**
 * fetchFile gets a file of a run; what is not there is an error with the rig's sentence.
 * @param {string} run
 * @param {string} name
 * @param {AbortSignal} [signal]
 */
export async function fetchFile(run, name, signal) {
  const answer = await fetch(fileURL(run, name), {signal});
  if (!answer.ok) {
    throw new RigError(answer.status, (await answer.text()).trim() || `${name}: ${answer.status}`);
  }
  return answer;
}

/**
 * runFiles are the files of a run.
 * @param {string} run
 * @param {AbortSignal} [signal]
 */
export const runFiles = (run, signal) => ({
  url: (/** @type {string} */ name) => fileURL(run, name),
  read: async (/** @type {string} */ name) => (await fetchFile(run, name, signal)).arrayBuffer(),
});

export class Rig {
  constructor() {
    /** @type {WebSocket | null} */
    this.socket = null;
    this.calls = new Map();
    this.next = 1;
    /** @type {number | undefined} of the last event that was seen */
    this.seq = undefined;
    /** @type {Set<(event: RigEvent) => void>} */
    this.listeners = new Set();
    /** @type {Set<() => void>} told when events were missed */
    this.stale = new Set();
    this.forgot = false; // that is to be told
    /** @type {((state: 'connected' | 'connecting' | 'login') => void) | null} */
    this.onstate = null;
    /** @type {{device: string, show: (picture: Blob) => void} | null} */
    this.watched = null;
    this.tries = 0;
    /** @type {string} role of who looks */
    this.role = 'view';
    this.owner = ''; // who looks
    this.needed = false; // they had to log in
    this.inFleet = false; // the rig is a hub, or has one
  }

  /** open connects, and connects again whenever that ends. */
  async open() {
    try {
      const {needed, role, owner} = await (await fetch(base + 'login')).json();
      if (needed && !role) {
        this.onstate?.('login');
        return;
      }
      this.role = role || 'view';
      this.owner = owner;
      this.needed = needed;
    } catch {
      this.again();
      return;
    }
    const address = new URL(base + 'ws', location.href);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(address);
    socket.binaryType = 'blob';
    socket.onopen = () => this.opened(socket).catch(() => socket.close());
    socket.onmessage = (message) => this.heard(message.data);
    socket.onclose = () => this.closed(socket);
    this.socket = socket;
  }

  /** @param {WebSocket} socket */
  async opened(socket) {
    const from = this.seq;
    const {seq, missed} = await this.send(socket, 'subscribe', from === undefined ? {} : {from_seq: from},
      greeting).catch((why) => {
      if (why instanceof RigError) {
        this.seq = undefined; // a rig that refuses to go on from there is not asked for that again
        this.forgot ||= from !== undefined;
      }
      throw why;
    });
    this.tries = 0;
    if (from === undefined || missed) {
      this.seq = seq;
    }
    // also if the next call fails
    this.forgot ||= missed || from === undefined && this.stale.size > 0;
    if (this.watched) {
      await this.send(socket, 'preview.start', {device: this.watched.device}, greeting).catch((why) => {
        if (!(why instanceof RigError)) {
          throw why;
        } // a device that is gone is no reason to connect again
      });
    }
    this.onstate?.('connected');
    if (this.forgot) {
      this.forgot = false;
      this.stale.forEach((tell) => tell());
    }
  }

  /** @param {WebSocket} socket */
  closed(socket) {
    if (this.socket === socket) {
      this.socket = null;
      for (const {fail} of this.calls.values()) {
        fail(new Error('the connection to the rig was lost'));
      }
      this.calls.clear();
      this.again();
    }
  }

  /** again tries after a while: soon at first, then every ten seconds. */
  again() {
    this.onstate?.('connecting');
    const wait = Math.min(10000, 500 * 2 ** this.tries++) * (0.75 + Math.random() / 2);
    setTimeout(() => this.open(), wait);
  }

  /** @param {string | Blob} data */
  heard(data) {
    if (typeof data !== 'string') {
      this.watched?.show(data);
      return;
    }
    const message = JSON.parse(data);
    if (message.method === 'event') {
      this.seq = message.params.seq;
      this.listeners.forEach((tell) => tell(message.params));
      return;
    }
    const call = this.calls.get(message.id);
    this.calls.delete(message.id);
    if (message.error) {
      call?.fail(new RigError(message.error.code, message.error.message));
    } else {
      call?.done(message.result);
    }
  }

  /**
   * call asks the rig: by websocket where there is one, else by HTTP.
   * @template {keyof Methods} M
   * @param {M} method
   * @param {Methods[M]['params']} params
   * @returns {Promise<Methods[M]['result']>}
   */
  call(method, params) {
    const {socket} = this;
    return socket?.readyState === WebSocket.OPEN ? this.send(socket, method, params) : this.post(method, params);
  }

  /**
  * heed is call, and passes the events that came before the answer: the answer may be older.
   * @template {keyof Methods} M
   * @param {M} method
   * @param {Methods[M]['params']} params
   * @returns {Promise<[Methods[M]['result'], RigEvent[]]>}
   */
  async heed(method, params) {
    /** @type {RigEvent[]} */
    const meanwhile = [];
    const note = (/** @type {RigEvent} */ event) => { meanwhile.push(event); };
    this.listeners.add(note);
    try {
      return [await this.call(method, params), meanwhile];
    } finally {
      this.listeners.delete(note);
    }
  }

  /**
   * @template {keyof Methods} M
   * @param {WebSocket} socket
   * @param {M} method
   * @param {Methods[M]['params']} params
   * @param {number} [limit] ms
   * @returns {Promise<Methods[M]['result']>}
   */
  send(socket, method, params, limit = patience) {
    return new Promise((resolve, reject) => {
      const id = this.next++;
      const timer = setTimeout(() => {
        this.calls.delete(id);
        reject(new Error(`the rig does not answer ${method}`));
        socket.close(); // it may be open at this end only
      }, limit);
      this.calls.set(id, {
        done: (/** @type {any} */ result) => {
          clearTimeout(timer);
          resolve(result);
        },
        fail: (/** @type {Error} */ error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      socket.send(JSON.stringify({jsonrpc: '2.0', id, method, params}));
    });
  }

  /**
   * @template {keyof Methods} M
   * @param {M} method
   * @param {Methods[M]['params']} params
   * @returns {Promise<Methods[M]['result']>}
   */
  async post(method, params) {
    const answer = await fetch(base + 'rpc', {
      method: 'POST', headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({jsonrpc: '2.0', id: 1, method, params}),
    });
    const text = await answer.text();
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      throw new RigError(answer.status, text.trim() || `the rig answers ${answer.status}`);
    }
    if (message.error) {
      throw new RigError(message.error.code, message.error.message);
    }
    return message.result;
  }

  /**
   * login gives the rig a token, for which it gives a cookie that scripts do not see.
   * @param {string} token
   */
  async login(token) {
    const answer = await fetch(base + 'login',
      {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({token})});
    if (!answer.ok) {
      throw new RigError(answer.status, answer.status === 401 ? 'The rig does not know this token.'
        : (await answer.text()).trim());
    }
    await this.open();
  }

  /** logout ends the session, and all that belongs to it. */
  async logout() {
    await fetch(base + 'logout', {method: 'POST'});
    this.socket?.close(); // what comes next is to log in
  }

  /**
   * may says whether who looks may do what a role allows.
   * @param {'run' | 'admin'} role
   */
  may(role) {
    return this.role === 'admin' || this.role === role;
  }

  /**
   * reservation is the key of a device as it is reserved now, if that was done in this browser window.
   * @param {import('rig').Device} device
   * @returns {string | undefined}
   */
  reservation({name, reserved}) {
    const [until, key] = (stored()?.getItem(keyOf + name) ?? '').split(' ');
    return reserved && until === String(reserved.until_wall_ns) ? key : undefined;
  }

  /** @param {import('rig').Reserved} made */
  keepReservation({device, key, until_wall_ns: until}) {
    stored()?.setItem(keyOf + device, `${until} ${key}`);
  }

  /**
   * watch shows a device's screen until it is told to stop.
   * @param {string} device
   * @param {(picture: Blob) => void} show
   */
  async watch(device, show) {
    this.watched = {device, show};
    if (this.socket?.readyState === WebSocket.OPEN) {
      await this.send(this.socket, 'preview.start', {device});
    }
  }

  async unwatch() {
    this.watched = null;
    if (this.socket?.readyState === WebSocket.OPEN) {
      await this.send(this.socket, 'preview.stop', {}).catch(() => {}); // it was over
    }
  }

  /**
   * follow tells a listener of events, and of those that were missed, until the signal ends.
   * @param {AbortSignal} signal
   * @param {(event: RigEvent) => void} listener
   * @param {() => void} [missed]
   */
  follow(signal, listener, missed) {
    if (signal.aborted) {
      return;
    }
    this.listeners.add(listener);
    if (missed) {
      this.stale.add(missed);
    }
    signal.addEventListener('abort', () => {
      this.listeners.delete(listener);
      if (missed) {
        this.stale.delete(missed);
      }
    });
  }
}
