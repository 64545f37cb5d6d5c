'use strict';
// Whatever a program does to files, maps and names, stories throw nothing of their own at it.

const assert = require('node:assert/strict');
const {spawnSync} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {test} = require('node:test');

const kExplain = JSON.stringify(path.join(__dirname, '..', 'lib', 'explain'));
const kHead = `const {explain} = require(${kExplain}); explain({summary: false}); const tf = require('@tensorflow/tfjs');`;
const kUse = 'const x = tf.ones([2]); x.dispose(); try { x.square(); } catch (error) { console.log(error.message); }';

// What a program of these lines prints.
function printed(...lines) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenure-quiet-'));
  try {
    fs.writeFileSync(path.join(folder, 'main.js'), `${lines.join('\n')}\n`);
    const env = {...process.env, NODE_PATH: path.join(__dirname, '..', 'node_modules')};
    const {stdout, stderr} = spawnSync(process.execPath, ['main.js'], {cwd: folder, encoding: 'utf8', env});
    return stdout + stderr;
  } finally {
    fs.rmSync(folder, {recursive: true});
  }
}

test('files that cannot be read', () => {
  for (const answer of ['undefined', '{}', '(() => { throw new Error("no"); })()']) {
    const text = printed(kHead, `require('fs').readFileSync = () => ${answer};`, kUse);
    assert.match(text, /used +main\.js:3 +square\n/, text);
  }
});

test('maps that are none', () => {
  const json = text => `data:application/json;base64,${Buffer.from(text).toString('base64')}`;
  for (const url of [
    'data:application/json;base64,!!!', 'data:application/json,%E0%A4%A', '%E0%A4%A.map', 'file://host/%2f.map',
    json('{"version": 3, "sources": 3, "mappings": {}}'), json('null'), json('[]'),
  ]) {
    assert.match(printed(kHead, kUse, `//# sourceMappingURL=${url}`), /used +main\.js:2 +square\n/, url);
  }
});

test('names that are no words', () => {
  const map = JSON.stringify({version: 3, sources: ['a.ts'], sourcesContent: ['a\nb'], names: [], mappings: 'AAAA;AACA'});
  const url = `data:application/json;base64,${Buffer.from(map).toString('base64')}`;
  const text = printed(kHead, `({'a(['() { ${kUse} }})['a(['](); //`, `//# sourceMappingURL=${url}`);
  assert.match(text, /used +a\.ts:2 +square\n/, text);
});

test('a stack of the program\'s own form', () => {
  for (const form of ['(e, frames) => frames', '() => undefined', 'e => String(e)']) {
    const text = printed(kHead, `Error.prepareStackTrace = ${form};`, kUse);
    assert.match(text, /square: the tensor was disposed/, text);
  }
});
