// Policies send numbers of points. Increments are summed until the next batch. Other numbers are records of their own.
const TIME = 65535, MOST_FIELDS = 16, MOST_FAILED = 10;
const Ints = Int32Array, NativeError = Error;
const sums = [], touched = [];
for (let i = 0; i < MOST_FIELDS; i++) sums[i] = {__proto__: null};
setPrototypeOf(sums, null);
setPrototypeOf(touched, null);

// tally adds an amount to a field of a point.
const tally = (point, field, amount) => {
  const of = sums[field], before = of[point];
  if (before !== undefined) {
    of[point] = before + amount;
    return;
  }
  of[point] = amount;
  touched[touched.length] = {__proto__: null, of, field, point};
  if (touched.length === 1) schedule();
};

// drain moves sums to the ring while it has room.
const drain = () => {
  while (touched.length > 0 && head < limit) {
    const {of, field, point} = touched[touched.length - 1];
    put(VALUE | field << 16, point, of[point]);
    delete of[point];
    touched.length--;
  }
};

// value adds the records of one number: its time, and the number.
const value = (point, field, number) => {
  put(VALUE | TIME << 16, point, now());
  put(VALUE | field << 16, point, head < limit ? number : now());
  schedule();
};

// urge sends numbers of the fields from 0 on before the page goes on. A page that hangs runs no timer.
const urge = (point, numbers) => {
  try {
    const list = new Words(4 * (numbers.length + 1)), values = new Floats(list.buffer);
    for (let i = 0; i <= numbers.length; i++) {
      list[4 * i] = VALUE | (i === 0 ? TIME : i - 1) << 16;
      list[4 * i + 1] = point;
      values[2 * i + 1] = i === 0 ? now() : numbers[i - 1];
    }
    const body = message(numbers.length + 1, '[]');
    setBytes(body, new Bytes(list.buffer), 40);
    if (!sendAtEnd(body)) post(body);
  } catch (e) {
    // Without memory.
  }
};

// direct defines a function that cannot throw.
const direct = hide;

const failed = name => { detail({__proto__: null, kind: 'failed', what: name}, now()); };

// complete defines the names that no policy has defined.
const complete = () => {
  for (let i = 0; i < names.length; i++) {
    if (!descriptor(realm, names[i] + nonce)) hide(names[i], (id, x) => x);
  }
};

// guarded returns a definer of functions for a policy. A function that throws returns its second argument.
const guarded = name => {
  let failures = 0;
  return (key, f) => {
    hide(key, (id, x) => {
      if (failures < MOST_FAILED) {
        try {
          return f(id, x);
        } catch (e) {
          // The page's own recursion may end here.
          const overflow = e instanceof NativeError && (indexOf(e.message, 'call stack') >= 0 ||
            indexOf(e.message, 'recursion') >= 0);
          if (!overflow && ++failures === MOST_FAILED) failed(name);
        }
      }
      return x;
    });
  };
};
