// Products of matrices, complex numbers and Fourier transforms, normalisation.
'use strict';

const {backend_util: backendUtil} = require('@tensorflow/tfjs-core');
const b = require('../bridge');
const {putFused} = require('./fused');

const MATMUL = b.op('matmul');
function batchMatMul({inputs, backend, attrs}) {
  b.start(MATMUL);
  b.putTensor(backend, inputs.a);
  b.putTensor(backend, inputs.b);
  b.putInt(attrs.transposeA ? 1 : 0);
  b.putInt(attrs.transposeB ? 1 : 0);
  return b.run(backend);
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

const COMPLEX = b.op('complex');
function complex({inputs, backend}) {
  b.start(COMPLEX);
  b.putTensor(backend, inputs.real);
  b.putTensor(backend, inputs.imag);
  return b.run(backend);
}

function ofComplex(code, inputName) {
  return ({inputs, backend}) => {
    b.start(code);
    b.putTensor(backend, inputs[inputName]);
    return b.run(backend);
  };
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

function putLrn({depthRadius, bias, alpha, beta}) {
  b.putInt(depthRadius);
  b.putDouble(bias);
  b.putDouble(alpha);
  b.putDouble(beta);
}

const LRN = b.op('lrn');
function lrn({inputs, backend, attrs}) {
  b.start(LRN);
  b.putTensor(backend, inputs.x);
  putLrn(attrs);
  return b.run(backend);
}

const LRN_GRAD = b.op('lrn_grad');
function lrnGrad({inputs, backend, attrs}) {
  b.start(LRN_GRAD);
  b.putTensor(backend, inputs.dy);
  b.putTensor(backend, inputs.x);
  putLrn(attrs);
  return b.run(backend);
}

module.exports = {
  BatchMatMul: batchMatMul,
  Complex: complex,
  ComplexAbs: ofComplex(b.op('complex_abs'), 'x'),
  Diag: diag,
  Einsum: einsum,
  FFT: ofComplex(b.op('fft'), 'input'),
  FusedBatchNorm: fusedBatchNorm,
  IFFT: ofComplex(b.op('ifft'), 'input'),
  Imag: ofComplex(b.op('imag'), 'input'),
  LRN: lrn,
  LRNGrad: lrnGrad,
  MatrixBandPart: matrixBandPart,
  Real: ofComplex(b.op('real'), 'input'),
  _FusedMatMul: fusedMatMul,
};
