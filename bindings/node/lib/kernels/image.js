// Images: resizing, cropping, turning, choosing boxes, and pixels.
'use strict';

const b = require('../bridge');

function putResize({alignCorners, halfPixelCenters}) {
  b.putInt(alignCorners ? 1 : 0);
  b.putInt(halfPixelCenters ? 1 : 0);
}

function resize(code) {
  return ({inputs, backend, attrs}) => {
    b.start(code);
    b.putTensor(backend, inputs.images);
    b.putInts(attrs.size);
    putResize(attrs);
    return b.run(backend);
  };
}

function resizeGrad(code) {
  return ({inputs, backend, attrs}) => {
    b.start(code);
    b.putTensor(backend, inputs.dy);
    b.putInts(inputs.images.shape);
    putResize(attrs);
    return b.run(backend);
  };
}

const INTERPOLATIONS = ['nearest', 'bilinear']; // in the order of tenure::image::Interpolation
const FILL_MODES = ['constant', 'reflect', 'wrap', 'nearest'];

const CROP_AND_RESIZE = b.op('crop_and_resize');
function cropAndResize({inputs, backend, attrs}) {
  b.start(CROP_AND_RESIZE);
  b.putTensor(backend, inputs.image);
  b.putTensor(backend, inputs.boxes);
  b.putTensor(backend, inputs.boxInd);
  b.putInts(attrs.cropSize);
  b.putChoice(INTERPOLATIONS, attrs.method);
  b.putDouble(attrs.extrapolationValue);
  return b.run(backend);
}

const FLIP_LEFT_RIGHT = b.op('flip_left_right');
function flipLeftRight({inputs, backend}) {
  b.start(FLIP_LEFT_RIGHT);
  b.putTensor(backend, inputs.image);
  return b.run(backend);
}

const ROTATE = b.op('rotate');
function rotateWithOffset({inputs, backend, attrs}) {
  const {radians, fillValue, center} = attrs;
  b.start(ROTATE);
  b.putTensor(backend, inputs.image);
  b.putDouble(radians);
  b.putDouble(typeof center === 'number' ? center : center[0]);
  b.putDouble(typeof center === 'number' ? center : center[1]);
  if (typeof fillValue === 'number') {
    b.putInt(0);
    b.putDouble(fillValue);
  } else {
    b.putInt(1);
    for (let i = 0; i < 3; ++i) b.putDouble(fillValue[i]);
  }
  return b.run(backend);
}

const TRANSFORM = b.op('transform');
function transform({inputs, backend, attrs}) {
  const {interpolation, fillMode, fillValue, outputShape} = attrs;
  b.start(TRANSFORM);
  b.putTensor(backend, inputs.image);
  b.putTensor(backend, inputs.transforms);
  b.putChoice(INTERPOLATIONS, interpolation);
  b.putChoice(FILL_MODES, fillMode);
  b.putInts(outputShape == null ? inputs.image.shape.slice(1, 3) : outputShape);
  b.putDouble(fillValue);
  return b.run(backend);
}

const SUPPRESS_PADDED = b.op('non_max_suppression_padded');
function nonMaxSuppressionV4({inputs, backend, attrs}) {
  b.start(SUPPRESS_PADDED);
  b.putTensor(backend, inputs.boxes);
  b.putTensor(backend, inputs.scores);
  b.putInt(attrs.maxOutputSize);
  b.putInt(attrs.padToMaxOutputSize ? 1 : 0);
  b.putDouble(attrs.iouThreshold);
  b.putDouble(attrs.scoreThreshold);
  return b.runMany(backend);
}

// Of an object with the bytes of its pixels, or of one that can draw itself (as node-canvas's).
function fromPixels({inputs, backend, attrs}) {
  const {pixels} = inputs;
  const {numChannels} = attrs;
  const {width, height} = pixels;
  const bytes =
    pixels.data != null
      ? pixels.data
      : pixels.getContext('2d').getImageData(0, 0, width, height).data;
  const values = new Int32Array(width * height * numChannels);
  if (numChannels === 4) {
    values.set(bytes);
  } else {
    for (let i = 0; i < width * height; ++i) {
      for (let channel = 0; channel < numChannels; ++channel) {
        values[i * numChannels + channel] = bytes[i * 4 + channel];
      }
    }
  }
  return backend.makeTensorInfo([height, width, numChannels], 'int32', values);
}

module.exports = {
  CropAndResize: cropAndResize,
  FlipLeftRight: flipLeftRight,
  FromPixels: fromPixels,
  NonMaxSuppressionV4: nonMaxSuppressionV4,
  ResizeBilinear: resize(b.op('resize_bilinear')),
  ResizeBilinearGrad: resizeGrad(b.op('resize_bilinear_grad')),
  ResizeNearestNeighbor: resize(b.op('resize_nearest')),
  ResizeNearestNeighborGrad: resizeGrad(b.op('resize_nearest_grad')),
  RotateWithOffset: rotateWithOffset,
  Transform: transform,
};
