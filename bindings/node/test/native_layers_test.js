'use strict';
// Recurrent layers run whole: the same numbers as TensorFlow.js's layers on its cpu backend, in
// values, gradients and training; and what cannot run whole takes the stock way.

const assert = require('node:assert/strict');
const {test} = require('node:test');
const tf = require('@tensorflow/tfjs');
const tenure = require('..');
const {recurrent} = require('../lib/layers/recurrent');

// The kernels that f runs.
async function kernelsOf(f) {
  const {kernelNames} = await tf.profile(f);
  return new Set(kernelNames);
}

const kernelOf = {simpleRNN: 'TenureSimpleRNN', gru: 'TenureGRU', lstm: 'TenureLSTM'};

function isWhole(kernels) {
  return Object.values(kernelOf).some(name => kernels.has(name));
}

function close(actual, expected, what, tolerance = 2e-5) {
  assert.equal(actual.length, expected.length, `${what}: length`);
  for (let i = 0; i < actual.length; ++i) {
    const bound = tolerance * Math.max(1, Math.abs(expected[i]));
    assert.ok(Math.abs(actual[i] - expected[i]) <= bound, `${what}[${i}]: ${actual[i]} != ${expected[i]}`);
  }
}

// What f says on the cpu backend, and on ours.
async function compare(what, f, tolerance) {
  await tf.setBackend('cpu');
  const expected = await f();
  await tf.setBackend('tenure');
  const actual = await f();
  assert.deepEqual(Object.keys(actual), Object.keys(expected));
  for (const key of Object.keys(expected)) close(actual[key], expected[key], `${what}: ${key}`, tolerance);
}

const seeds = {
  kernelInitializer: () => tf.initializers.glorotNormal({seed: 11}),
  recurrentInitializer: () => tf.initializers.orthogonal({seed: 12}),
  biasInitializer: () => tf.initializers.randomNormal({seed: 13, stddev: 0.2}),
};

function options(more) {
  return {
    units: 5, ...Object.fromEntries(Object.entries(seeds).map(([name, make]) => [name, make()])), ...more,
  };
}

const BATCH = 3, STEPS = 7, FEATURES = 4;
const input = () => tf.randomNormal([BATCH, STEPS, FEATURES], 0, 1, 'float32', 5);

const layers = {
  simpleRNN: ['tanh', 'relu', 'linear', 'sigmoid'].map(activation => ({activation})),
  gru: [{}, {activation: 'relu', recurrentActivation: 'sigmoid'}, {recurrentActivation: 'linear'}],
  lstm: [{}, {activation: 'sigmoid', recurrentActivation: 'sigmoid'}, {unitForgetBias: true, activation: 'linear'}],
};
const forms = [
  {}, {returnSequences: true}, {goBackwards: true}, {goBackwards: true, returnSequences: true},
  {useBias: false}, {returnState: true}, {returnState: true, returnSequences: true},
];

for (const [kind, variants] of Object.entries(layers)) {
  test(`${kind}: values and gradients are those of TensorFlow.js`, async () => {
    for (const variant of variants) {
      for (const form of forms) {
        const text = `${kind} ${JSON.stringify({...variant, ...form})}`;
        await compare(text, async () => {
          const layer = tf.layers[kind](options({...variant, ...form}));
          const x = input();
          const results = [].concat(layer.apply(x)).map(t => t.dataSync());
          const loss = v => tf.tidy(() => [].concat(layer.apply(v)).reduce(
              (sum, t, i) => sum.add(t.mul(t.add(i + 1)).sum()), tf.scalar(0)));
          const dx = tf.grad(loss)(x);
          const variables = layer.trainableWeights.map(w => w.read());
          const {grads} = tf.variableGrads(() => loss(x), variables);
          const out = {dx: dx.dataSync()};
          results.forEach((values, i) => { out[`result ${i}`] = values; });
          variables.forEach((v, i) => { out[`gradient ${i}`] = grads[v.name].dataSync(); });
          return out;
        });
      }
    }
  });

  test(`${kind}: runs whole, forward and backward`, async () => {
    await tf.setBackend('tenure');
    const layer = tf.layers[kind](options({returnSequences: true}));
    const x = input();
    layer.apply(x);
    const forward = await kernelsOf(() => layer.apply(x));
    assert.deepEqual([...forward], [kernelOf[kind]]);
    const both = await kernelsOf(() => tf.grad(v => layer.apply(v).sum())(x));
    assert.ok(both.has(kernelOf[kind]) && both.has(`${kernelOf[kind]}Grad`));
    assert.ok(!both.has('BatchMatMul') && !both.has('Unpack'));
  });

  test(`${kind}: an initial state is used and has gradients`, async () => {
    await compare(kind, async () => {
      const layer = tf.layers[kind](options({}));
      const x = input();
      const states = kind === 'lstm' ? 2 : 1;
      const initial = [...Array(states)].map((_, i) => tf.randomNormal([BATCH, 5], 0, 1, 'float32', 20 + i));
      const f = (...given) => layer.apply(given[0], {initialState: given.slice(1)}).square().sum();
      const value = f(x, ...initial);
      const grads = tf.grads(f)([x, ...initial]);
      return Object.fromEntries([value, ...grads].map((t, i) => [i, t.dataSync()]));
    });
  });

  test(`${kind}: training gives the same weights and losses`, async () => {
    await compare(kind, async () => {
      const model = tf.sequential();
      model.add(tf.layers[kind](options({inputShape: [STEPS, FEATURES], returnSequences: true})));
      model.add(tf.layers[kind](options({units: 3})));
      model.add(tf.layers.dense({units: 1, kernelInitializer: tf.initializers.glorotNormal({seed: 4})}));
      model.compile({optimizer: tf.train.adam(0.01), loss: 'meanSquaredError'});
      const x = input(), y = tf.ones([BATCH, 1]);
      const {history} = await model.fit(x, y, {epochs: 4, batchSize: 2, shuffle: false, verbose: 0});
      const out = {losses: history.loss};
      model.getWeights().forEach((w, i) => { out[i] = w.dataSync(); });
      model.dispose();
      return out;
    }, 1e-4);
  });

  test(`${kind}: a stateful layer carries its state, and forgets it when told`, async () => {
    await compare(kind, async () => {
      const model = tf.sequential();
      model.add(tf.layers[kind](
          options({stateful: true, batchInputShape: [BATCH, STEPS, FEATURES]})));
      model.add(tf.layers.dense({units: 1, kernelInitializer: 'ones'}));
      model.compile({optimizer: tf.train.sgd(0.05), loss: 'meanSquaredError'});
      const x = input(), y = tf.ones([BATCH, 1]);
      const out = {first: model.predict(x).dataSync(), second: model.predict(x).dataSync()};
      const {history} = await model.fit(x, y, {epochs: 3, batchSize: BATCH, shuffle: false, verbose: 0});
      out.losses = history.loss;
      out.after = model.predict(x).dataSync();
      model.resetStates();
      out.reset = model.predict(x).dataSync();
      model.dispose();
      return out;
    }, 1e-4);
  });

  test(`${kind}: bidirectional, in every merge mode`, async () => {
    for (const mergeMode of ['concat', 'sum', 'ave', 'mul']) {
      for (const returnSequences of [false, true]) {
        await compare(`${kind} ${mergeMode}`, async () => {
          const layer = tf.layers.bidirectional(
              {layer: tf.layers[kind](options({returnSequences})), mergeMode});
          const x = input();
          const y = layer.apply(x);
          const {grads} = tf.variableGrads(
              () => layer.apply(x).square().sum(), layer.trainableWeights.map(w => w.read()));
          const named = Object.keys(grads).sort((a, b) => a.localeCompare(b));
          const out = {y: y.dataSync(), dx: tf.grad(v => layer.apply(v).square().sum())(x).dataSync()};
          named.forEach((name, i) => { out[i] = grads[name].dataSync(); });
          return out;
        });
      }
    }
  });

  test(`${kind}: nothing is left behind`, async () => {
    await tf.setBackend('tenure');
    const layer = tf.layers[kind](options({}));
    const x = input();
    const step = () => tf.tidy(() => {
      layer.apply(x);
      tf.variableGrads(() => layer.apply(x).sum(), layer.trainableWeights.map(w => w.read()));
    });
    step();
    const before = {...tf.memory(), native: tenure.memory().tensors};
    for (let i = 0; i < 5; ++i) step();
    const after = {...tf.memory(), native: tenure.memory().tensors};
    for (const key of ['numTensors', 'numDataBuffers', 'numBytes', 'native']) assert.equal(after[key], before[key], key);
  });
}

test('what cannot run whole takes the stock way, with the same numbers', async () => {
  const cases = {
    elu: () => tf.layers.simpleRNN(options({activation: 'elu', returnSequences: true})),
    softsign: () => tf.layers.lstm(options({recurrentActivation: 'softsign'})),
    stacked: () => tf.layers.rnn({cell: [tf.layers.gruCell(options({})), tf.layers.gruCell(options({}))]}),
  };
  for (const [name, make] of Object.entries(cases)) {
    await compare(name, async () => {
      const layer = make();
      return {y: layer.apply(input()).dataSync()};
    });
    const layer = make();
    const kernels = await kernelsOf(() => layer.apply(input()));
    assert.ok(!isWhole(kernels), name);
  }
  const layer = tf.layers.lstm(options({dropout: 0.5}));
  assert.ok(!isWhole(await kernelsOf(() => layer.apply(input(), {training: true}))));
  assert.ok(isWhole(await kernelsOf(() => layer.apply(input()))));
});

// Steps that count, by row: in the middle, all, from the second on.
const MASK = [[1, 1, 0, 1, 0, 0, 1], [1, 1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 1, 0, 0]];

test('masks: values and gradients are those of TensorFlow.js', async () => {
  for (const kind of Object.keys(layers)) {
    for (const form of forms) {
      await compare(`${kind} ${JSON.stringify(form)}`, async () => {
        const layer = tf.layers[kind](options(form));
        const x = input(), mask = tf.tensor2d(MASK, undefined, 'bool');
        const outputs = v => [].concat(layer.call(v, {mask}));
        layer.apply(x);
        const loss = v => outputs(v).reduce((sum, t, i) => sum.add(t.mul(t.add(i + 1)).sum()), tf.scalar(0));
        const variables = layer.trainableWeights.map(w => w.read());
        const {grads} = tf.variableGrads(() => loss(x), variables);
        const out = {dx: tf.grad(loss)(x).dataSync()};
        outputs(x).forEach((t, i) => { out[`result ${i}`] = t.dataSync(); });
        variables.forEach((v, i) => { out[`gradient ${i}`] = grads[v.name].dataSync(); });
        return out;
      });
    }
  }
});

test('masks of a model reach the layer, which runs whole', async () => {
  const make = () => {
    const model = tf.sequential();
    model.add(tf.layers.masking({maskValue: 0, inputShape: [STEPS, FEATURES]}));
    model.add(tf.layers.lstm(options({})));
    return model;
  };
  const masked = () => tf.tidy(() => input().mul(tf.tensor3d(MASK.flat(), [BATCH, STEPS, 1])));
  await compare('masking', async () => {
    const model = make();
    const y = model.predict(masked()).dataSync();
    model.dispose();
    return {y};
  });
  const model = make();
  assert.ok(isWhole(await kernelsOf(() => model.predict(masked()))));
});

test('masks over an initial state take the stock way', async () => {
  await compare('state', async () => {
    const layer = tf.layers.gru(options({returnSequences: true}));
    const x = input(), mask = tf.tensor2d(MASK, undefined, 'bool');
    const initialState = [tf.ones([BATCH, 5])];
    layer.apply(x);
    return {y: layer.call(x, {mask, initialState}).dataSync()};
  });
});

test('a cell in tf.layers.rnn runs whole too', async () => {
  await compare('rnn', async () => {
    const layer = tf.layers.rnn({cell: tf.layers.lstmCell(options({})), returnSequences: true});
    return {y: layer.apply(input()).dataSync()};
  });
  const layer = tf.layers.rnn({cell: tf.layers.gruCell(options({}))});
  assert.ok(isWhole(await kernelsOf(() => layer.apply(input()))));
});

test('gradients of gradients are those of TensorFlow.js', async () => {
  await compare('second order', async () => {
    const layer = tf.layers.simpleRNN(options({}));
    const first = x => tf.grad(v => layer.apply(v).square().sum())(x);
    return {ddx: tf.grad(x => first(x).square().sum())(input()).dataSync()};
  });
});

test('nativeLayers(false) switches them off', async () => {
  await tf.setBackend('tenure');
  const layer = tf.layers.lstm(options({}));
  const x = input();
  const whole = layer.apply(x).dataSync();
  assert.equal(tenure.nativeLayers(), true);
  tenure.nativeLayers(false);
  try {
    assert.ok(!isWhole(await kernelsOf(() => layer.apply(x))));
    close(layer.apply(x).dataSync(), whole, 'step by step');
  } finally {
    tenure.nativeLayers(true);
  }
  assert.throws(() => tenure.nativeLayers(1), /expected true or false, got: 1/);
});

test('a gru that resets after the product, as Keras has it', async () => {
  const units = 3;
  const x = tf.randomNormal([2, 4, 5], 0, 1, 'float32', 1);
  const kernel = tf.randomNormal([5, 3 * units], 0, 0.5, 'float32', 2);
  const recurrentKernel = tf.randomNormal([units, 3 * units], 0, 0.5, 'float32', 3);
  const bias = tf.randomNormal([2, 3 * units], 0, 0.5, 'float32', 4);
  const attrs = {
    kind: 'GRU', activation: 'tanh', recurrentActivation: 'sigmoid', resetAfter: true,
    goBackwards: false, returnSequences: true, useBias: true, hasState: false, returnStates: false,
  };
  const whole = (...inputs) => recurrent(inputs, attrs)[0];
  const stepwise = (xs, k, r, b) => {
    const [inputBias, innerBias] = tf.unstack(b);
    let h = tf.zeros([2, units]);
    const outputs = tf.unstack(xs, 1).map(step => {
      const [xz, xr, xh] = tf.split(step.matMul(k).add(inputBias), 3, 1);
      const [hz, hr, hh] = tf.split(h.matMul(r).add(innerBias), 3, 1);
      const z = xz.add(hz).sigmoid(), reset = xr.add(hr).sigmoid();
      const candidate = xh.add(reset.mul(hh)).tanh();
      h = z.mul(h).add(tf.sub(1, z).mul(candidate));
      return h;
    });
    return tf.stack(outputs, 1);
  };
  const inputs = [x, kernel, recurrentKernel, bias];
  const evaluate = f => {
    const grads = tf.grads((...given) => f(...given).square().sum())(inputs);
    return [f(...inputs), ...grads].map(t => t.dataSync());
  };
  await tf.setBackend('cpu');
  const expected = evaluate(stepwise);
  await tf.setBackend('tenure');
  evaluate(whole).forEach((values, i) => close(values, expected[i], `result ${i}`));
});
