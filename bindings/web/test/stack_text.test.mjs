// Stacks as browsers wrote them, line by line.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import core from '../core/index.js';

const {frameIn} = core.textStacks;

function check(line, name, file, lineNumber, column, isAsync = false) {
  assert.deepEqual(frameIn(line), {function: name, file, line: lineNumber, column, isAsync}, line);
}

test('V8', () => {
  check('    at train (http://127.0.0.1:3000/src/app.ts:12:5)', 'train', 'http://127.0.0.1:3000/src/app.ts', 12, 5);
  check('    at http://127.0.0.1:3000/app.js:1:20871', '', 'http://127.0.0.1:3000/app.js', 1, 20871);
  check('    at async http://127.0.0.1:3000/app.js:3:7', '', 'http://127.0.0.1:3000/app.js', 3, 7, true);
  check('    at async Model.fit (http://127.0.0.1/a.js:3:7)', 'Model.fit', 'http://127.0.0.1/a.js', 3, 7, true);
  check('    at new Net (http://127.0.0.1/a.js:3:7)', 'Net', 'http://127.0.0.1/a.js', 3, 7);
  check('    at Xe.call [as apply] (http://127.0.0.1/a.js:3:7)', 'Xe.call', 'http://127.0.0.1/a.js', 3, 7);
  check('    at relu__op (http://127.0.0.1/node_modules/.vite/deps/tfjs.js?v=3f1c2a:9:1)', 'relu__op',
        'http://127.0.0.1/node_modules/.vite/deps/tfjs.js?v=3f1c2a', 9, 1);
  check('    at step (webpack-internal:///./src/step.ts:8:14)', 'step', 'webpack-internal:///./src/step.ts', 8, 14);
  check('    at step (webpack://app/./src/step.ts?:8:14)', 'step', 'webpack://app/./src/step.ts?', 8, 14);
  check('    at blob:http://127.0.0.1:3000/6f9a-11:2:3', '', 'blob:http://127.0.0.1:3000/6f9a-11', 2, 3);
  check('    at eval (eval at run (http://127.0.0.1/a.js:5:3), <anonymous>:1:1)', 'eval', 'http://127.0.0.1/a.js', 5, 3);
  check('    at f (file:///home/me/my (old) app/a.js:5:3)', 'f', 'file:///home/me/my (old) app/a.js', 5, 3);
  for (const line of ['Error: no', '    at <anonymous>', '    at async Promise.all (index 0)',
    '    at Array.forEach (<anonymous>)', '    at native']) assert.equal(frameIn(line), null, line);
});

test('Firefox', () => {
  check('train@http://127.0.0.1:3000/src/app.ts:12:5', 'train', 'http://127.0.0.1:3000/src/app.ts', 12, 5);
  check('@http://127.0.0.1:3000/app.js:1:20871', '', 'http://127.0.0.1:3000/app.js', 1, 20871);
  check('async*train@http://127.0.0.1/a.js:3:7', 'train', 'http://127.0.0.1/a.js', 3, 7, true);
  check('promise callback*train@http://127.0.0.1/a.js:3:7', 'train', 'http://127.0.0.1/a.js', 3, 7, true);
  check('setTimeout handler*@http://127.0.0.1/a.js:3:7', '', 'http://127.0.0.1/a.js', 3, 7, true);
  check('run/</<@http://127.0.0.1/a.js:3:7', 'run', 'http://127.0.0.1/a.js', 3, 7);
  check('relu__op@http://127.0.0.1/@fs/home/me/node_modules/@tensorflow/tfjs-core/a.js?v=3f:9:1', 'relu__op',
        'http://127.0.0.1/@fs/home/me/node_modules/@tensorflow/tfjs-core/a.js?v=3f', 9, 1);
  check('@webpack-internal:///./src/step.ts:8:14', '', 'webpack-internal:///./src/step.ts', 8, 14);
  check('step@blob:http://127.0.0.1:3000/6f9a-11:2:3', 'step', 'blob:http://127.0.0.1:3000/6f9a-11', 2, 3);
  check('@http://127.0.0.1/a.js line 5 > eval:1:1', '', 'http://127.0.0.1/a.js', 5, 0);
  check('anonymous@http://127.0.0.1/a.js line 5 > Function:3:9', 'anonymous', 'http://127.0.0.1/a.js', 5, 0);
  assert.equal(frameIn(''), null);
});

test('Safari', () => {
  check('train@http://127.0.0.1:3000/src/app.ts:12:5', 'train', 'http://127.0.0.1:3000/src/app.ts', 12, 5);
  check('http://127.0.0.1:3000/app.js:1:20871', '', 'http://127.0.0.1:3000/app.js', 1, 20871);
  check('http://127.0.0.1/node_modules/@tensorflow/tfjs-core/a.js:4:2', '',
        'http://127.0.0.1/node_modules/@tensorflow/tfjs-core/a.js', 4, 2);
  check('module code@http://127.0.0.1/a.js:3:7', '', 'http://127.0.0.1/a.js', 3, 7);
  check('global code@http://127.0.0.1/a.js:3:7', '', 'http://127.0.0.1/a.js', 3, 7);
  check('async train@http://127.0.0.1/a.js:3:7', 'train', 'http://127.0.0.1/a.js', 3, 7, true);
  check('train@blob:http://127.0.0.1:3000/6f9a-11:2:3', 'train', 'blob:http://127.0.0.1:3000/6f9a-11', 2, 3);
  for (const line of ['[native code]', 'forEach@[native code]', 'eval code', 'asyncFunctionResume@[native code]']) {
    assert.equal(frameIn(line), null, line);
  }
});

test('whose code a file is', async () => {
  globalThis.location ??= {origin: 'http://127.0.0.1'};
  const {fullPath, kindOf, shortPath} = await import('../browser/names.js');
  const {kLibrary, kMixed, kPackage, kRuntime, kUser, kindOfSource} = core.kinds;
  assert.equal(kindOf('https://cdn/npm/@tensorflow/tfjs@4.22.0/dist/tf.min.js'), kLibrary);
  assert.equal(kindOf('http://127.0.0.1/js/tf-backend-wasm.es2017.min.js'), kLibrary);
  assert.equal(kindOf('http://127.0.0.1/app.js?v=1'), kMixed);
  assert.equal(kindOf('webpack-internal:///./src/a.ts'), kUser);
  assert.equal(kindOf('webpack-internal:///./node_modules/@tensorflow/tfjs-core/dist/engine.js'), kLibrary);
  assert.equal(kindOf('chrome-extension://abc/inject.js'), kRuntime);
  assert.equal(kindOfSource('../../../tfjs-core/src/engine.ts'), kLibrary);
  assert.equal(kindOfSource('http://127.0.0.1/node_modules/.vite/deps/chunk-3F.js'), kPackage);
  assert.equal(kindOfSource('http://127.0.0.1/node_modules/tenure-explain/core/looks.js'), kLibrary);
  assert.equal(shortPath(fullPath('webpack-internal:///./src/a.ts')), 'src/a.ts');
  assert.equal(shortPath(fullPath('webpack://my-app/./src/a.ts')), 'src/a.ts');
  assert.equal(shortPath(fullPath('http://127.0.0.1/src/a.ts?t=1699')), 'src/a.ts');
});
