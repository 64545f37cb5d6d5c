// Elementwise kernels that differ from the op of the table (native/elementwise.cpp says how).
'use strict';

const b = require('../bridge');
const {dtypeError} = require('../errors');
const {anyString, onHost} = require('./host');
const {binary} = require('./table');

const CLIP = b.op('clip');
function clipByValue({inputs, backend, attrs}) {
  b.start(CLIP);
  b.putTensor(backend, inputs.x);
  b.putDouble(attrs.clipValueMin);
  b.putDouble(attrs.clipValueMax);
  return b.run(backend);
}

const ELU_GRAD = b.op('elu_grad');
function eluGrad({inputs, backend}) {
  return b.runBinary(backend, ELU_GRAD, inputs.dy, inputs.y);
}

const WHERE = b.op('where');
const hostSelect = onHost('Select');
function select(args) {
  const {inputs, backend} = args;
  if (anyString([inputs.t, inputs.e])) return hostSelect(args);
  b.start(WHERE);
  b.putTensor(backend, inputs.condition);
  b.putTensor(backend, inputs.t);
  b.putTensor(backend, inputs.e);
  return b.run(backend);
}

const CAST = b.op('cast');
function cast({inputs, backend, attrs}) {
  const {x} = inputs;
  const {dtype} = attrs;
  if (x.dtype === dtype) {
    backend.incRef(x.dataId);
    return {dataId: x.dataId, shape: x.shape, dtype};
  }
  if (x.dtype === 'string' || dtype === 'string') {
    throw dtypeError(`Error in Cast: failed to cast ${x.dtype} to ${dtype}`);
  }
  b.start(CAST);
  b.putTensor(backend, x);
  b.putDtype(dtype);
  return b.run(backend);
}

module.exports = {
  Cast: cast,
  ClipByValue: clipByValue, // of integers too, whose bounds may be infinite
  EluGrad: eluGrad,
  FloorDiv: binary(b.op('floor_div'), false, onHost('FloorDiv')), // it gives integers
  Pow: binary(b.op('pow'), true, onHost('Pow')),
  RealDiv: binary(b.op('real_div'), true, onHost('RealDiv')),
  Select: select,
};
