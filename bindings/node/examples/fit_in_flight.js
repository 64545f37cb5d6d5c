// fit, with its inputs or its model disposed while it runs.
const tf = require('@tensorflow/tfjs');

function makeModel(name) {
  const model = tf.sequential({name});
  model.add(tf.layers.dense({units: 1, inputShape: [2], name: `${name}_dense`}));
  model.compile({optimizer: 'sgd', loss: 'meanSquaredError'});
  return model;
}

async function inputsDisposed() {
  const model = makeModel('first');
  const x = tf.ones([8, 2]);
  const y = tf.ones([8, 1]);
  const training = model.fit(x, y, {epochs: 2, verbose: 0});
  x.dispose();
  try {
    await training;
    console.log('inputs disposed in flight: trained');
  } catch (error) {
    console.log(`inputs disposed in flight: ${error.message}`);
  }
}

async function modelDisposed() {
  const model = makeModel('second');
  const x = tf.ones([8, 2]);
  const y = tf.ones([8, 1]);
  const training = model.fit(x, y, {epochs: 2, verbose: 0});
  model.dispose();
  try {
    await training;
    console.log('model disposed in flight: trained');
  } catch (error) {
    console.log(`model disposed in flight: ${error.message}`);
  }
}

inputsDisposed().then(modelDisposed);
