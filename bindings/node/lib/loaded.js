'use strict';
// Which copies of TensorFlow.js the program uses: those that are loaded, and those that will be.

const Module = require('module');

const kTfjs = /[\\/]@tensorflow[\\/]tfjs/;
const listeners = new Set();
let original = null;

function load(request, ...rest) {
  const exports = original.call(this, request, ...rest);
  if (request.includes('tfjs')) {
    for (const listener of listeners) listener(exports);
  }
  return exports;
}

// Calls f with the exports of each of its modules, now and whenever one is required. The answer
// stops that.
function onEachLoaded(f) {
  const listener = exports => {
    if (exports != null && typeof exports === 'object') f(exports);
  };
  for (const file of Object.keys(require.cache)) {
    if (kTfjs.test(file)) listener(require.cache[file].exports);
  }
  listeners.add(listener);
  if (original === null) {
    original = Module._load;
    Module._load = load;
  }
  return () => listeners.delete(listener);
}

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

module.exports = {isCore, isData, isLayers, onEachLoaded};
