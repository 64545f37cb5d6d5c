// fit awaited, and not.
const tf = require('@tensorflow/tfjs');

function makeModel() {
  const model = tf.sequential();
  model.add(tf.layers.dense({units: 1, inputShape: [1], kernelInitializer: 'ones'}));
  model.compile({optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError'});
  return model;
}

async function main() {
  const x = tf.tensor2d([[1], [2], [3], [4]]);
  const y = tf.tensor2d([[3], [5], [7], [9]]);
  const options = {epochs: 50, shuffle: false, verbose: 0};
  const ask = model => tf.tidy(() => model.predict(tf.tensor2d([[5]])).dataSync()[0].toFixed(2));

  const patient = makeModel();
  await patient.fit(x, y, options);
  console.log(`awaited: f(5) = ${ask(patient)}`);

  const hasty = makeModel();
  const history = hasty.fit(x, y, options);
  console.log(`not awaited: f(5) = ${ask(hasty)}, losses: ${history.history}`);
  try {
    await hasty.fit(x, y, options);
  } catch (error) {
    console.log(`a second fit: ${error.message}`);
  }
  await history;
  console.log(`awaited in the end: f(5) = ${ask(hasty)}`);

  patient.dispose();
  hasty.dispose();
  tf.dispose([x, y]);
  console.log(`tensors left: ${tf.memory().numTensors}`);
}

main();
