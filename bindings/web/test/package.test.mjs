// The package as it is built.
import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import path from 'node:path';
import {before, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import {build} from '../build.mjs';

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const kilobytes = async file => gzipSync(await readFile(path.join(web, 'dist', file))).length / 1024;

before(build);

test('at most 45 KB without the panel, 110 with it', async () => {
  const panel = await kilobytes('panel.mjs');
  for (const file of ['explain.mjs', 'explain.js']) {
    const size = await kilobytes(file);
    assert.ok(size <= 45, `${file}: ${size} KB`);
    assert.ok(size + panel <= 110, `${file} and panel: ${size + panel} KB`);
  }
});

test('the panel is no part of what is loaded first', async () => {
  for (const file of ['explain.mjs', 'explain.js']) {
    const text = await readFile(path.join(web, 'dist', file), 'utf8');
    assert.match(text, /panel\.mjs/);
    assert.doesNotMatch(text, /attachShadow/);
  }
});

test('in Node it says what is for Node', async () => {
  const {explain, panel} = await import(path.join(web, 'dist', 'explain.mjs'));
  assert.throws(() => explain({}), /^Error: explain: there is no page here; in Node\.js: require\('tenure-explain\/node'\)/);
  await assert.rejects(panel.open(), /^Error: panel\.open: there is no page here$/);
});
