// The work that is measured. A row makes what it needs on the current backend and gives the
// function that is one iteration.
'use strict';

const tf = require('@tensorflow/tfjs');

const M = 1 << 20;

function ofVector(run) {
  return () => {
    const x = tf.randomUniform([M], -3, 3);
    return () => run(x).dispose();
  };
}

function mlp() {
  const layers = [
    tf.layers.dense({units: 512, activation: 'relu', inputShape: [784]}),
    tf.layers.dense({units: 512, activation: 'relu'}),
    tf.layers.dense({units: 10, activation: 'softmax'}),
  ];
  return {layers, loss: 'categoricalCrossentropy', x: [64, 784], classes: 10};
}

function recurrent(layer, units, [batch, steps, features]) {
  return {
    layers: [tf.layers[layer]({units, inputShape: [steps, features]}), tf.layers.dense({units: 1})],
    loss: 'meanSquaredError',
    x: [batch, steps, features],
  };
}

// One step of Adam.
function training(describe) {
  return () => {
    const {layers, loss, x, classes} = describe();
    const model = tf.sequential({layers});
    model.compile({optimizer: tf.train.adam(), loss});
    const inputs = tf.randomUniform(x);
    const labels =
      classes === undefined
        ? tf.randomUniform([x[0], 1])
        : tf.tidy(() =>
            tf.oneHot(tf.randomUniform([x[0]], 0, classes, 'int32'), classes).toFloat(),
          );
    return () => model.trainOnBatch(inputs, labels);
  };
}

// A layer with state, applied to one sequence after the other.
function prediction(layer, units, [batch, steps, features]) {
  return () => {
    const model = tf.sequential({
      layers: [
        tf.layers[layer]({units, stateful: true, batchInputShape: [batch, steps, features]}),
      ],
    });
    const x = tf.randomUniform([batch, steps, features]);
    return () => model.predict(x).dispose();
  };
}

// What ours should be, at least, as a multiple of wasm's speed; and what a call may cost beyond
// TensorFlow.js's own bookkeeping.
module.exports = {
  tfjs_add_1: {
    ratio: 1,
    opCostNs: 300,
    make: () => {
      const a = tf.scalar(1);
      const b = tf.scalar(2);
      return () => tf.add(a, b).dispose();
    },
  },
  tfjs_tanh_1m: {ratio: 10, make: ofVector((x) => tf.tanh(x))},
  tfjs_sigmoid_1m: {ratio: 10, make: ofVector((x) => tf.sigmoid(x))},
  tfjs_chain_1m: {
    ratio: 10,
    make: ofVector((x) => tf.tidy(() => tf.add(tf.mul(tf.tanh(x), tf.sigmoid(x)), tf.relu(x)))),
  },
  tfjs_matmul_512: {
    ratio: 5,
    make: () => {
      const a = tf.randomUniform([512, 512]);
      const b = tf.randomUniform([512, 512]);
      return () => tf.matMul(a, b).dispose();
    },
  },
  tfjs_mlp_train: {ratio: 15, make: training(mlp)},
  tfjs_rnn_predict_small: {ratio: 15, make: prediction('simpleRNN', 10, [1, 16, 4])},
  tfjs_rnn_predict: {ratio: 15, make: prediction('simpleRNN', 128, [1, 100, 32])},
  tfjs_lstm_predict: {ratio: 15, make: prediction('lstm', 128, [1, 50, 64])},
  tfjs_rnn_train: {ratio: 15, make: training(() => recurrent('simpleRNN', 128, [32, 100, 32]))},
  tfjs_lstm_train: {ratio: 15, make: training(() => recurrent('lstm', 128, [32, 50, 64]))},
};
