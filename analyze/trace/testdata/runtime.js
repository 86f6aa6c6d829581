// A runtime for tests. It lists records, and the call on top of the stack after each. NONCE is replaced.
// It keeps the stack by the states of frames, not by records.
(() => {
  const records = [], stack = [];
  let calls = 0, armed = false;
  const arm = () => {
    if (armed) return;
    armed = true;
    Promise.resolve().then(() => {
      armed = false;
      stack.length = running.length = 0;
      add(8, 0);
    });
  };
  const add = (code, id) => { records.push([code, id, stack.length ? stack.at(-1).number : 0]); };
  const unwind = d => { while (stack.length && stack.at(-1) !== d) stack.pop().state = 'closed'; };
  const push = d => { d.state = 'open'; stack.push(d); };
  const remove = (d, state) => { unwind(d); stack.pop(); d.state = state; };
  // Scripts that run, and their calls.
  const running = [];
  const callOf = id => {
    while (running.at(-1).id !== id) running.pop();
    return running.at(-1).d;
  };
  const runtime = {
    E(id) {
      arm();
      const d = {number: calls + 1, state: ''};
      push(d);
      records.push([1, id, ++calls]);
      return d;
    },
    R(d, value) {
      if (d.state === 'open') remove(d, 'closed');
      add(2, d.number);
      return value;
    },
    K(d) {
      arm();
      if (d.state === 'open') unwind(d); else push(d);
      add(3, d.number);
    },
    F(d) {
      arm();
      const x = {d, before: d.state};
      if (d.state === 'open') unwind(d); else push(d);
      add(4, d.number);
      return x;
    },
    C({d, before}) {
      if (d.state === 'open') if (before !== 'open') remove(d, before); else unwind(d);
      add(5, d.number);
    },
    s(d, value) {
      if (d.state === 'open') remove(d, 'suspended');
      add(6, d.number);
      return value;
    },
    r(d, value) {
      arm();
      push(d);
      add(7, d.number);
      return value;
    },
    B(id) { running.push({id, d: runtime.E(id)}); },
    Q(id) {
      runtime.R(callOf(id));
      running.pop();
    },
    k(id) { runtime.K(callOf(id)); },
  };
  for (const name in runtime) {
    Object.defineProperty(globalThis, name + 'NONCE', {value: runtime[name]});
  }
  Object.defineProperty(globalThis, 'reportNONCE', {value: () => ({records})});
})();
