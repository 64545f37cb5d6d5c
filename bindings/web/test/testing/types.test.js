// The declarations say what there is, in a program and in Vitest's matchers.

import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import path from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';

const folder = path.dirname(fileURLToPath(import.meta.url));

test('the programs are right by their types', async () => {
  const args = [
    path.join(folder, 'node_modules', 'typescript', 'bin', 'tsc'), '--noEmit', '--strict', '--skipLibCheck',
    '--allowJs', '--allowImportingTsExtensions', '--target', 'es2022', '--module', 'nodenext',
    'types.ts', 'projects/vitest/step.spec.ts',
  ];
  const {code, output} = await new Promise(resolve => {
    const child = execFile(process.execPath, args, {cwd: folder}, (_, stdout, stderr) => {
      resolve({code: child.exitCode, output: stdout + stderr});
    });
  });
  assert.equal(code, 0, output);
});
