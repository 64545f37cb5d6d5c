// The package as a script tag, beside TensorFlow.js as one, and its source for a panel.
import assert from 'node:assert/strict';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {build} from '../build.mjs';
import {launch} from './browsers/chromium.mjs';
import {serve} from './server.mjs';

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const kPage = `<!doctype html><meta charset="utf-8"><title>script</title><link rel="icon" href="data:,">
<script src="/tfjs/tf.min.js"></script>
<script src="/dist/explain.js"></script>
<script src="/program.js"></script>`;
const kProgram = `tenureExplain.explain();
const held = [];
function step() {
  held.push(tf.ones([2, 2]).square());
}
`;

let browser, server, folder, page;
before(async () => {
  await build();
  folder = await mkdtemp(path.join(os.tmpdir(), 'tenure-script-'));
  await writeFile(path.join(folder, 'index.html'), kPage);
  await writeFile(path.join(folder, 'program.js'), kProgram);
  server = await serve({
    '/': folder, '/dist/': path.join(web, 'dist'),
    '/tfjs/': path.join(web, 'node_modules', '@tensorflow', 'tfjs', 'dist'),
  });
  browser = await launch();
  page = await browser.open(server.url);
});
after(async () => {
  await browser?.close();
  server?.close();
  if (folder) await rm(folder, {recursive: true});
});

test('a script tag finds the global tf', async () => {
  const list = await page.evaluate(async () => {
    await tf.setBackend('cpu');
    const before = tenureExplain.mark();
    step();
    return tenureExplain.leaks(before).map(({site, op}) => [site.replace(/:\d+$/, '').replace(/:\d+$/, ''), op]);
  });
  assert.deepEqual(list.map(([, op]) => op).sort(), ['square', 'tensor']);
  assert.ok(list.every(([site]) => site === 'program.js'), JSON.stringify(list));
});

test('its source tells samples, lines, tensors and stories, and records', async () => {
  const told = await page.evaluate(async () => {
    const source = tenureExplain.source();
    const sample = await new Promise(resolve => { const end = source.subscribe(s => { resolve(s); setTimeout(() => end()); }); });
    const since = await source.mark();
    step();
    const lines = await source.lines(since);
    const line = lines.find(each => each.op === 'square');
    const rows = await source.tensors(line.key, 10, since);
    const story = await source.story(rows[0].id);
    await source.record(true);
    step();
    const file = await source.record(false);
    const magic = [...new Uint8Array(await file.arrayBuffer())].slice(0, 5);
    return structuredClone({sample, line, rows, story, magic});
  });
  assert.equal(told.sample.backend, 'cpu');
  assert.ok(told.sample.tensors >= 2 && told.sample.bytes >= 32);
  assert.deepEqual([told.line.site.file, told.line.site.line, told.line.count, told.line.bytes, told.line.leak],
                   ['program.js', 4, 1, 16, false]);
  assert.deepEqual(told.rows[0].shape, [2, 2]);
  assert.equal(told.story.rows[0].label, 'born');
  assert.deepEqual(told.magic, [0x54, 0x4e, 0x52, 0x55, 0x4e]);
  assert.deepEqual(page.problems, []);
});

test('explain says what it was given instead of TensorFlow.js', async () => {
  const text = await page.evaluate(() => {
    try { tenureExplain.explain(null); } catch (error) { return `${error.name}: ${error.message}`; }
  });
  assert.match(text, /^TypeError: explain: expected TensorFlow\.js .* got: null$/);
});

test('a panel that is told what it does not know is refused once, and is not there', async () => {
  const told = await page.evaluate(async () => {
    const errors = [];
    for (const options of [{key: 5}, {foo: 1}, 5]) {
      await tenureExplain.panel.open(options).catch(error => errors.push(`${error.name}: ${error.message}`));
    }
    await tenureExplain.panel.close();
    return [...errors, document.querySelectorAll('tenure-panel').length];
  });
  assert.match(told[0], /^TypeError: panel: key: expected one such as "Alt\+Shift\+M", or null, got: 5$/);
  assert.match(told[1], /^TypeError: panel: no such option: foo; there are: key, /);
  assert.match(told[2], /^TypeError: panel: expected options as an object, got: 5$/);
  assert.equal(told[3], 0);
  assert.deepEqual(page.problems, []);
});

test('the panel goes with explain(false), and is back after explain(tf)', async () => {
  const counts = await page.evaluate(async () => {
    const soon = () => new Promise(resolve => setTimeout(resolve, 200));
    const count = () => document.querySelectorAll('tenure-panel').length;
    const list = [];
    const then = async f => {
      f();
      await soon();
      list.push(count());
    };
    await tenureExplain.panel.open();
    list.push(count());
    await then(() => tenureExplain.explain(false));
    await then(() => tenureExplain.explain(tf));
    await then(() => dispatchEvent(new KeyboardEvent('keydown', {key: 'm', code: 'KeyM', altKey: true, shiftKey: true})));
    await then(() => tenureExplain.panel.close());
    await then(() => { tenureExplain.explain(false); tenureExplain.explain(tf); });
    return list;
  });
  assert.deepEqual(counts, [1, 0, 1, 1, 0, 0]);
  assert.deepEqual(page.problems, []);
});
