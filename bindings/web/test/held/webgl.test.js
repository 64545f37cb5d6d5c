// held() of the WebGL backend, against a count of the textures that WebGL was asked for.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {after, before, test} from 'node:test';

import {start} from './browser.js';

let browser;
before(async () => { browser = await start(); });
after(() => browser.close());

// Runs f(t, count) in a new page on the WebGL backend. count() is what WebGL has, and what held()
// says, both since the backend was ready: it probes what the GPU can do with textures of its own.
async function inPage(f, argument) {
  const page = await browser.open('count_gl.js');
  try {
    return await page.evaluate(async ([source, argument]) => {
      if (await t.use('webgl') !== 'webgl') throw new Error('no WebGL');
      const start = {textures: glCount.textures(), bytes: glCount.textureBytes()};
      const count = () => {
        const rows = t.rowsOf('webgl');
        const sum = read => rows.reduce((total, row) => total + read(row), 0);
        return {
          gl: {textures: glCount.textures() - start.textures, bytes: glCount.textureBytes() - start.bytes},
          live: sum(row => row.live), pooled: sum(row => row.pooled), total: sum(row => row.total),
          liveTextures: sum(row => row.pieces.live), pooledTextures: sum(row => row.pieces.pooled),
          notes: rows.map(row => row.note).filter(Boolean), names: rows.map(row => row.name),
        };
      };
      return (0, eval)(`(${source})`)(t, count, argument);
    }, [f.toString(), argument]);
  } finally {
    await page.close();
  }
}

function assertSame(count, what) {
  assert.equal(count.total, count.gl.bytes, `${what}: bytes`);
  assert.equal(count.liveTextures + count.pooledTextures, count.gl.textures, `${what}: textures`);
  assert.equal(count.live + count.pooled, count.total, `${what}: sum`);
}

test('ten tensors made and disposed: none live, all pooled', async () => {
  const [made, disposed, again] = await inPage((t, count) => {
    const tensors = t.tenMade(t.tf);
    const made = count();
    t.tf.dispose(tensors);
    const disposed = count();
    t.tf.dispose(t.tenMade(t.tf));
    return [made, disposed, count()];
  });
  for (const [what, counted] of Object.entries({made, disposed, again})) assertSame(counted, what);
  assert.equal(made.liveTextures, 10);
  assert.equal(disposed.liveTextures, 0);
  assert.equal(disposed.live, 0);
  assert.equal(disposed.total, made.total);
  assert.equal(again.total, disposed.total, 'the same sizes use the pool');
});

test('uploads: the texture that floats pass through is counted as large as it is', async () => {
  const [small, used, disposed, told] = await inPage((t, count) => {
    const {tf} = t;
    const x = tf.tensor2d(new Float32Array(300 * 200).fill(1), [300, 200]);
    const small = [count(), t.heldBy(tf, x)];
    const y = tf.relu(x);
    const used = [count(), t.heldBy(tf, x)];
    tf.dispose([x, y]);
    return [small, used, count(), tf.memory().numBytesInGPUAllocated];
  });
  assert.equal(small[0].total, 0);
  assert.deepEqual(small[1].map(piece => [piece.name, piece.bytes]), [['arrays not uploaded', 240000]]);
  assertSame(used[0], 'used');
  assert.equal(used[1].length, 1);
  assert.match(used[1][0].name, /textures/);
  assertSame(disposed, 'disposed');
  assert.equal(disposed.live, 0);
  assert.notEqual(told, disposed.total, 'TensorFlow.js counts uploads by now as they are: say so no more');
});

test('pixels are uploaded through textures of bytes, which stay', async () => {
  const counted = await inPage((t, count) => {
    const {tf} = t;
    const image = new ImageData(64, 48);
    const x = tf.browser.fromPixels(image);
    const y = tf.mul(x, 2);
    const live = count();
    tf.dispose([x, y]);
    return [live, count()];
  });
  for (const one of counted) {
    assertSame(one, 'pixels');
    assert.deepEqual(one.names, ['WebGL textures', 'WebGL pixel textures']);
  }
  assert.equal(counted[1].live, 0);
});

test('a model, predictions and training', async () => {
  const counts = await inPage(async (t, count) => {
    const {tf} = t;
    const model = t.smallModel(tf);
    model.compile({optimizer: 'adam', loss: 'meanSquaredError'});
    const x = tf.randomNormal([4, 16, 16, 3]), y = tf.zeros([4, 10]);
    const list = [count()];
    tf.dispose(model.predict(x));
    list.push(count());
    await model.fit(x, y, {epochs: 2, verbose: 0});
    list.push(count());
    const {pieces, unclaimed} = t.walk(tf, [x, y]);
    const weights = new Set(model.weights.map(w => w.read().dataId));
    const ofWeights = pieces.filter(piece => piece.data.some(id => weights.has(id))).length;
    list.push({...count(), ofWeights, weights: weights.size, unclaimed});
    model.dispose();
    model.optimizer.dispose();
    tf.dispose([x, y]);
    list.push(count());
    return list;
  });
  counts.forEach((one, i) => assertSame(one, `step ${i}`));
  assert.ok(counts[3].ofWeights >= counts[3].weights);
  assert.deepEqual(counts[3].unclaimed, []);
  assert.equal(counts[4].liveTextures, 0);
});

test('reading keeps a copy beside the texture', async () => {
  const [before, after, pieces, end, rows] = await inPage(async (t, count) => {
    const {tf} = t;
    const x = t.made(tf, [100, 30]);
    const before = count();
    await x.data();
    const pieces = t.heldBy(tf, x);
    const after = count();
    x.dispose();
    const end = count();
    const stop = t.watch(tf);
    const y = t.made(tf, [100, 30]), small = tf.scalar(1);
    await y.data();
    const rows = t.rowsOf('webgl').slice(1);
    stop();
    tf.dispose([y, small]);
    return [before, after, pieces, end, rows];
  });
  for (const one of [before, after, end]) assertSame(one, 'reading');
  assert.equal(before.live, after.live);
  assert.deepEqual(pieces.map(piece => [piece.name, piece.bytes]),
                   [['WebGL textures', before.live], ['CPU copies', 12000]]);
  assert.match(pieces[1].note, /since it was read/);
  assert.deepEqual(rows.map(row => [row.name, row.live, row.pieces.live]),
                   [['CPU copies', 12000, 1], ['arrays not uploaded', 4, 1]]);
  assert.equal(end.live, 0);
});

test('a tensor that is disposed while it is read stays until then', async () => {
  const [during, pieces, after] = await inPage(async (t, count) => {
    const {tf} = t;
    const stop = t.watch(tf);
    const x = t.made(tf, [100, 30]);
    const reading = x.data();
    x.dispose();
    const during = count();
    const {pieces} = t.walk(tf);
    const told = pieces.map(piece => piece.note);
    await reading;
    stop();
    return [during, told, count()];
  });
  assertSame(during, 'during');
  assert.ok(during.live > 0);
  assert.deepEqual(during.notes, ['1 disposed, kept until its read ends']);
  assert.ok(pieces.includes('disposed, kept until its read ends'));
  assertSame(after, 'after');
  assert.equal(after.live, 0);
  assert.deepEqual(after.notes, []);
});

test('a slice keeps the texture it was cut from', async () => {
  const {full, sliced, pieces, own, end} = await inPage((t, count) => {
    const {tf} = t;
    tf.env().set('WEBGL_PACK', false); // packed textures are cut by copying
    const large = t.made(tf, [400, 300]);
    const full = count();
    const row = tf.slice(large, [3, 0], [1, 300]);
    large.dispose();
    const sliced = count(), own = t.heldBy(tf, row);
    const {pieces} = t.walk(tf, [row]);
    row.dispose();
    return {full, sliced, pieces: pieces.map(piece => piece.data.length), own, end: count()};
  });
  assertSame(sliced, 'sliced');
  assert.equal(sliced.live, full.live);
  assert.equal(own.length, 1);
  assert.equal(own[0].bytes, full.live);
  assert.match(own[0].note, /a slice, which keeps all of the texture/);
  assert.deepEqual(pieces, [1]);
  assert.equal(end.live, 0);
});

test('complex numbers hold the textures of their parts', async () => {
  const [counted, pieces, end, kept, claimed] = await inPage((t, count) => {
    const {tf} = t;
    const real = t.made(tf, [50, 20]), imag = t.made(tf, [50, 20]);
    const x = tf.complex(real, imag);
    tf.dispose([real, imag]);
    const pieces = t.heldBy(tf, x), counted = count();
    const kept = t.heldBy(tf, real).map(piece => piece.refs);
    const claimed = t.walk(tf, [real, x]).pieces.map(piece => piece.data.includes(x.dataId));
    x.dispose();
    return [counted, pieces, count(), kept, claimed];
  });
  assertSame(counted, 'complex');
  assert.ok(pieces.every(piece => piece.note === 'a part of complex numbers'));
  assert.deepEqual(kept, [1]);
  assert.deepEqual(claimed, [true, true]);
  assert.equal(pieces.length, 2);
  assert.equal(pieces.reduce((sum, piece) => sum + piece.bytes, 0), counted.live);
  assert.equal(end.live, 0);
});

test('other sizes make other textures: a pool that grows', async () => {
  const totals = await inPage((t, count) => {
    const {tf} = t;
    return [224, 225, 226, 227].map(size => {
      const x = t.made(tf, [size, size, 3]);
      const y = tf.image.resizeBilinear(x, [size / 2 | 0, size / 2 | 0]);
      tf.dispose([x, y]);
      return count();
    });
  });
  totals.forEach((one, i) => {
    assertSame(one, `size ${i}`);
    assert.equal(one.live, 0);
    if (i > 0) assert.ok(one.pooled > totals[i - 1].pooled);
  });
});

test('who keeps what is found from watch, and what was dropped is unclaimed', async () => {
  const {kept, whole, unclaimed, row, restored} = await inPage(async t => {
    const {tf} = t;
    const stop = t.watch(tf);
    const x = t.made(tf, [64, 64]);
    const {pieces} = t.walk(tf);
    const kept = pieces.map(piece => piece.data.includes(x.dataId));
    // A texture in use that no data has is what a collected tensor leaves.
    const manager = tf.backend().textureManager;
    manager.acquireTexture([10, 10], undefined, false);
    const {isWhole, unclaimed} = t.walk(tf);
    stop();
    const restored = !Object.hasOwn(tf.backend().texData, 'set');
    return {kept, whole: isWhole, unclaimed, row: t.rowsOf('webgl')[0], restored};
  });
  assert.deepEqual(kept, [true]);
  assert.equal(whole, true);
  assert.deepEqual(unclaimed, [{backend: 'webgl', name: 'WebGL textures', bytes: 400, count: 1}]);
  assert.equal(row.pieces.live, 2);
  assert.ok(restored);
});

test('the guide shows what its program holds', async () => {
  const guide = readFileSync(new URL('../../../../docs/guide/browser.md', import.meta.url), 'utf8');
  const [, program] = guide.match(/```js\n([^`]*console\.table\(held\(\)\);\n)```/);
  const table = [...guide.matchAll(/^\| webgl \| (WebGL [a-z ]+) \| (\d+) \| (\d+) \| (\d+) \|$/gm)];
  const [rows, told] = await inPage((t, count, program) => {
    const {tf} = t;
    const shown = [];
    const run = new Function('tf', 'picture', 'held', 'console', program);
    run(tf, new ImageData(224, 224), t.held, {table: rows => shown.push(...rows)});
    return [shown, tf.memory().numBytesInGPUAllocated];
  }, program);
  assert.deepEqual(rows.map(({name, live, pooled, total}) => [name, live, pooled, total].map(String)),
                   table.map(([, ...row]) => row));
  assert.ok(guide.includes(`\`tf.memory().numBytesInGPUAllocated\` says ${told} here`));
});

test('half precision', async () => {
  const counted = await inPage((t, count) => {
    const {tf} = t;
    tf.env().set('WEBGL_RENDER_FLOAT32_ENABLED', false);
    const x = t.made(tf, [100, 30]), y = tf.matMul(x, x, true);
    const live = count();
    tf.dispose([x, y]);
    return [live, count()];
  });
  for (const one of counted) assertSame(one, 'half');
  assert.equal(counted[1].live, 0);
});

test('a pool with a bound gives textures back', async () => {
  const counted = await inPage((t, count) => {
    const {tf} = t;
    tf.env().set('WEBGL_DELETE_TEXTURE_THRESHOLD', 0);
    t.tf.dispose(t.tenMade(tf));
    return count();
  });
  assertSame(counted, 'bound');
  assert.equal(counted.total, 0);
});

test('looking makes, deletes and moves nothing', async () => {
  const [before, after] = await inPage((t, count) => {
    const {tf} = t;
    const x = t.made(tf, [100, 30]), small = tf.scalar(3);
    const state = () => JSON.stringify([
      glCount.calls, tf.memory(), t.held(tf), tf.backend().texData.numDataIds(), tf.backend().gpgpu.gl.getError(),
    ]);
    const before = state();
    t.heldBy(tf, x);
    t.heldBy(tf, small);
    t.walk(tf, [x, small]);
    count();
    return [before, state()];
  });
  assert.equal(before, after);
});

test('a disposed backend holds nothing', async () => {
  const rows = await inPage(t => {
    const {tf} = t;
    const x = t.made(tf, [100, 30]);
    const backend = tf.backend();
    x.dispose();
    backend.textureManager.dispose();
    return t.rowsOf('webgl');
  });
  assert.equal(rows[0].total, 0);
});
