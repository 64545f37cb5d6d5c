// held() of the cpu and the WebAssembly backend in a page, with threads and without.

import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';

import {start} from './browser.js';

let browser;
before(async () => { browser = await start(); });
after(() => browser.close());

async function inPage(f, argument) {
  const page = await browser.open();
  try {
    return await page.evaluate(([source, argument]) => (0, eval)(`(${source})`)(t, argument),
                               [f.toString(), argument]);
  } finally {
    await page.close();
  }
}

test('cpu: ten tensors, and none', async () => {
  const {made, bytes, end} = await inPage(async t => {
    await t.use('cpu');
    const tensors = t.tenMade(t.tf);
    const [made] = t.rowsOf('cpu');
    const bytes = tensors.reduce((sum, x) => sum + x.dataSync().byteLength, 0);
    t.tf.dispose(tensors);
    const [end] = t.rowsOf('cpu');
    return {made, bytes, end};
  });
  assert.equal(made.live, bytes);
  assert.equal(made.pieces.live, 10);
  assert.equal(end.live, 0);
});

for (const threads of [false, true]) {
  test(`wasm${threads ? ', with threads' : ''}: what malloc gave`, async () => {
    const told = await inPage(async (t, threads) => {
      const {tf} = t;
      tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', threads);
      if (threads) t.setThreadsCount(2);
      await t.use('wasm');
      const model = t.smallModel(tf), x = tf.ones([4, 16, 16, 3]);
      tf.dispose(model.predict(x));
      const {wasm} = tf.backend();
      const shared = wasm.HEAPU8.buffer.constructor.name;
      const blocks = new Map();
      const {_malloc, _free} = wasm;
      wasm._malloc = n => {
        const at = _malloc(n);
        blocks.set(at, Math.ceil(n / 8) * 8 + 8);
        return at;
      };
      wasm._free = at => {
        blocks.delete(at);
        return _free(at);
      };
      const [before] = t.rowsOf('wasm');
      const tensors = t.tenMade(tf);
      const [made] = t.rowsOf('wasm');
      const bytes = [...blocks.values()].reduce((sum, n) => sum + n, 0), count = blocks.size;
      const {pieces} = t.walk(tf, tensors);
      const claimed = pieces.length;
      t.tf.dispose(tensors);
      const [end] = t.rowsOf('wasm');
      return {shared, before, made, end, bytes, count, claimed, variables: tf.memory().numTensors - 1,
              buffer: wasm.HEAPU8.buffer.byteLength};
    }, threads);
    assert.equal(told.shared, threads ? 'SharedArrayBuffer' : 'ArrayBuffer');
    assert.equal(told.count, 10);
    assert.equal(told.claimed, 10 + told.variables);
    assert.equal(told.made.total, told.buffer);
    const more = told.made.live - told.before.live;
    assert.ok(more >= told.bytes && more <= told.bytes + 10 * 64 + 512, `${more} for ${told.bytes}`);
    // The module's own table of tensors, and the ends of what it claimed, stay.
    assert.ok(Math.abs(told.end.live - told.before.live) <= 1024, `${told.end.live} after ${told.before.live}`);
    assert.doesNotMatch(told.made.note, /not known/);
  });
}
