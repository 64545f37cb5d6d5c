// Convolutions and pooling, with their gradients.
'use strict';

const {backend_util: backendUtil, util} = require('../core');
const b = require('../bridge');
const {putFused} = require('./fused');
const {kernels: table} = require('./table');

function each(value, axes) {
  return typeof value === 'number' ? new Array(axes).fill(value) : value.slice(-axes);
}

const ROUNDINGS = ['floor', 'round', 'ceil']; // in the order of tenure::Rounding

// Strides, dilations and padding of a window that slides along `axes` axes.
function putWindow(axes, {strides, dilations, pad, dimRoundingMode, dataFormat}) {
  b.putInts(each(strides, axes));
  b.putInts(dilations == null ? new Array(axes).fill(1) : each(dilations, axes));
  if (pad === 'valid' || pad === 'same') {
    b.putInt(pad === 'valid' ? 0 : 1);
    b.putInts([]);
    b.putInts([]);
  } else {
    let pairs;
    if (typeof pad === 'number') {
      pairs = new Array(axes).fill([pad, pad]);
    } else {
      pairs = dataFormat === 'NCHW' ? pad.slice(2) : pad.slice(1, 1 + axes);
    }
    b.putInt(2);
    b.putInts(pairs.map((pair) => pair[0]));
    b.putInts(pairs.map((pair) => pair[1]));
  }
  b.putChoice(ROUNDINGS, dimRoundingMode == null ? 'floor' : dimRoundingMode);
}

function putConv(axes, attrs) {
  putWindow(axes, attrs);
  b.putInt(attrs.dataFormat === 'NCHW' || attrs.dataFormat === 'NCDHW' ? 1 : 0);
}

// Whether a window is larger than what it slides over, which is then to give nothing at all.
function isTooLarge(x, sizes, {pad, dilations, dataFormat}) {
  if (pad !== 'valid') return false;
  const first = dataFormat === 'NCHW' || dataFormat === 'NCDHW' ? 2 : 1;
  const apart = dilations == null ? 1 : dilations;
  const steps = each(apart, sizes.length);
  return sizes.some((size, i) => x.shape[first + i] < (size - 1) * steps[i] + 1);
}

// A result of no elements; null if the shape is none.
function emptyOf(backend, x, shape) {
  const isShape = shape.every((size) => size >= 0);
  return isShape && util.sizeFromShape(shape) === 0 ? backend.makeTensorInfo(shape, x.dtype, []) : null;
}

function emptyConv({inputs: {x, filter}, backend, attrs}, axes, isDepthwise) {
  if (!isTooLarge(x, filter.shape.slice(0, axes), attrs)) return null;
  const {strides, dilations, pad, dimRoundingMode, dataFormat} = attrs;
  const {outShape} = axes === 3 ?
    backendUtil.computeConv3DInfo(x.shape, filter.shape, strides, dilations, pad) :
    backendUtil.computeConv2DInfo(
      x.shape,
      filter.shape,
      strides,
      dilations ?? 1,
      pad,
      dimRoundingMode,
      isDepthwise,
      backendUtil.convertConv2DDataFormat(dataFormat ?? 'NHWC'),
    );
  return emptyOf(backend, x, outShape);
}

function conv(code, axes, isDepthwise = false) {
  return (args) => {
    const empty = emptyConv(args, axes, isDepthwise);
    if (empty !== null) return empty;
    const {inputs, backend, attrs} = args;
    b.start(code);
    b.putTensor(backend, inputs.x);
    b.putTensor(backend, inputs.filter);
    putConv(axes, attrs);
    return b.run(backend);
  };
}

function fusedConv(code, isDepthwise) {
  return (args) => {
    const empty = emptyConv(args, 2, isDepthwise);
    if (empty !== null) return empty;
    const {inputs, backend, attrs} = args;
    b.start(code);
    b.putTensor(backend, inputs.x);
    b.putTensor(backend, inputs.filter);
    putFused(backend, inputs, attrs);
    putConv(2, attrs);
    return b.run(backend);
  };
}

function convGrad(code, axes, first, second, shapeName) {
  return ({inputs, backend, attrs}) => {
    b.start(code);
    b.putTensor(backend, inputs[first]);
    b.putTensor(backend, inputs[second]);
    b.putInts(attrs[shapeName]);
    putConv(axes, attrs);
    return b.run(backend);
  };
}

const inputGrad = (name, axes) => convGrad(b.op(name), axes, 'dy', 'filter', 'inputShape');

// A transposed convolution may be given more than the convolution would make: the rest is not read.
const conv2dInputGrad = inputGrad('conv2d_grad_input', 2);
function conv2DBackpropInput(args) {
  const {inputs, backend, attrs} = args;
  const {dy, filter} = inputs;
  if (attrs.pad !== 'same') return conv2dInputGrad(args);
  const first = attrs.dataFormat === 'NCHW' ? 2 : 1;
  const strides = each(attrs.strides, 2);
  const shape = dy.shape.slice();
  for (let i = 0; i < 2; ++i) {
    shape[first + i] = Math.min(
      shape[first + i],
      Math.ceil(attrs.inputShape[first + i] / strides[i]),
    );
  }
  if (util.arraysEqual(shape, dy.shape)) return conv2dInputGrad(args);
  const cut = table.Slice({
    inputs: {x: dy},
    backend,
    attrs: {begin: [0, 0, 0, 0], size: shape, step: [1, 1, 1, 1]},
  });
  const result = conv2dInputGrad({inputs: {dy: cut, filter}, backend, attrs});
  backend.disposeIntermediateTensorInfo(cut);
  return result;
}

const filterGrad = (name, axes) => convGrad(b.op(name), axes, 'x', 'dy', 'filterShape');

// A window of one element that gives as many as there are is no window, whatever the padding.
function isIdentity(x, {filterSize, strides, pad, dimRoundingMode}) {
  if (!each(filterSize, 2).every((size) => size === 1)) return false;
  const {inShape, outShape} = backendUtil.computePool2DInfo(
    x.shape,
    filterSize,
    strides,
    1,
    pad,
    dimRoundingMode,
  );
  return util.arraysEqual(inShape, outShape);
}

function emptyPool(backend, x, axes, attrs) {
  const {filterSize, strides, pad, dimRoundingMode} = attrs;
  if (!isTooLarge(x, each(filterSize, axes), {pad})) return null;
  const infoOf = axes === 3 ? backendUtil.computePool3DInfo : backendUtil.computePool2DInfo;
  return emptyOf(backend, x, infoOf(x.shape, filterSize, strides, 1, pad, dimRoundingMode).outShape);
}

function pool(code, axes) {
  return ({inputs, backend, attrs}) => {
    const {x} = inputs;
    if (axes === 2 && isIdentity(x, attrs)) {
      backend.incRef(x.dataId);
      return {dataId: x.dataId, shape: x.shape, dtype: x.dtype};
    }
    const empty = emptyPool(backend, x, axes, attrs);
    if (empty !== null) return empty;
    b.start(code);
    b.putTensor(backend, inputs.x);
    b.putInts(each(attrs.filterSize, axes));
    putWindow(axes, attrs);
    return b.run(backend);
  };
}

const MAX_POOL_WITH_ARGMAX = b.op('max_pool_with_argmax');
function maxPoolWithArgmax({inputs, backend, attrs}) {
  b.start(MAX_POOL_WITH_ARGMAX);
  b.putTensor(backend, inputs.x);
  b.putInts(each(attrs.filterSize, 2));
  putWindow(2, attrs);
  b.putInt(attrs.includeBatchInIndex ? 1 : 0);
  return b.runMany(backend);
}

const MAX_POOL_GRAD = b.op('max_pool_grad');
function maxPoolGrad(axes) {
  return ({inputs, backend, attrs}) => {
    b.start(MAX_POOL_GRAD);
    b.putTensor(backend, inputs.dy);
    b.putTensor(backend, inputs.input);
    b.putInts(each(attrs.filterSize, axes));
    putWindow(axes, attrs);
    return b.run(backend);
  };
}

const AVG_POOL_GRAD = b.op('avg_pool_grad');
function avgPoolGrad(axes) {
  return ({inputs, backend, attrs}) => {
    b.start(AVG_POOL_GRAD);
    b.putTensor(backend, inputs.dy);
    b.putInts(inputs.input.shape);
    b.putInts(each(attrs.filterSize, axes));
    putWindow(axes, attrs);
    return b.run(backend);
  };
}

const DILATION = b.op('dilation2d');
function dilation2D({inputs, backend, attrs}) {
  b.start(DILATION);
  b.putTensor(backend, inputs.x);
  b.putTensor(backend, inputs.filter);
  putWindow(2, attrs);
  return b.run(backend);
}

function dilationGrad(code) {
  return ({inputs, backend, attrs}) => {
    b.start(code);
    b.putTensor(backend, inputs.dy);
    b.putTensor(backend, inputs.x);
    b.putTensor(backend, inputs.filter);
    putWindow(2, attrs);
    return b.run(backend);
  };
}

// A window of any number of axes, over the largest or the mean.
const MAX_POOL = b.op('max_pool');
const AVG_POOL = b.op('avg_pool');
function anyPool({inputs, backend, attrs}) {
  const {windowShape, poolingType, strides, dilations, pad, dimRoundingMode} = attrs;
  const axes = inputs.input.shape.length - 2;
  b.start(poolingType === 'avg' ? AVG_POOL : MAX_POOL);
  b.putTensor(backend, inputs.input);
  b.putInts(each(windowShape, axes));
  putWindow(axes, {strides: strides == null ? 1 : strides, dilations, pad, dimRoundingMode});
  return b.run(backend);
}

module.exports = {
  AvgPool: pool(AVG_POOL, 2),
  AvgPool3D: pool(AVG_POOL, 3),
  AvgPool3DGrad: avgPoolGrad(3),
  AvgPoolGrad: avgPoolGrad(2),
  Conv2D: conv(b.op('conv2d'), 2),
  Conv2DBackpropFilter: filterGrad('conv2d_grad_filter', 2),
  Conv2DBackpropInput: conv2DBackpropInput,
  Conv3D: conv(b.op('conv3d'), 3),
  Conv3DBackpropFilterV2: filterGrad('conv3d_grad_filter', 3),
  Conv3DBackpropInputV2: inputGrad('conv3d_grad_input', 3),
  DepthwiseConv2dNative: conv(b.op('depthwise_conv2d'), 2, true),
  DepthwiseConv2dNativeBackpropFilter: filterGrad('depthwise_conv2d_grad_filter', 2),
  DepthwiseConv2dNativeBackpropInput: inputGrad('depthwise_conv2d_grad_input', 2),
  Dilation2D: dilation2D,
  Dilation2DBackpropFilter: dilationGrad(b.op('dilation2d_grad_filter')),
  Dilation2DBackpropInput: dilationGrad(b.op('dilation2d_grad_input')),
  FusedConv2D: fusedConv(b.op('fused_conv2d'), false),
  FusedDepthwiseConv2D: fusedConv(b.op('fused_depthwise_conv2d'), true),
  MaxPool: pool(MAX_POOL, 2),
  MaxPool3D: pool(MAX_POOL, 3),
  MaxPool3DGrad: maxPoolGrad(3),
  MaxPoolGrad: maxPoolGrad(2),
  MaxPoolWithArgmax: maxPoolWithArgmax,
  Pool: anyPool,
};
