// Means and extremes, products of matrices, normalisation.
'use strict';

const {backend_util: backendUtil, util} = require('../core');
const b = require('../bridge');
const {putFused} = require('./fused');
const {kernels: table} = require('./table');

// TensorFlow.js gives floats of whatever it is.
const MEAN = b.op('mean');
function mean({inputs, backend, attrs}) {
  const {x} = inputs;
  b.start(MEAN);
  b.putTensor(backend, x);
  b.putInts(util.parseAxisParam(attrs.axis, x.shape));
  b.putInt(attrs.keepDims ? 1 : 0);
  return b.run(backend);
}

// Of truth values the largest is whether there is a true one, and the least whether all are: of
// none too, where a number would be the least or the largest that there is.
function extreme(kernel, ofTruths, axisName) {
  return (args) => {
    const {inputs, backend, attrs} = args;
    if (inputs.x.dtype !== 'bool') return table[kernel](args);
    const axes = attrs[axisName];
    return table[ofTruths]({inputs: [inputs.x], backend, attrs: {axes, keep_dims: attrs.keepDims}});
  };
}

const FUSED_MATMUL = b.op('fused_matmul');
function fusedMatMul({inputs, backend, attrs}) {
  b.start(FUSED_MATMUL);
  b.putTensor(backend, inputs.a);
  b.putTensor(backend, inputs.b);
  putFused(backend, inputs, attrs);
  b.putInt(attrs.transposeA ? 1 : 0);
  b.putInt(attrs.transposeB ? 1 : 0);
  return b.run(backend);
}

const EINSUM = b.op('einsum');
function einsum({inputs, backend, attrs}) {
  const {equation} = attrs;
  const {allDims, idDims} = backendUtil.decodeEinsumEquation(equation, inputs.length);
  backendUtil.checkEinsumDimSizes(allDims.length, idDims, inputs);
  b.start(EINSUM);
  b.putTensors(backend, inputs);
  b.putText(equation);
  return b.run(backend);
}

const DIAG = b.op('diag');
function diag({inputs, backend}) {
  b.start(DIAG);
  b.putTensor(backend, inputs.x);
  return b.run(backend);
}

const BAND_PART = b.op('band_part');
function matrixBandPart({inputs, backend}) {
  const lower = backend.readSync(inputs.numLower.dataId)[0];
  const upper = backend.readSync(inputs.numUpper.dataId)[0];
  b.start(BAND_PART);
  b.putTensor(backend, inputs.input);
  b.putInt(lower);
  b.putInt(upper);
  return b.run(backend);
}

const BATCH_NORM = b.op('batch_norm');
function fusedBatchNorm({inputs, backend, attrs}) {
  const {x, scale, offset, mean, variance} = inputs;
  b.start(BATCH_NORM);
  b.putTensor(backend, x);
  b.putTensor(backend, mean);
  b.putTensor(backend, variance);
  b.putMaybeTensor(backend, scale);
  b.putMaybeTensor(backend, offset);
  b.putDouble(attrs.varianceEpsilon == null ? 0.001 : attrs.varianceEpsilon);
  return b.run(backend);
}

module.exports = {
  Diag: diag,
  Einsum: einsum,
  FusedBatchNorm: fusedBatchNorm,
  MatrixBandPart: matrixBandPart,
  Max: extreme('Max', 'any', 'reductionIndices'),
  Mean: mean,
  Min: extreme('Min', 'all', 'axis'),
  _FusedMatMul: fusedMatMul,
};
