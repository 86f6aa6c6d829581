// ask has the rewriter change a program. Each thread has a channel of its own: two named pipes.
let claimed = '', question = -1, answer = -1;
const claim = () => {
  for (let i = 0; i < channels; i++) {
    const name = path.join(folder, 'claim.' + i);
    try {
      closeSync(openSync(name, 'wx'));
    } catch (e) {
      if (e.code === 'EEXIST') continue;
      throw e;
    }
    claimed = name;
    question = openSync(path.join(folder, 'ask.' + i), 'w');
    answer = openSync(path.join(folder, 'answer.' + i), 'r');
    return;
  }
  throw new Error('too many programs at a time');
};
const release = () => { if (claimed) unlinkSync(claimed); };
const ask = bytes => {
  for (let at = 0; at < bytes.length;) at += writeSync(question, bytes, at);
};
const receive = length => {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length;) {
    const n = readSync(answer, bytes, at, length - at);
    if (n === 0) throw new Error('the tracer has ended');
    at += n;
  }
  return bytes;
};
let asks = true;
const rewrite = (goal, name, text) => {
  if (!asks || typeof text !== 'string') return text;
  try {
    if (question < 0) claim();
    const place = Buffer.from(name), source = Buffer.from(text), lengths = Buffer.alloc(12);
    lengths.writeUInt32LE(goal, 0);
    lengths.writeUInt32LE(place.length, 4);
    lengths.writeUInt32LE(source.length, 8);
    ask(Buffer.concat([lengths, place, source]));
    const length = receive(4).readUInt32LE(0);
    return length === 0xffffffff ? text : receive(length).toString();
  } catch (e) {
    asks = false; // later programs run unchanged
    return text;
  }
};

const SCRIPT = 1, MODULE = 2;
const edited = (url, loaded) => {
  if (loaded.format !== 'module' || loaded.source == null || !url.startsWith('file:')) return loaded;
  const {source} = loaded, text = typeof source === 'string' ? source : Buffer.from(source).toString();
  return {...loaded, source: rewrite(MODULE, fileURLToPath(url), text)};
};
