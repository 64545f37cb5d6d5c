'use strict';
// Whole recurrent layers as kernels: TenureRecurrent runs all steps, TenureRecurrentGrad gives the
// gradients of all inputs. Both are of the tenure backend only.

const b = require('../bridge');

const KINDS = {simpleRNN: 0, gru: 1, lstm: 2};
// In the order of tenure::RecurrentActivation.
const ACTIVATIONS = {linear: 0, tanh: 1, relu: 2, sigmoid: 3, hardSigmoid: 4};

function putAttrs(attrs) {
  b.putInt(KINDS[attrs.kind]);
  b.putInt(ACTIVATIONS[attrs.activation]);
  b.putInt(ACTIVATIONS[attrs.recurrentActivation]);
  for (const flag of ['resetAfter', 'goBackwards', 'returnSequences', 'useBias', 'hasState', 'training']) {
    b.putInt(attrs[flag] ? 1 : 0);
  }
}

const RECURRENT = b.op('recurrent');
function recurrent({inputs, backend, attrs}) {
  b.start(RECURRENT);
  b.putTensors(backend, inputs);
  putAttrs(attrs);
  b.putInt(attrs.returnStates ? 1 : 0);
  return b.runMany(backend);
}

const RECURRENT_GRAD = b.op('recurrent_grad');
function recurrentGrad({inputs, backend, attrs}) {
  b.start(RECURRENT_GRAD);
  b.putTensors(backend, inputs);
  putAttrs(attrs);
  b.putInt(attrs.returnStates ? 1 : 0);
  return b.runMany(backend);
}

module.exports = {TenureRecurrent: recurrent, TenureRecurrentGrad: recurrentGrad};
