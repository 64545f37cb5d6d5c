// Kernels that run in JavaScript, in the implementations that TensorFlow.js's backends share.
'use strict';

const {getKernel} = require('../core');
const {loadCpuKernels} = require('../tfjs');

function cpuKernel(name) {
  if (getKernel(name, 'cpu') === undefined) loadCpuKernels(name);
  return getKernel(name, 'cpu');
}

// The cpu backend's kernel of that name, on our tensors. It is looked for when it is needed: most
// programs have the cpu backend, and one that does without has not to load it.
function onHost(name) {
  let kernel = null;
  return ({inputs, attrs, backend}) => {
    kernel ??= cpuKernel(name);
    return kernel.kernelFunc({inputs, attrs, backend: backend.host});
  };
}

function anyString(infos) {
  return infos.some((info) => info.dtype === 'string');
}

const NAMES = [
  'BroadcastArgs', // a size of -1 is one as well
  'Draw',
  'RaggedGather',
  'RaggedRange',
  'RaggedTensorToTensor',
  'Range',
  'SparseFillEmptyRows',
  'SparseReshape',
  'SparseSegmentMean',
  'SparseSegmentSum',
  'StaticRegexReplace',
  'StringNGrams',
  'StringSplit',
  'StringToHashBucketFast',
];

module.exports = {
  anyString,
  onHost,
  kernels: Object.fromEntries(NAMES.map((name) => [name, onHost(name)])),
};
