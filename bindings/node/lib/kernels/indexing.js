// Picking, placing, ordering and counting elements.
'use strict';

const {backend_util: backendUtil, util} = require('../core');
const b = require('../bridge');
const {valueError} = require('../errors');
const {onHost} = require('./host');
const {kernels: table} = require('./table');

const GATHER = b.op('gather');
const hostGather = onHost('GatherV2');
function gatherV2(args) {
  const {inputs, backend, attrs} = args;
  const {x, indices} = inputs;
  if (x.dtype === 'string') return hostGather(args);
  const axis = util.parseAxisParam(attrs.axis, x.shape)[0];
  const batchDims = attrs.batchDims == null ? 0 : attrs.batchDims;
  backendUtil.segment_util.collectGatherOpShapeInfo(x, indices, axis, batchDims); // it checks
  b.start(GATHER);
  b.putTensor(backend, x);
  b.putTensor(backend, indices);
  b.putInt(axis);
  b.putInt(batchDims < 0 ? batchDims + indices.shape.length : batchDims);
  try {
    return b.run(backend);
  } catch (error) {
    const last = x.shape[axis] - 1;
    const wrong = backend.readSync(indices.dataId).find((index) => !(index >= 0 && index <= last));
    if (wrong === undefined) throw error;
    throw valueError(`GatherV2: the index value ${wrong} is not in [0, ${last}]`);
  }
}

const GATHER_ND = b.op('gather_nd');
const hostGatherNd = onHost('GatherNd');
function gatherNd(args) {
  const {inputs, backend} = args;
  const {params, indices} = inputs;
  if (params.dtype === 'string') return hostGatherNd(args);
  const [shape, slices] = backendUtil.prepareAndValidate(params, indices);
  if (slices === 0) return backend.makeTensorInfo(shape, params.dtype, []);
  b.start(GATHER_ND);
  b.putTensor(backend, params);
  b.putTensor(backend, indices);
  return b.run(backend);
}

// A vector of indices is one coordinate for each.
function coordinates(indices) {
  if (indices.shape.length !== 1) return indices;
  return {dataId: indices.dataId, shape: [indices.shape[0], 1], dtype: indices.dtype};
}

const SCATTER_ND = b.op('scatter_nd');
function scatterNd({inputs, backend, attrs}) {
  backendUtil.calculateShapes(inputs.updates, inputs.indices, attrs.shape); // it checks
  b.start(SCATTER_ND);
  b.putTensor(backend, coordinates(inputs.indices));
  b.putTensor(backend, inputs.updates);
  b.putInts(attrs.shape);
  return b.run(backend);
}

const TENSOR_SCATTER_UPDATE = b.op('tensor_scatter_update');
function tensorScatterUpdate({inputs, backend}) {
  const {tensor, indices, updates} = inputs;
  backendUtil.calculateShapes(updates, indices, tensor.shape);
  b.start(TENSOR_SCATTER_UPDATE);
  b.putTensor(backend, tensor);
  b.putTensor(backend, coordinates(indices));
  b.putTensor(backend, updates);
  return b.run(backend);
}

const SPARSE_TO_DENSE = b.op('sparse_to_dense');
const hostSparseToDense = onHost('SparseToDense');
function sparseToDense(args) {
  const {inputs, backend, attrs} = args;
  const {sparseIndices, sparseValues, defaultValue} = inputs;
  if (sparseValues.dtype === 'string') return hostSparseToDense(args);
  backendUtil.calculateShapes(sparseValues, sparseIndices, attrs.outputShape);
  b.start(SPARSE_TO_DENSE);
  b.putTensor(backend, sparseIndices);
  b.putTensor(backend, sparseValues);
  b.putTensor(backend, defaultValue);
  b.putInts(attrs.outputShape);
  return b.run(backend);
}

const ONE_HOT = b.op('one_hot');
function oneHot({inputs, backend, attrs}) {
  b.start(ONE_HOT);
  b.putTensor(backend, inputs.indices);
  b.putInt(attrs.depth);
  b.putDtype(attrs.dtype);
  b.putDouble(attrs.onValue);
  b.putDouble(attrs.offValue);
  return b.run(backend);
}

// Sorted whether asked for or not: equal elements have to come in order all the same.
function topK({inputs, backend, attrs}) {
  return table.TopK({inputs, backend, attrs: {k: attrs.k}});
}

const UNIQUE = b.op('unique');
const hostUnique = onHost('Unique');
function unique(args) {
  const {inputs, backend, attrs} = args;
  if (inputs.x.dtype === 'string') return hostUnique(args);
  b.start(UNIQUE);
  b.putTensor(backend, inputs.x);
  b.putInt(util.parseAxisParam(attrs.axis, inputs.x.shape)[0]);
  return b.runMany(backend);
}

const DENSE_BINCOUNT = b.op('dense_bincount');
function denseBincount({inputs, backend, attrs}) {
  const {x, weights} = inputs;
  b.start(DENSE_BINCOUNT);
  b.putTensor(backend, x);
  b.putMaybeTensor(backend, util.sizeFromShape(weights.shape) > 0 ? weights : null);
  b.putInt(attrs.size);
  b.putDtype(weights.dtype);
  b.putInt(attrs.binaryOutput && x.shape.length === 2 ? 1 : 0);
  return b.run(backend);
}

function flat(info) {
  return {dataId: info.dataId, shape: [util.sizeFromShape(info.shape)], dtype: info.dtype};
}

function bincount({inputs, backend, attrs}) {
  return denseBincount({
    inputs: {x: flat(inputs.x), weights: flat(inputs.weights)},
    backend,
    attrs,
  });
}

function search(rightOf) {
  return ({inputs, backend, attrs}) =>
    table.searchsorted({
      inputs: [inputs.sortedSequence, inputs.values],
      backend,
      attrs: {right: rightOf(attrs)},
    });
}

const UNSORTED_SEGMENT_SUM = b.op('unsorted_segment_sum');
function unsortedSegmentSum({inputs, backend, attrs}) {
  b.start(UNSORTED_SEGMENT_SUM);
  b.putTensor(backend, inputs.x);
  b.putTensor(backend, inputs.segmentIds);
  b.putInt(attrs.numSegments);
  return b.run(backend);
}

const MULTINOMIAL = b.op('multinomial');
function multinomial({inputs, backend, attrs}) {
  b.start(MULTINOMIAL);
  b.putTensor(backend, inputs.logits);
  b.putInt(attrs.numSamples);
  b.putInt(attrs.normalized ? 1 : 0);
  b.putDouble(attrs.seed);
  return b.run(backend);
}

module.exports = {
  Bincount: bincount,
  DenseBincount: denseBincount,
  GatherNd: gatherNd,
  GatherV2: gatherV2,
  LowerBound: search(() => false),
  Multinomial: multinomial,
  OneHot: oneHot,
  ScatterNd: scatterNd,
  SearchSorted: search((attrs) => attrs.side === 'right'),
  SparseToDense: sparseToDense,
  TensorScatterUpdate: tensorScatterUpdate,
  TopK: topK,
  Unique: unique,
  UnsortedSegmentSum: unsortedSegmentSum,
  UpperBound: search(() => true),
};
