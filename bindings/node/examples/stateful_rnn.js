// A stateful SimpleRNN: trained, asked, disposed, and asked again.
const tf = require('@tensorflow/tfjs');

async function main() {
  const model = tf.sequential();
  model.add(tf.layers.simpleRNN({
    units: 4, stateful: true, batchInputShape: [2, 3, 1], name: 'rnn',
    kernelInitializer: tf.initializers.glorotNormal({seed: 1}),
    recurrentInitializer: tf.initializers.orthogonal({seed: 2}),
  }));
  model.add(tf.layers.dense(
      {units: 1, name: 'out', kernelInitializer: tf.initializers.glorotNormal({seed: 3})}));
  model.compile({optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError'});

  const x = tf.tensor3d([[[0.1], [0.2], [0.3]], [[0.4], [0.5], [0.6]]]);
  const y = tf.tensor2d([[0.4], [0.7]]);
  const history = await model.fit(x, y, {epochs: 5, batchSize: 2, shuffle: false, verbose: 0});
  console.log(`losses: ${history.history.loss.map(v => v.toFixed(3)).join(' ')}`);

  const before = tf.memory().numTensors;
  for (let i = 0; i < 3; ++i) {
    const p = model.predict(x);
    console.log(`predicted: ${Array.from(p.dataSync(), v => v.toFixed(3))}`);
    p.dispose();
  }
  console.log(`tensors more after 3 predictions: ${tf.memory().numTensors - before}`);

  model.resetStates();
  const {numDisposedVariables} = model.dispose();
  console.log(`disposed variables: ${numDisposedVariables}`);
  try {
    model.predict(x);
  } catch (error) {
    console.log(`predict: ${error.message}`);
  }
  tf.dispose([x, y]);
  console.log(`tensors left: ${tf.memory().numTensors}`);
}

main();
