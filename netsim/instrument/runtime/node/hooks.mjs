import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
const {openSync, closeSync, readSync, writeSync, unlinkSync} = fs;
