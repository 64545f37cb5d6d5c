// Predictions in a loop: leaking, and tidy.
const tf = require('@tensorflow/tfjs');

const model = tf.sequential();
model.add(tf.layers.dense({units: 8, inputShape: [4], activation: 'relu'}));
model.add(tf.layers.dense({units: 2, activation: 'softmax'}));

function leaking(n) {
  let best = 0;
  for (let i = 0; i < n; ++i) {
    const x = tf.ones([1, 4]);
    const y = model.predict(x);
    best += y.argMax(-1).dataSync()[0];
  }
  return best;
}

function tidy(n) {
  let best = 0;
  for (let i = 0; i < n; ++i) {
    best += tf.tidy(() => model.predict(tf.ones([1, 4])).argMax(-1).dataSync()[0]);
  }
  return best;
}

for (const loop of [tidy, leaking]) {
  const before = tf.memory().numTensors;
  loop(100);
  console.log(`${loop.name}: ${tf.memory().numTensors - before} tensors more after 100 predictions`);
}
