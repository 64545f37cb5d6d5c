'use strict';
// A step of TensorFlow.js's Adam, one pass over each variable instead of fourteen.

const {engine, getBackend, tidy, util, zerosLike} = require('../core');
const b = require('../bridge');
const {nativeLayers} = require('./switch');

const ADAM = b.op('adam');
const INPUTS = ['value', 'mean', 'square', 'gradient', 'accBeta1', 'accBeta2'];
const NUMBERS = ['beta1', 'beta2', 'learningRate', 'epsilon'];

// Gives the new value, mean and square.
function kernel({inputs, backend, attrs}) {
  b.start(ADAM);
  for (const name of INPUTS) b.putTensor(backend, inputs[name]);
  for (const name of NUMBERS) b.putDouble(attrs[name]);
  return b.runMany(backend);
}

// The i-th of the moments that the optimizer keeps, made when first asked for.
function moment(list, i, name, value) {
  list[i] ??= {originalName: name, variable: tidy(() => zerosLike(value).variable(false))};
  return list[i].variable;
}

function applyAll(optimizer, pairs) {
  const {accBeta1, accBeta2, beta1, beta2, learningRate, epsilon} = optimizer;
  tidy(() => {
    pairs.forEach(([name, value, gradient], i) => {
      const mean = moment(optimizer.accumulatedFirstMoment, i, `${name}/m`, value);
      const square = moment(optimizer.accumulatedSecondMoment, i, `${name}/v`, value);
      if (gradient == null) return;
      const [newValue, newMean, newSquare] = engine().runKernel(
          'TenureAdam', {value, mean, square, gradient, accBeta1, accBeta2},
          {beta1, beta2, learningRate, epsilon});
      mean.assign(newMean);
      square.assign(newSquare);
      value.assign(newValue);
    });
    accBeta1.assign(accBeta1.mul(beta1));
    accBeta2.assign(accBeta2.mul(beta2));
  });
  optimizer.incrementIterations();
}

function fits([, value, gradient]) {
  return value?.dtype === 'float32' &&
      (gradient == null ||
       (gradient.dtype === 'float32' && util.arraysEqual(gradient.shape, value.shape)));
}

const patched = new WeakSet();

// Takes over what this copy of tfjs-core does with gradients, when the backend is ours.
function install(core) {
  const {prototype} = core.AdamOptimizer;
  if (patched.has(prototype)) return;
  patched.add(prototype);
  const stock = prototype.applyGradients;
  prototype.applyGradients = function applyGradients(gradients) {
    if (nativeLayers() && getBackend() === 'tenure') {
      const {registeredVariables} = engine();
      const pairs = Array.isArray(gradients) ?
          gradients.map(({name, tensor}) => [name, registeredVariables[name], tensor]) :
          Object.entries(gradients).map(
              ([name, tensor]) => [name, registeredVariables[name], tensor]);
      if (pairs.every(fits)) return applyAll(this, pairs);
    }
    return stock.call(this, gradients);
  };
}

module.exports = {install, kernels: {TenureAdam: kernel}};
