'use strict';
// Which copies of TensorFlow.js the program uses: those that are loaded, and those that will be.

const Module = require('module');

const {isCore, isData, isLayers} = require('../core').modules;

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

module.exports = {isCore, isData, isLayers, onEachLoaded};
