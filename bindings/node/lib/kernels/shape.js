// Making, cutting, joining and rearranging tensors.
'use strict';

const {backend_util: backendUtil, slice_util: sliceUtil, util} = require('../core');
const b = require('../bridge');
const {dtypeError, isInteger, noInteger, shapeError, valueError} = require('../errors');
const {anyString, onHost} = require('./host');
const {kernels: table} = require('./table');

// The same data once more, under a shape of its own.
function share(backend, info, shape) {
  backend.incRef(info.dataId);
  return {dataId: info.dataId, shape, dtype: info.dtype};
}

function identity({inputs, backend}) {
  return share(backend, inputs.x, inputs.x.shape);
}

function reshape({inputs, backend, attrs}) {
  const {x} = inputs;
  const size = util.sizeFromShape(x.shape);
  const shape = util.inferFromImplicitShape(attrs.shape, size);
  for (const dim of shape) {
    if (!isInteger(dim)) throw noInteger('reshape', dim);
  }
  if (util.sizeFromShape(shape) !== size) {
    throw shapeError(`reshape: [${x.shape}] has not as many elements as [${shape}]`);
  }
  return share(backend, x, shape);
}

function expandDims({inputs, backend, attrs}) {
  const {input} = inputs;
  const shape = input.shape.slice();
  const dim = attrs.dim < 0 ? attrs.dim + shape.length + 1 : attrs.dim;
  if (dim < 0 || dim > shape.length) {
    throw valueError(`expandDims: [${shape}] has no place ${attrs.dim} for an axis`);
  }
  shape.splice(dim, 0, 1);
  return share(backend, input, shape);
}

const FILL = b.op('fill');
function fill({backend, attrs}) {
  const {shape, value} = attrs;
  const dtype = attrs.dtype || util.inferDtype(value);
  if (dtype === 'string') {
    return backend.makeTensorInfo(shape, dtype, new Array(util.sizeFromShape(shape)).fill(value));
  }
  b.start(FILL);
  b.putInts(shape);
  b.putDtype(dtype);
  b.putDouble(Number(value));
  return b.run(backend);
}

// Of the input only the shape is asked: it may be gone, as with the cpu backend.
function like(value, name) {
  return ({inputs, backend}) => {
    const {shape, dtype} = inputs.x;
    if (dtype === 'string') throw dtypeError(`${name} is not supported for string tensors`);
    return fill({backend, attrs: {shape, value, dtype}});
  };
}

const hostSlice = onHost('Slice');
function slice(args) {
  const {inputs, backend, attrs} = args;
  const {x} = inputs;
  if (x.dtype === 'string') return hostSlice(args);
  const [begin, size] = sliceUtil.parseSliceParams(x, attrs.begin, attrs.size);
  sliceUtil.assertParamsValid(x, begin, size);
  return table.Slice({inputs, backend, attrs: {begin, size, step: begin.map(() => 1)}});
}

const hostStridedSlice = onHost('StridedSlice');
function stridedSlice(args) {
  const {inputs, backend, attrs} = args;
  const {x} = inputs;
  if (x.dtype === 'string') return hostStridedSlice(args);
  const info = sliceUtil.sliceInfo(
    x.shape,
    attrs.begin,
    attrs.end,
    attrs.strides,
    attrs.beginMask,
    attrs.endMask,
    attrs.ellipsisMask,
    attrs.newAxisMask,
    attrs.shrinkAxisMask,
  );
  if (info.isIdentity) return share(backend, x, info.finalShape);
  backend.dataOf(x.dataId); // an empty slice of what is gone is an error too
  if (util.sizeFromShape(info.finalShape) === 0)
    return backend.makeTensorInfo(info.finalShape, x.dtype, []);
  const {begin, strides: step} = info;
  const size = sliceUtil.computeOutShape(begin, info.end, step);
  const cut = table.Slice({inputs, backend, attrs: {begin, size, step}});
  return {dataId: cut.dataId, shape: info.finalShape, dtype: cut.dtype};
}

// A slice whose step along some axes is -1.
const hostReverse = onHost('Reverse');
function reverse(args) {
  const {inputs, backend, attrs} = args;
  const {x} = inputs;
  if (x.dtype === 'string') return hostReverse(args);
  const axes = util.parseAxisParam(attrs.dims, x.shape);
  const along = (turned, other) =>
    x.shape.map((size, i) => (axes.includes(i) ? turned(size) : other));
  const begin = along((size) => Math.max(size - 1, 0), 0);
  const step = along(() => -1, 1);
  return table.Slice({inputs, backend, attrs: {begin, size: x.shape, step}});
}

const hostConcat = onHost('Concat');
function concat(args) {
  const {inputs, backend, attrs} = args;
  if (anyString(inputs)) return hostConcat(args);
  const axis = util.parseAxisParam(attrs.axis, inputs[0].shape)[0];
  const shapes = inputs.map((info) => info.shape);
  backendUtil.assertParamsConsistent(shapes, axis);
  const shape = backendUtil.computeOutShape(shapes, axis);
  if (util.sizeFromShape(shape) === 0) return backend.makeTensorInfo(shape, inputs[0].dtype, []);
  const filled = inputs.filter((info) => util.sizeFromShape(info.shape) > 0);
  if (filled.length === 1) return share(backend, filled[0], filled[0].shape);
  return table.Concat({inputs: filled, backend, attrs: {axis}});
}

const STACK = b.op('stack');
const hostPack = onHost('Pack');
function pack(args) {
  const {inputs, backend, attrs} = args;
  if (anyString(inputs)) return hostPack(args);
  if (inputs.length === 1)
    return expandDims({inputs: {input: inputs[0]}, backend, attrs: {dim: attrs.axis}});
  const {dtype} = inputs[0];
  const other = inputs.find((info) => info.dtype !== dtype);
  if (other !== undefined) throw dtypeError(`stack: dtypes differ: ${dtype} and ${other.dtype}`);
  b.start(STACK);
  b.putTensors(backend, inputs);
  b.putInt(attrs.axis);
  return b.run(backend);
}

const SPLIT = b.op('split');
const hostSplit = onHost('SplitV');
function splitV(args) {
  const {inputs, backend, attrs} = args;
  const {x} = inputs;
  if (x.dtype === 'string') return hostSplit(args);
  const axis = util.parseAxisParam(attrs.axis, x.shape)[0];
  const sizes = backendUtil.prepareSplitSize(x, attrs.numOrSizeSplits, axis);
  b.start(SPLIT);
  b.putTensor(backend, x);
  b.putInt(axis);
  b.putInts(sizes);
  return b.runMany(backend, sizes.length * (x.shape.length + 3));
}

const UNSTACK = b.op('unstack');
const hostUnpack = onHost('Unpack');
function unpack(args) {
  const {inputs, backend, attrs} = args;
  const {value} = inputs;
  if (value.dtype === 'string') return hostUnpack(args);
  const axis = attrs.axis < 0 ? attrs.axis + value.shape.length : attrs.axis;
  b.start(UNSTACK);
  b.putTensor(backend, value);
  b.putInt(axis);
  return b.runMany(backend, value.shape[axis] * (value.shape.length + 3));
}

const TILE = b.op('tile');
const hostTile = onHost('Tile');
function tile(args) {
  const {inputs, backend, attrs} = args;
  if (inputs.x.dtype === 'string') return hostTile(args);
  b.start(TILE);
  b.putTensor(backend, inputs.x);
  b.putInts(attrs.reps);
  return b.run(backend);
}

function putPaddings(paddings) {
  b.putInts(paddings.map((pair) => pair[0]));
  b.putInts(paddings.map((pair) => pair[1]));
}

const PAD = b.op('pad');
const hostPad = onHost('PadV2');
function padV2(args) {
  const {inputs, backend, attrs} = args;
  if (inputs.x.dtype === 'string') return hostPad(args);
  b.start(PAD);
  b.putTensor(backend, inputs.x);
  putPaddings(attrs.paddings);
  b.putDouble(attrs.constantValue);
  return b.run(backend);
}

const MIRROR_PAD = b.op('mirror_pad');
function mirrorPad({inputs, backend, attrs}) {
  b.start(MIRROR_PAD);
  b.putTensor(backend, inputs.x);
  putPaddings(attrs.paddings);
  b.putInt(attrs.mode === 'reflect' ? 1 : 0);
  return b.run(backend);
}

function blocks(code, edges) {
  return ({inputs, backend, attrs}) => {
    b.start(code);
    b.putTensor(backend, inputs.x);
    b.putInts(attrs.blockShape);
    putPaddings(attrs[edges]);
    return b.run(backend);
  };
}

const DEPTH_TO_SPACE = b.op('depth_to_space');
function depthToSpace({inputs, backend, attrs}) {
  b.start(DEPTH_TO_SPACE);
  b.putTensor(backend, inputs.x);
  b.putInt(attrs.blockSize);
  b.putInt(attrs.dataFormat === 'NCHW' ? 1 : 0);
  return b.run(backend);
}

const LINSPACE = b.op('linspace');
function linSpace({backend, attrs}) {
  b.start(LINSPACE);
  b.putDouble(attrs.start);
  b.putDouble(attrs.stop);
  b.putInt(attrs.num);
  return b.run(backend);
}

module.exports = {
  BatchToSpaceND: blocks(b.op('batch_to_space'), 'crops'),
  Concat: concat,
  DepthToSpace: depthToSpace,
  ExpandDims: expandDims,
  Fill: fill,
  Identity: identity,
  LinSpace: linSpace,
  MirrorPad: mirrorPad,
  OnesLike: like(1, 'onesLike'),
  Pack: pack,
  PadV2: padV2,
  Reshape: reshape,
  Reverse: reverse,
  Slice: slice,
  SpaceToBatchND: blocks(b.op('space_to_batch'), 'paddings'),
  SplitV: splitV,
  StridedSlice: stridedSlice,
  Tile: tile,
  Unpack: unpack,
  ZerosLike: like(0, 'zerosLike'),
};
