// What follows a product in one pass: a bias and an activation.
'use strict';

const b = require('../bridge');

// In the order of tenure::Activation.
const ACTIVATIONS = ['linear', 'relu', 'relu6', 'elu', 'leakyrelu', 'prelu', 'sigmoid'];

function putFused(backend, {bias, preluActivationWeights}, {activation, leakyreluAlpha}) {
  b.putMaybeTensor(backend, bias);
  b.putMaybeTensor(backend, preluActivationWeights);
  b.putChoice(ACTIVATIONS, activation == null ? 'linear' : activation);
  b.putDouble(leakyreluAlpha == null ? 0.2 : leakyreluAlpha);
}

module.exports = {putFused};
