// Convolutions and pooling, with their gradients.
'use strict';

const {backend_util: backendUtil, util} = require('@tensorflow/tfjs-core');
const b = require('../bridge');
const {putFused} = require('./fused');

function each(value, axes) {
  return typeof value === 'number' ? new Array(axes).fill(value) : value.slice(-axes);
}

const ROUNDINGS = ['floor', 'round', 'ceil'];  // in the order of tenure::Rounding

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
  b.putInt(dimRoundingMode == null ? 0 : ROUNDINGS.indexOf(dimRoundingMode));
}

function putConv(axes, attrs) {
  putWindow(axes, attrs);
  b.putInt(attrs.dataFormat === 'NCHW' || attrs.dataFormat === 'NCDHW' ? 1 : 0);
}

function conv(code, axes, depthwise) {
  return ({inputs, backend, attrs}) => {
    if (depthwise) assertStridesOrDilations('depthwiseConv2d', attrs);
    b.start(code);
    b.putTensor(backend, inputs.x);
    b.putTensor(backend, inputs.filter);
    putConv(axes, attrs);
    return b.run(backend);
  };
}

function assertStridesOrDilations(name, {strides, dilations}) {
  const $dilations = dilations == null ? [1, 1] : dilations;
  util.assert(backendUtil.eitherStridesOrDilationsAreOne(strides, $dilations), () =>
      `Error in ${name}: Either strides or dilations must be 1. ` +
      `Got strides ${strides} and dilations '${$dilations}'`);
}

function fusedConv(code) {
  return ({inputs, backend, attrs}) => {
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
const filterGrad = (name, axes) => convGrad(b.op(name), axes, 'x', 'dy', 'filterShape');

function pool(code, axes) {
  return ({inputs, backend, attrs}) => {
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
  Conv2DBackpropInput: inputGrad('conv2d_grad_input', 2),
  Conv3D: conv(b.op('conv3d'), 3),
  Conv3DBackpropFilterV2: filterGrad('conv3d_grad_filter', 3),
  Conv3DBackpropInputV2: inputGrad('conv3d_grad_input', 3),
  DepthwiseConv2dNative: conv(b.op('depthwise_conv2d'), 2, true),
  DepthwiseConv2dNativeBackpropFilter: filterGrad('depthwise_conv2d_grad_filter', 2),
  DepthwiseConv2dNativeBackpropInput: inputGrad('depthwise_conv2d_grad_input', 2),
  Dilation2D: dilation2D,
  Dilation2DBackpropFilter: dilationGrad(b.op('dilation2d_grad_filter')),
  Dilation2DBackpropInput: dilationGrad(b.op('dilation2d_grad_input')),
  FusedConv2D: fusedConv(b.op('fused_conv2d')),
  FusedDepthwiseConv2D: fusedConv(b.op('fused_depthwise_conv2d')),
  MaxPool: pool(MAX_POOL, 2),
  MaxPool3D: pool(MAX_POOL, 3),
  MaxPool3DGrad: maxPoolGrad(3),
  MaxPoolGrad: maxPoolGrad(2),
  MaxPoolWithArgmax: maxPoolWithArgmax,
  Pool: anyPool,
};
