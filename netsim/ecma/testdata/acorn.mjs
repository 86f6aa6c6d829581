// Reads {kinds: {number: name}, files: [{path, module}]} from standard input. For each file it writes the number of
// nodes that acorn finds and, per node, three 32-bit integers: kind, start and end in bytes. The kind of an async
// function has 256 more, and that of a generator 512. The number of nodes is 0 if acorn rejects the file.
import {readFileSync, writeSync} from 'node:fs';
import * as acorn from './node_modules/acorn/dist/acorn.mjs';

const {kinds, files} = JSON.parse(readFileSync(0, 'utf8'));
const number = new Map(Object.entries(kinds).map(([i, name]) => [name, +i]));

// Text has a byte offset per UTF-16 offset, or none if both are equal.
function byteOffsets(text) {
  if (!/[^\x00-\x7f]/.test(text)) return null;
  const at = new Int32Array(text.length + 1);
  for (let i = 0, byte = 0; i < text.length; i++) {
    at[i] = byte;
    const c = text.charCodeAt(i);
    byte += c < 0x80 ? 1 : c < 0x800 ? 2 : c >= 0xd800 && c < 0xe000 ? 2 : 3;
    at[i + 1] = byte;
  }
  return at;
}

function nodes(text, module) {
  let tree;
  try {
    tree = acorn.parse(text, {ecmaVersion: 'latest', sourceType: module ? 'module' : 'script', preserveParens: true,
      allowReturnOutsideFunction: true, allowHashBang: true});
  } catch { return null; }
  const at = byteOffsets(text), out = [], open = [tree];
  while (open.length) {
    const n = open.pop();
    // Gaps between expressions of a template are text here.
    if (n.type !== 'TemplateElement')
      out.push((number.get(n.type) ?? 255) | (n.async ? 256 : 0) | (n.generator ? 512 : 0), at ? at[n.start] : n.start,
        at ? at[n.end] : n.end);
    for (const key in n) {
      const value = n[key];
      if (Array.isArray(value)) { for (const v of value) if (v?.type) open.push(v); }
      else if (value?.type) open.push(value);
    }
  }
  return out;
}

function write(integers) {
  const bytes = new Uint8Array(Int32Array.from(integers).buffer);
  for (let n = 0; n < bytes.length;) n += writeSync(1, bytes, n);
}

for (const {path, module} of files) {
  const found = nodes(new TextDecoder('utf-8', {ignoreBOM: true}).decode(readFileSync(path)), module);
  write([found ? found.length / 3 : 0]);
  if (found) write(found);
}
