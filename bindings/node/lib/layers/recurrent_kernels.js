'use strict';
// Whole recurrent layers as kernels: TenureLSTM runs all steps, TenureLSTMGrad gives the gradients of
// all inputs but the mask; so for the others. They are of the tenure backend only.

const {ACTIVATIONS} = require('../activations');
const b = require('../bridge');

const KINDS = ['SimpleRNN', 'GRU', 'LSTM']; // in the order of tenure::ops::RecurrentKind
const FLAGS = [
  'resetAfter', 'goBackwards', 'returnSequences', 'useBias', 'hasState', 'hasMask', 'training', 'returnStates',
];

function kernel(code, kind) {
  return ({inputs, backend, attrs}) => {
    b.start(code);
    b.putTensors(backend, inputs);
    b.putInt(kind);
    b.putChoice(ACTIVATIONS, attrs.activation);
    b.putChoice(ACTIVATIONS, attrs.recurrentActivation);
    for (const flag of FLAGS) b.putInt(attrs[flag] ? 1 : 0);
    return b.runMany(backend);
  };
}

const RECURRENT = b.op('recurrent');
const RECURRENT_GRAD = b.op('recurrent_grad');

module.exports = Object.fromEntries(KINDS.flatMap((name, kind) => [
  [`Tenure${name}`, kernel(RECURRENT, kind)],
  [`Tenure${name}Grad`, kernel(RECURRENT_GRAD, kind)],
]));
