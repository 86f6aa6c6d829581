// Compiles programs: node --experimental-vm-modules compile.mjs < [{text, module}] > the error of each, or an empty text
import vm from 'node:vm';
import {readFileSync} from 'node:fs';

const errors = JSON.parse(readFileSync(0, 'utf8')).map(({text, module}) => {
  try {
    if (module) new vm.SourceTextModule(text); else new vm.Script(text);
    return '';
  } catch (e) { return String(e); }
});
process.stdout.write(JSON.stringify(errors));
