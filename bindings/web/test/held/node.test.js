// held() in Node: the arrays of the cpu backend and the heap of the WebAssembly backend.

import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import {test} from 'node:test';

import * as programs from './programs.js';

const require = createRequire(import.meta.url);
const tf = require('@tensorflow/tfjs');
require('@tensorflow/tfjs-backend-wasm');
const {held, heldBy, walk, watch} = require('../../held');
const {readHeap} = require('../../held/wasm_heap');

const rowsOf = backend => held(tf).filter(row => row.backend === backend);

async function use(backend) {
  await tf.setBackend(backend);
  await tf.ready();
}

// All that malloc was asked for through the module and not yet told to free, as blocks of emmalloc:
// sizes are rounded to 8, and two words are its own.
function countMallocs(wasm) {
  const blocks = new Map();
  const {_malloc, _free} = wasm;
  wasm._malloc = n => {
    const at = _malloc(n);
    blocks.set(at, Math.max(8, Math.ceil(n / 8) * 8) + 8);
    return at;
  };
  wasm._free = at => {
    blocks.delete(at);
    return _free(at);
  };
  return {
    bytes: () => [...blocks.values()].reduce((sum, n) => sum + n, 0),
    size: () => blocks.size,
    stop: () => Object.assign(wasm, {_malloc, _free}),
  };
}

test('cpu: live is the bytes of the arrays', async () => {
  await use('cpu');
  const arrays = new Map();
  const {data} = tf.backend();
  const {set} = data;
  data.set = function(dataId, value) {
    arrays.set(dataId, value.values);
    return set.call(this, dataId, value);
  };
  const before = rowsOf('cpu')[0];
  const tensors = programs.tenMade(tf);
  delete data.set;
  const alive = new Set(tensors.map(t => t.dataId));
  const bytes = [...arrays].filter(([id]) => alive.has(id)).reduce((n, [, a]) => n + a.buffer.byteLength, 0);
  const after = rowsOf('cpu')[0];
  assert.equal(after.live - before.live, bytes);
  assert.equal(after.pieces.live - before.pieces.live, 10);
  assert.equal(after.total, after.live);
  tf.dispose(tensors);
  assert.deepEqual(rowsOf('cpu')[0], before);
});

test('cpu: a slice keeps the array it was cut from', async () => {
  await use('cpu');
  const large = tf.ones([1000, 100]);
  const row = tf.slice(large, [3, 0], [1, 100]);
  const [piece] = heldBy(tf, row);
  assert.equal(piece.bytes, 400000);
  assert.match(piece.note, /a view of 400 bytes keeps all of its array/);
  const {pieces} = walk(tf, [large, row]);
  assert.equal(pieces.length, 1);
  assert.deepEqual(pieces[0].data, [large.dataId, row.dataId]);
  tf.dispose([large, row]);
  assert.deepEqual(heldBy(tf, row), []);
});

test('cpu: complex numbers hold two arrays, and strings none', async () => {
  await use('cpu');
  const x = tf.complex([1, 2], [3, 4]), text = tf.tensor(['a', 'b']);
  assert.deepEqual(heldBy(tf, x).map(piece => piece.bytes), [8, 8]);
  assert.deepEqual(heldBy(tf, text), []);
  tf.dispose([x, text]);
});

test('wasm: total is the memory, live what malloc gave', async () => {
  await use('wasm');
  tf.fill([1], 1).dispose(); // the module replaces its malloc when that is first called
  const {wasm} = tf.backend();
  for (const size of programs.kSizes) {
    const count = countMallocs(wasm);
    const [before] = rowsOf('wasm');
    const tensors = Array.from({length: 10}, () => tf.fill([size], 2));
    const [after] = rowsOf('wasm');
    assert.equal(after.total, wasm.HEAPU8.buffer.byteLength);
    assert.equal(count.size(), 10);
    const more = after.live - before.live;
    // The module itself notes where each tensor is, and may take a block that is a little larger.
    assert.ok(more >= count.bytes() && more <= count.bytes() + 10 * 64 + 512, `${more} for ${count.bytes()}`);
    assert.equal(tensors.flatMap(t => heldBy(tf, t)).length, 10);
    tf.dispose(tensors);
    const [end] = rowsOf('wasm');
    assert.ok(end.live <= before.live + 512 && end.live >= before.live - 512, `${end.live} after ${before.live}`);
    assert.ok(end.pooled >= after.pooled);
    count.stop();
  }
});

test('wasm: all of the memory is live, free, or the program\'s own', async () => {
  await use('wasm');
  const x = tf.ones([1000]);
  const [row] = rowsOf('wasm');
  const own = tf.backend().wasm.stackSave();
  assert.equal(row.live + row.pooled + own, row.total);
  assert.match(row.note, new RegExp(`${own} bytes`));
  x.dispose();
});

test('wasm: the memory grows and never shrinks', async () => {
  await use('wasm');
  const [before] = rowsOf('wasm');
  const large = tf.ones([before.total / 4]);
  const [grown] = rowsOf('wasm');
  assert.ok(grown.total > before.total);
  large.dispose();
  const [after] = rowsOf('wasm');
  assert.equal(after.total, grown.total);
  assert.ok(after.pooled >= grown.pooled + before.total);
});

test('wasm: what was dropped without dispose is unclaimed', {skip: !globalThis.gc}, async () => {
  const factory = tf.findBackendFactory('wasm');
  tf.removeBackend('wasm');
  tf.registerBackend('wasm', factory);
  const stop = watch(tf);
  await use('wasm');
  const unclaimed = () => walk(tf).unclaimed.find(rest => rest.backend === 'wasm').bytes;
  const kept = tf.ones([1000]);
  const before = unclaimed();
  const weak = (() => new WeakRef(tf.ones([100000]).dataId))();
  while (weak.deref() !== undefined) {
    await new Promise(setImmediate);
    globalThis.gc();
  }
  assert.equal(walk(tf).isWhole, true);
  const more = unclaimed() - before;
  assert.ok(more >= 400000 && more <= 400000 + 600, `${more}`);
  assert.deepEqual(walk(tf).pieces.map(piece => piece.data), [[kept.dataId]]);
  kept.dispose();
  stop();
  assert.equal(Object.hasOwn(tf.backend().dataIdMap, 'set'), false);
});

test('wasm: a heap that is not understood is said to be', async () => {
  await use('wasm');
  const {wasm} = tf.backend();
  const x = tf.ones([10]);
  const {stackSave} = wasm;
  for (const wrong of [() => 0, () => 8, () => -16, undefined]) {
    wasm.stackSave = wrong;
    const [row] = rowsOf('wasm');
    assert.equal(row.total, wasm.HEAPU8.buffer.byteLength);
    assert.match(row.note, /not known of this build/);
  }
  wasm.stackSave = stackSave;
  x.dispose();
});

test('wasm: a damaged heap gives null or sums that fit, and never throws', async () => {
  await use('wasm');
  const tensors = programs.tenMade(tf);
  const {wasm} = tf.backend();
  const base = wasm.stackSave();
  const end = base + (1 << 17);
  const words = new Uint32Array(wasm.HEAPU8.buffer.slice(0, end));
  let seed = 7;
  const random = n => {
    seed = Math.imul(seed, 1103515245) + 12345 >>> 0;
    return (seed >>> 8) % n;
  };
  let refused = 0;
  for (let round = 0; round < 2000; round++) {
    const damaged = words.slice();
    for (let i = 0; i <= round % 3; i++) {
      damaged[base / 4 + random(4000)] = random(2) ? random(1 << 17) : seed;
    }
    const heap = readHeap(damaged, base);
    if (heap === null) refused++;
    else assert.ok(heap.used + heap.free <= end - base, JSON.stringify(heap));
  }
  assert.ok(refused > 0);
  tf.dispose(tensors);
});

test('a model is held by its variables', async () => {
  await use('cpu');
  const model = programs.smallModel(tf);
  const weights = new Set(model.weights.map(w => w.read().dataId));
  const {pieces} = walk(tf);
  assert.deepEqual(new Set(pieces.flatMap(piece => piece.data)), weights);
  assert.equal(pieces.reduce((sum, piece) => sum + piece.bytes, 0), model.countParams() * 4);
  model.dispose();
  assert.deepEqual(walk(tf).pieces, []);
});

test('a backend that nobody knows gives what it says, and a note', async () => {
  class Odd extends tf.KernelBackend {
    memory() { return {numBytes: 77, unreliable: false}; }
    numDataIds() { return 0; }
    dispose() {}
  }
  class Mute extends Odd {
    memory() { throw new Error('no'); }
  }
  for (const [Backend, live] of [[Odd, 77], [Mute, tf.memory().numBytes]]) {
    tf.registerBackend('odd', () => new Backend());
    await use('odd');
    const [row] = rowsOf('odd');
    assert.equal(row.live, live);
    assert.match(row.note, /not known/);
    assert.deepEqual(walk(tf).unclaimed.filter(rest => rest.backend === 'odd'), []);
    await use('cpu');
    tf.removeBackend('odd');
  }
});

test('a known backend with other insides falls back', async () => {
  await use('wasm');
  const backend = tf.backend();
  const {dataIdMap} = backend;
  backend.dataIdMap = undefined;
  assert.match(rowsOf('wasm')[0].note, /not known/);
  assert.ok(Array.isArray(walk(tf).pieces));
  backend.dataIdMap = dataIdMap;
});

test('looking moves no data and changes nothing', async () => {
  await use('wasm');
  const x = tf.ones([10]);
  await use('cpu');
  const before = JSON.stringify([tf.memory(), held(tf)]);
  heldBy(tf, x);
  walk(tf, [x]);
  assert.equal(JSON.stringify([tf.memory(), held(tf)]), before);
  assert.deepEqual(heldBy(tf, x).map(piece => piece.backend), ['wasm']);
  x.dispose();
});

test('TensorFlow.js is found by itself, and what is no tensor is refused', () => {
  assert.deepEqual(held(), held(tf));
  assert.throws(() => heldBy(tf, 3), {name: 'TypeError', message: /heldBy: expected a tensor/});
  assert.throws(() => heldBy(tf, null), {name: 'TypeError', message: /got: null/});
});
