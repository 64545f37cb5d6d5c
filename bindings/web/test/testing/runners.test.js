// expectNoLeaks in real runners: each runs a small project of healthy, leaking and throwing tests, and
// shows the lines of what was left, at the line of the test.

import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import path from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';

const folder = path.dirname(fileURLToPath(import.meta.url));
const bin = name => path.join(folder, 'node_modules', name);

// {code, output} of a runner in its project's folder.
function run(project, file, ...args) {
  return new Promise(resolve => {
    const {NODE_TEST_CONTEXT, ...env} = process.env; // or a runner within would report to this one
    const cwd = path.join(folder, 'projects', project);
    const options = {cwd, env: {...env, NO_COLOR: '1', FORCE_COLOR: '0', CI: '1'}};
    const child = execFile(process.execPath, [...file, ...args], options, (error, stdout, stderr) => {
      resolve({code: child.exitCode, output: stdout + stderr});
    });
  });
}

const kTwoLeft = [
  /2 tensors \(8 bytes\) left:/, /1 at \S*step\.js:4 +4 bytes +scalar$/m, /1 at \S*step\.js:5 +4 bytes +add$/m,
];
const kThrew = [/the step failed\s+and 1 tensor \(4 bytes\) left:\s+1 at \S*step\.js:11 +4 bytes +scalar/];

// As the file has them: what runs has fewer.
const kTypeScript = [
  /1 at \S*typed_step\.ts:7 +4 bytes +scalar$/m,
  /1 at \S*typed_step\.ts:8 +4 bytes +add, kept \S*typed_step\.ts:8$/m,
];

const kRunners = {
  jest: {
    file: [bin('jest/bin/jest.js')], args: ['--colors=false'], leakyAt: /step\.spec\.js:18:9/,
    counts: /Tests: +4 failed, 3 passed, 7 total/, typescript: true,
    healthy: [/✓ healthy \(/, /✓ healthy, async/, /✓ matcher/], failed: /✕ leaking matcher/,
  },
  vitest: {
    file: [bin('vitest/vitest.mjs')], args: ['run'], leakyAt: /step\.spec\.ts:20:9/,
    counts: /Tests +4 failed \| 2 passed \(6\)/, typescript: true, healthy: [/✓ healthy/, /✓ matcher/],
    failed: /× leaking matcher/,
  },
  jasmine: {
    file: [bin('jasmine/bin/jasmine.js')], args: ['--config=jasmine.json', '--no-color'],
    leakyAt: /step\.spec\.js:13:11/, counts: /5 specs, 3 failures/, healthy: [/^\.FF\.F$/m],
    failed: /step leaking matcher/,
  },
  node: {
    file: ['--test'], args: ['--test-reporter=tap', 'step.spec.js'], leakyAt: /step\.spec\.js:11:9/,
    counts: /# pass 1\n# fail 2/, healthy: [/^ok 1 - healthy/m], failed: /not ok 2 - leaking/,
  },
};

for (const [name, {file, args, leakyAt, counts, healthy, failed, typescript}] of Object.entries(kRunners)) {
  test(name, async () => {
    const {code, output} = await run(name, file, ...args);
    assert.notEqual(code, 0);
    for (const expected of [...kTwoLeft, ...kThrew, leakyAt, counts, ...healthy, failed]) {
      assert.match(output, expected);
    }
    if (typescript) for (const expected of kTypeScript) assert.match(output, expected);
  });
}

for (const [name, {file, args}] of Object.entries(kRunners)) {
  if (name === 'node') continue; // has no filter that reads the same
  test(`${name}: a project whose tests are healthy passes`, async () => {
    const only = {jest: ['-t', 'healthy'], vitest: ['-t', 'healthy'], jasmine: ['--filter=healthy']}[name];
    const {code, output} = await run(name, file, ...args, ...only);
    assert.equal(code, 0, output);
    assert.doesNotMatch(output, /left:/);
  });
}

test('jest: stories and leaks have the lines of the file, whatever it compiles', async () => {
  const {code, output} = await run('jest_default', kRunners.jest.file, '--colors=false');
  assert.equal(code, 0, output);
  assert.match(output, /Tests: +2 passed, 2 total/);
});
