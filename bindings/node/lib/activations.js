'use strict';
// What an op may apply to its result, as TensorFlow.js names it, in the order of tenure::Activation.
const ACTIVATIONS = [
  'linear', 'relu', 'relu6', 'elu', 'leakyrelu', 'prelu', 'sigmoid', 'tanh', 'hardSigmoid',
];
// Those that recurrent ops know.
const RECURRENT = new Set(['linear', 'relu', 'sigmoid', 'tanh', 'hardSigmoid']);

module.exports = {ACTIVATIONS, RECURRENT};
