'use strict';
// SimpleRNN, GRU and LSTM of TensorFlow.js's layers, run as one call forward and one backward. What
// the fused call does not do (masks, dropout while training, other cells and activations, gradients
// of gradients) goes the way of TensorFlow.js, step by step, with the same numbers.

const {engine, getBackend, tidy} = require('@tensorflow/tfjs-core');

const ACTIVATIONS = new Set(['linear', 'tanh', 'relu', 'sigmoid', 'hardSigmoid']);

// Inputs are x, kernel, recurrent kernel, then bias and states if there are; the result is the
// sequence or the last output, followed by the states if attrs.returnStates.
function recurrent(inputs, attrs) {
  const e = engine();
  const {returnStates} = attrs;
  const given = {...attrs, training: e.isTapeOn()};
  if (!given.training) return e.runKernel('TenureRecurrent', inputs, given);
  const count = returnStates ? (attrs.kind === 'lstm' ? 3 : 2) : 1;
  const readsSequence = attrs.returnSequences && attrs.kind !== 'lstm';
  const made = e.runKernelFunc({
    inputs: {...inputs},
    attrs: {},
    forwardFunc: (_, save) => {
      const results = e.runKernel('TenureRecurrent', inputs, given);
      const needed = readsSequence ? [results[0], ...results.slice(count)] : results.slice(count);
      save([...inputs, ...needed]);
      return results.slice(0, count);
    },
    backwardsFunc: (dy, saved) => {
      const flowing = Array.isArray(dy) ? dy : [dy];
      const gradients = e.runKernel('TenureRecurrentGrad', [...saved, ...flowing], given);
      return Object.fromEntries(gradients.map((gradient, i) => [i, () => gradient]));
    },
  });
  return made;
}

function activationOf(activation) {
  return activation == null ? 'linear' : activation.getClassName();
}

// The layer's attributes if one call can do it, or null.
function fusible(layer, x, kwargs, kinds) {
  const {cell} = layer;
  const kind = kinds.get(Object.getPrototypeOf(cell));
  if (kind === undefined || Object.prototype.hasOwnProperty.call(cell, 'call')) return null;
  const {mask, training} = kwargs || {};
  const drops = rate => rate > 0 && rate < 1;
  if (mask != null || (training && (drops(cell.dropout) || drops(cell.recurrentDropout)))) return null;
  if (layer.numConstants != null || layer.unroll || x.rank !== 3 || x.dtype !== 'float32' ||
      x.shape[0] === 0 || x.shape[1] === 0) {
    return null;
  }
  const activation = activationOf(cell.activation);
  const recurrentActivation = kind === 'simpleRNN' ? 'linear' : activationOf(cell.recurrentActivation);
  if (!ACTIVATIONS.has(activation) || !ACTIVATIONS.has(recurrentActivation)) return null;
  return {
    kind, activation, recurrentActivation, resetAfter: false, goBackwards: layer.goBackwards,
    returnSequences: layer.returnSequences, useBias: cell.bias != null,
  };
}

function fusedCall(layer, x, kwargs, attrs) {
  return tidy(() => {
    const {cell} = layer;
    const {training, initialState} = kwargs || {};
    const states = initialState != null ? initialState : layer.stateful ? layer.states_ : [];
    const returnStates = layer.returnState || layer.stateful;
    const inputs = [x, cell.kernel.read(), cell.recurrentKernel.read()];
    if (attrs.useBias) inputs.push(cell.bias.read());
    inputs.push(...states);
    const [output, ...after] = recurrent(inputs, {...attrs, hasState: states.length > 0, returnStates});
    if (layer.stateful) layer.resetStates(after, training);
    return layer.returnState ? [output, ...after] : output;
  });
}

let on = true;

// Whether recurrent layers run fused on this backend (they do, until told otherwise).
function nativeLayers(enable) {
  if (enable !== undefined) {
    if (typeof enable !== 'boolean') {
      throw new TypeError(`nativeLayers: expected true or false, got: ${enable}`);
    }
    on = enable;
  }
  return on;
}

const patched = new WeakSet();

// Takes over what the layers of this copy of tfjs-layers do, when the backend is ours.
function install(tfl, serialization) {
  const prototype = tfl.RNN.prototype;
  if (patched.has(prototype)) return;
  patched.add(prototype);
  const {classNameMap} = serialization.SerializationMap.getMap();
  const kinds = new Map([['SimpleRNNCell', 'simpleRNN'], ['GRUCell', 'gru'], ['LSTMCell', 'lstm']]
      .map(([name, kind]) => [classNameMap[name][0].prototype, kind]));
  const stock = prototype.call;
  prototype.call = function call(inputs, kwargs) {
    const x = Array.isArray(inputs) ? inputs[0] : inputs;
    const {gradientDepth} = engine().state;
    if (on && gradientDepth < 2 && getBackend() === 'tenure' &&
        (!Array.isArray(inputs) || inputs.length === 1)) {
      const initial = kwargs == null ? null : kwargs.initialState;
      const attrs = fusible(this, x, kwargs, kinds);
      const states = attrs !== null && attrs.kind === 'lstm' ? 2 : 1;
      if (attrs !== null && (initial == null || initial.length === states)) {
        return fusedCall(this, x, kwargs, attrs);
      }
    }
    return stock.call(this, inputs, kwargs);
  };
}

module.exports = {install, nativeLayers, recurrent};
