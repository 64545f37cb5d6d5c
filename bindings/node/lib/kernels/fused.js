// What follows a product in one pass: a bias and an activation.
'use strict';

const b = require('../bridge');

// In the order of tenure::Activation.
const ACTIVATIONS = ['linear', 'relu', 'relu6', 'elu', 'leakyrelu', 'prelu', 'sigmoid'];

function putFused(backend, {bias, preluActivationWeights}, {activation, leakyreluAlpha}) {
  const code = activation == null ? 0 : ACTIVATIONS.indexOf(activation);
  if (code < 0) throw new Error(`tenure: no activation ${activation} can be fused`);
  b.putMaybeTensor(backend, bias);
  b.putMaybeTensor(backend, preluActivationWeights);
  b.putInt(code);
  b.putDouble(leakyreluAlpha == null ? 0.2 : leakyreluAlpha);
}

module.exports = {putFused};
