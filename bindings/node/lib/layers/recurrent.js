'use strict';
// SimpleRNN, GRU and LSTM of TensorFlow.js's layers, run as one call forward and one backward. What
// the fused call does not do (dropout while training, masks over an initial state, other cells and
// activations, gradients of gradients) goes the way of TensorFlow.js, step by step, with the same
// numbers.

const {cast, engine, getBackend, tidy} = require('../core');
const {RECURRENT} = require('../activations');
const {nativeLayers} = require('./switch');

// Inputs are x, kernel, recurrent kernel, then bias and states if there are; the results are the
// sequence or the last output, followed by the states if attrs.returnStates. attrs.kind is
// 'SimpleRNN', 'GRU' or 'LSTM'. The mask is [batch, time], of bool.
function recurrent(inputs, attrs, mask = null) {
  const e = engine();
  const {kind, returnSequences, returnStates} = attrs;
  const all = mask === null ? inputs : [...inputs, mask];
  const given = {...attrs, hasMask: mask !== null, training: e.isTapeOn()};
  const forward = () => e.runKernel(`Tenure${kind}`, all, given);
  if (!given.training) return forward();
  const count = returnStates ? (kind === 'LSTM' ? 3 : 2) : 1;
  // The gradient reads every step's state. The sequence has them, or the kernel gives them.
  const readsSequence = returnSequences && mask === null && kind !== 'LSTM';
  return e.runKernelFunc({
    inputs: {...inputs},
    attrs: {},
    forwardFunc: (_, save) => {
      const results = forward();
      save([...all, ...(readsSequence ? [results[0]] : []), ...results.slice(count)]);
      return results.slice(0, count);
    },
    backwardsFunc: (dy, saved) => {
      const flowing = Array.isArray(dy) ? dy : [dy];
      const gradients = e.runKernel(`Tenure${kind}Grad`, [...saved, ...flowing], given);
      return Object.fromEntries(gradients.map((gradient, i) => [i, () => gradient]));
    },
  });
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
  if (training && (drops(cell.dropout) || drops(cell.recurrentDropout))) return null;
  // A step that is masked repeats the output before it. Before the first one TensorFlow.js has the
  // initial state there, and the fused call 0.
  const hasState = layer.stateful || kwargs?.initialState != null;
  if (mask != null && (hasState || mask.rank !== 2)) return null;
  if (layer.numConstants != null || layer.unroll || x.rank !== 3 || x.dtype !== 'float32' ||
      x.shape[0] === 0 || x.shape[1] === 0) {
    return null;
  }
  const activation = activationOf(cell.activation);
  const recurrentActivation = kind === 'SimpleRNN' ? 'linear' : activationOf(cell.recurrentActivation);
  if (!RECURRENT.has(activation) || !RECURRENT.has(recurrentActivation)) return null;
  return {
    kind, activation, recurrentActivation, resetAfter: false, goBackwards: layer.goBackwards,
    returnSequences: layer.returnSequences, useBias: cell.bias != null,
  };
}

function fusedCall(layer, x, kwargs, attrs) {
  return tidy(() => {
    const {cell} = layer;
    const {initialState, mask, training} = kwargs || {};
    const states = initialState != null ? initialState : layer.stateful ? layer.states_ : [];
    const returnStates = layer.returnState || layer.stateful;
    const inputs = [x, cell.kernel.read(), cell.recurrentKernel.read()];
    if (attrs.useBias) inputs.push(cell.bias.read());
    inputs.push(...states);
    const [output, ...after] = recurrent(
        inputs, {...attrs, hasState: states.length > 0, returnStates},
        mask == null ? null : cast(mask, 'bool'));
    if (layer.stateful) layer.resetStates(after, training);
    return layer.returnState ? [output, ...after] : output;
  });
}

const patched = new WeakSet();

// Takes over what the layers of this copy of tfjs-layers do, when the backend is ours.
function install(tfl, serialization) {
  const prototype = tfl.RNN.prototype;
  if (patched.has(prototype)) return;
  patched.add(prototype);
  const {classNameMap} = serialization.SerializationMap.getMap();
  const kinds = new Map(['SimpleRNN', 'GRU', 'LSTM'].map(
      kind => [classNameMap[`${kind}Cell`][0].prototype, kind]));
  const stock = prototype.call;
  prototype.call = function call(inputs, kwargs) {
    const x = Array.isArray(inputs) ? inputs[0] : inputs;
    const {gradientDepth} = engine().state;
    if (nativeLayers() && gradientDepth < 2 && getBackend() === 'tenure' &&
        (!Array.isArray(inputs) || inputs.length === 1)) {
      const initial = kwargs == null ? null : kwargs.initialState;
      const attrs = fusible(this, x, kwargs, kinds);
      const states = attrs !== null && attrs.kind === 'LSTM' ? 2 : 1;
      if (attrs !== null && (initial == null || initial.length === states)) {
        return fusedCall(this, x, kwargs, attrs);
      }
    }
    return stock.call(this, inputs, kwargs);
  };
}

module.exports = {install, recurrent};
