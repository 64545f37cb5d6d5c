'use strict';
// Which of TensorFlow.js's modules an object is.

function isCore(exports) {
  return typeof exports.engine === 'function' && typeof exports.Tensor === 'function' &&
      typeof exports.Optimizer === 'function';
}

function isData(exports) {
  return typeof exports.Dataset === 'function' &&
      typeof exports.Dataset.prototype.forEachAsync === 'function';
}

function isLayers(exports) {
  return typeof exports.LayersModel === 'function' && typeof exports.Sequential === 'function' &&
      exports.layers != null && exports.layers.Layer != null;
}

module.exports = {isCore, isData, isLayers};
