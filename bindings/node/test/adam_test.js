'use strict';
// Adam's step as one kernel: the numbers of TensorFlow.js, and what the kernel cannot do takes the
// stock way.

const assert = require('node:assert/strict');
const {test} = require('node:test');
const tf = require('@tensorflow/tfjs');
const tenure = require('..');

const STEPS = 7;
const scaleAt = i => 10 ** ((i % 7) - 3);
const gradientAt = (step, i) => Math.sin(1.7 * i + step) * scaleAt(i);

// After all steps, in doubles: value, mean and square of a variable that starts as `start`.
function expected(start, {rate, beta1, beta2, epsilon}) {
  return start.map((value, i) => {
    let mean = 0, square = 0;
    for (let step = 1; step <= STEPS; ++step) {
      const g = Math.fround(gradientAt(step, i));
      mean = beta1 * mean + (1 - beta1) * g;
      square = beta2 * square + (1 - beta2) * g * g;
      const corrected = Math.sqrt(square / (1 - beta2 ** step));
      value -= rate * (mean / (1 - beta1 ** step)) / (corrected + epsilon);
    }
    return [value, mean, square];
  });
}

function close(actual, wanted, bound, what) {
  assert.ok(Math.abs(actual - wanted) <= bound, `${what}: ${actual} != ${wanted}`);
}

async function kernelsOf(f) {
  return new Set((await tf.profile(f)).kernelNames);
}

for (const asList of [false, true]) {
  test(`values and moments are those of doubles, gradients as ${asList ? 'a list' : 'a map'}`, async () => {
    await tf.setBackend('tenure');
    const before = tenure.memory().tensors;
    const how = {rate: 0.02, beta1: 0.8, beta2: 0.95, epsilon: 1e-4};
    const shapes = [[], [5], [40, 33], [0, 3]];
    const starts = shapes.map(shape => Array.from({length: tf.util.sizeFromShape(shape)}, (_, i) => Math.cos(i)));
    const variables = shapes.map((shape, k) => tf.tidy(() => tf.variable(tf.tensor(starts[k], shape, 'float32'), true)));
    const still = tf.tidy(() => tf.variable(tf.scalar(4)));
    const optimizer = tf.train.adam(how.rate, how.beta1, how.beta2, how.epsilon);
    let kernels;
    for (let step = 1; step <= STEPS; ++step) {
      const pairs = variables.map(({name, shape}, k) => ({
        name, tensor: tf.tensor(starts[k].map((_, i) => gradientAt(step, i)), shape, 'float32'),
      }));
      pairs.push({name: still.name, tensor: null});
      const given = asList ? pairs : Object.fromEntries(pairs.map(({name, tensor}) => [name, tensor]));
      kernels = await kernelsOf(() => optimizer.applyGradients(given));
      tf.dispose(pairs.map(({tensor}) => tensor).filter(Boolean));
    }
    assert.ok(kernels.has('TenureAdam') && !kernels.has('Sqrt'));
    assert.equal(optimizer.iterations, STEPS);
    const weights = await optimizer.getWeights();
    assert.equal(weights.length, 1 + 2 * (variables.length + 1));
    variables.forEach((variable, k) => {
      const value = variable.dataSync();
      const mean = weights[1 + k].tensor.dataSync();
      const square = weights[1 + variables.length + 1 + k].tensor.dataSync();
      assert.equal(weights[1 + k].name, `${variable.name}/m`);
      expected(starts[k], how).forEach(([v, m, s], i) => {
        close(value[i], v, 1e-6, `value ${k}[${i}]`);
        close(mean[i], m, 1e-6 * scaleAt(i), `mean ${k}[${i}]`);
        close(square[i], s, 1e-6 * scaleAt(i) ** 2, `square ${k}[${i}]`);
      });
    });
    assert.equal(still.dataSync()[0], 4);
    optimizer.dispose();
    tf.dispose([...variables, still, weights[0].tensor]);
    assert.equal(tenure.memory().tensors, before);
  });
}

test('training gives the numbers of the cpu backend', async () => {
  const train = async () => {
    const model = tf.sequential({
      layers: [
        tf.layers.dense({units: 9, activation: 'tanh', inputShape: [4], kernelInitializer: tf.initializers.glorotNormal({seed: 3})}),
        tf.layers.dense({units: 1, kernelInitializer: tf.initializers.glorotNormal({seed: 4})}),
      ],
    });
    model.compile({optimizer: tf.train.adam(0.01), loss: 'meanSquaredError'});
    const x = tf.randomNormal([32, 4], 0, 1, 'float32', 5);
    const y = x.sum(1, true).sin();
    const {history} = await model.fit(x, y, {epochs: 20, batchSize: 8, shuffle: false, verbose: 0});
    return history.loss;
  };
  await tf.setBackend('cpu');
  const wanted = await train();
  await tf.setBackend('tenure');
  (await train()).forEach((loss, i) => assert.ok(Math.abs(loss - wanted[i]) <= 1e-4 * wanted[i], `${i}: ${loss} != ${wanted[i]}`));
});

test('what the kernel cannot do, and nativeLayers(false), take the stock way', async () => {
  await tf.setBackend('tenure');
  const step = (variable, gradient) => kernelsOf(() => {
    const optimizer = tf.train.adam(0.5);
    optimizer.applyGradients({[variable.name]: gradient});
    optimizer.dispose();
  });
  const wide = tf.variable(tf.ones([2, 3]));
  assert.ok(!(await step(wide, tf.ones([1, 3]))).has('TenureAdam'));
  assert.deepEqual(wide.shape, [2, 3]);
  tenure.nativeLayers(false);
  try {
    assert.ok(!(await step(wide, tf.ones([2, 3]))).has('TenureAdam'));
  } finally {
    tenure.nativeLayers(true);
  }
  assert.ok((await step(wide, tf.ones([2, 3]))).has('TenureAdam'));
  wide.dataSync().forEach(v => close(v, -0.5, 5e-5, 'three steps of half'));
});

test('a variable or a gradient that was disposed of is an error, and the step can be done again', async () => {
  await tf.setBackend('tenure');
  const variable = tf.variable(tf.ones([3]));
  const optimizer = tf.train.adam(0.5);
  const gone = tf.ones([3]);
  gone.dispose();
  assert.throws(() => optimizer.applyGradients({[variable.name]: gone}));
  optimizer.applyGradients({[variable.name]: tf.ones([3])});
  variable.dataSync().forEach(v => close(v, 0.5, 5e-5, 'one step'));
});
