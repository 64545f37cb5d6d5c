// Does memory stay flat? A million ops and ten thousand predictions of a model with state:
//
//   node --expose-gc --min-semi-space-size=16 test/soak.js [part of the work: 1]
//
// V8's nursery is given its final size, so that what grows is not that.
'use strict';

const assert = require('assert');
const tf = require('@tensorflow/tfjs');
const tenure = require('..');

const part = Number(process.argv[2] || 1);
const OPS = 1e6 * part;
const PREDICTIONS = 1e4 * part;
const MiB = 1 << 20;

function collect() {
  for (let i = 0; i < 4; ++i) global.gc();
}

async function look() {
  collect();
  await new Promise((resolve) => setImmediate(resolve)); // for finalizers
  collect();
  const {rss, external} = process.memoryUsage();
  const {numTensors, numDataBuffers, numBytes} = tf.memory();
  const {tensors, liveBytes, reservedBytes, toldToV8Bytes} = tenure.memory();
  return {
    rss,
    external,
    numTensors,
    numDataBuffers,
    numBytes,
    tensors,
    liveBytes,
    reservedBytes,
    toldToV8Bytes,
  };
}

// Runs `work` a tenth of the times to warm up, then the rest, and compares.
async function flat(name, times, work) {
  for (let i = 0; i < times / 10; ++i) work(i);
  const before = await look();
  const start = Date.now();
  for (let i = 0; i < times; ++i) work(i);
  const seconds = (Date.now() - start) / 1000;
  const after = await look();
  const rssGrowth = (after.rss - before.rss) / MiB;
  const externalGrowth = (after.external - before.external) / MiB;
  console.log(
    `${name}: ${times} in ${seconds.toFixed(1)} s; RSS ${(after.rss / MiB).toFixed(1)} MiB ` +
      `(${rssGrowth.toFixed(2)} more), external ${externalGrowth.toFixed(3)} MiB more, ` +
      `${after.numTensors} tensors, ${after.tensors} in the ledger, ${after.liveBytes} bytes`,
  );
  for (const count of [
    'numTensors',
    'numDataBuffers',
    'numBytes',
    'tensors',
    'liveBytes',
    'reservedBytes',
    'toldToV8Bytes',
  ]) {
    assert.strictEqual(after[count], before[count], `${name}: ${count} was ${before[count]}`);
  }
  assert(rssGrowth < 8, `${name}: the process grew by ${rssGrowth} MiB`);
  assert(externalGrowth < 2, `${name}: external memory grew by ${externalGrowth} MiB`);
}

async function main() {
  await tf.setBackend('tenure');

  const x = tf.randomUniform([64]);
  const y = tf.randomUniform([64]);
  const ops = [
    () => tf.add(x, y),
    () => tf.mul(x, y),
    () => tf.tanh(x),
    () => tf.sum(x),
    () => tf.reshape(x, [8, 8]),
    () => tf.slice(x, [3], [17]),
    () => tf.concat([x, y]),
    () => tf.matMul(x.as2D(8, 8), y.as2D(8, 8)),
    () => tf.scalar(3),
    () => tf.cast(x, 'int32'),
  ];
  await flat('ops', OPS, (i) => tf.tidy(() => void ops[i % ops.length]()));

  const model = tf.sequential({
    layers: [
      tf.layers.simpleRNN({units: 10, stateful: true, batchInputShape: [1, 16, 4]}),
      tf.layers.dense({units: 1}),
    ],
  });
  const sequence = tf.randomUniform([1, 16, 4]);
  await flat('predictions', PREDICTIONS, () => model.predict(sequence).dispose());
}

main();
