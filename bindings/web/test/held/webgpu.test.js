// held() of the WebGPU backend, against a count of the buffers that the device was asked for.

import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';

import {start} from './browser.js';

let browser;
before(async () => {
  browser = await start(['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader',
                         '--enable-features=Vulkan', '--use-vulkan=swiftshader']);
});
after(() => browser.close());

async function inPage(f) {
  const page = await browser.open('count_gpu.js');
  try {
    return await page.evaluate(async source => {
      if (await t.use('webgpu') !== 'webgpu') throw new Error('no WebGPU');
      const count = () => {
        const rows = t.rowsOf('webgpu').filter(row => row.name.startsWith('WebGPU')); // no arrays
        const sum = read => rows.reduce((total, row) => total + read(row), 0);
        return {
          gpu: {pieces: gpuCount.buffers() + gpuCount.textures(),
                bytes: gpuCount.bufferBytes() + gpuCount.textureBytes()},
          live: sum(row => row.live), pooled: sum(row => row.pooled), total: sum(row => row.total),
          pieces: sum(row => row.pieces.live + row.pieces.pooled), rows,
          notes: rows.map(row => row.note).filter(Boolean),
        };
      };
      return (0, eval)(`(${source})`)(t, count);
    }, f.toString());
  } finally {
    await page.close();
  }
}

function assertSame(count, what) {
  assert.equal(count.total, count.gpu.bytes, `${what}: bytes`);
  assert.equal(count.pieces, count.gpu.pieces, `${what}: pieces`);
}

const rowOf = (count, name) => count.rows.find(row => row.name === name);

test('ten tensors made, read and disposed: none live, all pooled', async () => {
  const [made, read, pieces, end] = await inPage(async (t, count) => {
    const tensors = t.tenMade(t.tf);
    const made = count();
    await tensors[0].data();
    const read = count(), pieces = t.heldBy(t.tf, tensors[0]);
    t.tf.dispose(tensors);
    return [made, read, pieces, count()];
  });
  for (const [what, one] of Object.entries({made, read, end})) assertSame(one, what);
  assert.ok(rowOf(made, 'WebGPU storage buffers').pieces.live >= 10);
  assert.ok(rowOf(made, 'WebGPU uniform buffers').live > 0);
  assert.equal(rowOf(read, 'WebGPU staging buffers').pooled, 12000);
  assert.deepEqual(pieces.map(piece => [piece.name, piece.bytes]),
                   [['WebGPU storage buffers', 12000], ['CPU copies', 12000]]);
  assert.equal(end.live, 0);
  assert.equal(end.pooled, end.total);
});

test('what is disposed stays until its commands are submitted', async () => {
  const [during, after] = await inPage(async (t, count) => {
    const x = t.made(t.tf, [100, 30]), y = t.tf.relu(x);
    x.dispose();
    const during = count();
    await y.data();
    y.dispose();
    return [during, count()];
  });
  assertSame(during, 'during');
  assert.match(during.notes[0], /disposed, kept until the commands that use (it|them) are submitted/);
  assertSame(after, 'after');
  assert.deepEqual(after.notes, []);
});

test('a model, and pixels', async () => {
  const [counts, claimed, weights] = await inPage(async (t, count) => {
    const {tf} = t;
    const stop = t.watch(tf);
    const model = t.smallModel(tf);
    const x = tf.browser.fromPixels(new ImageData(16, 16)).toFloat().expandDims();
    const y = model.predict(x);
    await y.data();
    const list = [count()];
    const ids = new Set(model.weights.map(w => w.read().dataId));
    const claimed = t.walk(tf).pieces.filter(piece => piece.data.some(id => ids.has(id))).length;
    stop();
    tf.dispose([x, y]);
    model.dispose();
    await tf.zeros([1]).data();
    list.push(count());
    return [list, claimed, ids.size];
  });
  counts.forEach((one, i) => assertSame(one, `step ${i}`));
  assert.ok(claimed >= weights);
});

test('a buffer of the program is named as such', async () => {
  const pieces = await inPage(async t => {
    const {tf} = t;
    const {device} = tf.backend();
    const buffer = device.createBuffer({
      size: 64, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
    const x = tf.tensor({buffer, zeroCopy: true}, [16]);
    return t.heldBy(tf, x);
  });
  assert.deepEqual(pieces.map(piece => [piece.name, piece.bytes]), [['WebGPU buffers of the program', 64]]);
});

test('looking makes nothing', async () => {
  const [before, after] = await inPage((t, count) => {
    const {tf} = t;
    const x = t.made(tf, [100, 30]);
    const state = () => JSON.stringify([gpuCount.buffers(), tf.memory(), t.held(tf)]);
    const before = state();
    t.heldBy(tf, x);
    t.walk(tf, [x]);
    count();
    return [before, state()];
  });
  assert.equal(before, after);
});
