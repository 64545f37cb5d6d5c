// What follows a product in one pass: a bias and an activation.
'use strict';

const b = require('../bridge');
const {ACTIVATIONS} = require('../activations');

function putFused(backend, {bias, preluActivationWeights}, {activation, leakyreluAlpha}) {
  b.putMaybeTensor(backend, bias);
  b.putMaybeTensor(backend, activation === 'prelu' ? preluActivationWeights : null);
  b.putChoice(ACTIVATIONS, activation == null ? 'linear' : activation);
  b.putDouble(leakyreluAlpha == null ? 0.2 : leakyreluAlpha);
}

module.exports = {putFused};
