// A runtime for tests. It keeps the stack of frames and reports calls that contradict it.
// NONCE is replaced. It runs as a script in the realm of the program.
(() => {
  const stack = [], problems = [], calls = {};
  const check = (ok, text) => { if (!ok) problems.push(text); };
  // Frames above d were left by an exception.
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
      calls[id] = (calls[id] ?? 0) + 1;
      const d = {id, state: ''};
      push(d);
      return d;
    },
    R(d, value) {
      check(d.state === 'open', `R of ${d.id}, which is ${d.state}`);
      if (d.state === 'open') remove(d, 'closed');
      return value;
    },
    K(d) {
      check(d.state !== 'closed', `K of ${d.id}, which is closed`);
      if (d.state === 'open') unwind(d); else push(d);
    },
    F(d) {
      const x = {d, before: d.state};
      if (d.state === 'open') unwind(d); else push(d);
      return x;
    },
    C({d, before}) {
      check(d.state === 'open', `C of ${d.id}, which is ${d.state}`);
      if (d.state === 'open' && before !== 'open') remove(d, before);
    },
    s(d, value) {
      check(d.state === 'open', `s of ${d.id}, which is ${d.state}`);
      if (d.state === 'open') remove(d, 'suspended');
      return value;
    },
    r(d, value) {
      check(d.state === 'suspended', `r of ${d.id}, which is ${d.state}`);
      push(d);
      return value;
    },
    B(id) { running.push({id, d: runtime.E(id)}); },
    Q(id) {
      runtime.R(callOf(id));
      running.pop();
    },
    k(id) { runtime.K(callOf(id)); },
    v(callee, value) { return value; },
  };
  for (const name in runtime) {
    Object.defineProperty(globalThis, name + 'NONCE', {value: runtime[name]});
  }
  Object.defineProperty(globalThis, 'reportNONCE', {value: () => ({problems, calls, open: stack.map(d => d.id)})});
})();
