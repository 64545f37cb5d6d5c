// The declarations say what there is.

import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {createRequire} from 'node:module';
import path from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';

const folder = path.dirname(fileURLToPath(import.meta.url));

test('a program is right by its types', async () => {
  const args = [
    createRequire(import.meta.url).resolve('typescript/bin/tsc'), '--noEmit', '--strict', '--skipLibCheck',
    '--target', 'es2022', '--module', 'nodenext', 'types.ts',
  ];
  const {code, output} = await new Promise(resolve => {
    const child = execFile(process.execPath, args, {cwd: folder}, (_, stdout, stderr) => {
      resolve({code: child.exitCode, output: stdout + stderr});
    });
  });
  assert.equal(code, 0, output);
});
