'use strict';
// Stories for programs that use TensorFlow.js, on any backend. explain() watches every copy of the
// package that is loaded or will be; after it, "Tensor is disposed" tells the tensor's life.

const Module = require('module');
const {hookCore} = require('./engine_hooks');
const {hookLayers} = require('./layer_hooks');
const {leaks, mark, summary} = require('./leaks');
const {lives, observers} = require('./lives');
const {onUndo, patch, unpatch} = require('./patches');
const {DisposedError, tell} = require('./story');
const {Trace} = require('./trace');

const {version} = require('../../package.json');

let on = false;

function install(exports) {
  if (exports == null || typeof exports !== 'object') return;
  if (typeof exports.engine === 'function' && typeof exports.Tensor === 'function' &&
      typeof exports.Optimizer === 'function') {
    hookCore(exports);
  }
  if (typeof exports.LayersModel === 'function' && exports.layers && exports.layers.Layer &&
      typeof exports.Sequential === 'function') {
    hookLayers(exports.serialization ? exports : {...exports, ...coreOf()});
  }
}

// tfjs-layers does not export the registry of classes; tfjs-core, which it needs, does.
function coreOf() {
  for (const file of Object.keys(require.cache)) {
    if (/[\\/]@tensorflow[\\/]tfjs-core[\\/]/.test(file)) {
      const {serialization} = require.cache[file].exports;
      if (serialization) return {serialization};
    }
  }
  return {};
}

function hookLoading() {
  patch(Module, '_load', original => function(request, ...rest) {
    const exports = original.call(this, request, ...rest);
    if (/tfjs/.test(request)) install(exports);
    return exports;
  });
}

function printSummary() {
  process.stderr.write(`${summary()}\n`);
}

// explain() or explain({summary: false}): from now on lives are recorded. explain(false): no more.
function explain(options = {}) {
  if (options === false) {
    if (on) unpatch();
    on = false;
    return;
  }
  if (on) return;
  on = true;
  for (const file of Object.keys(require.cache)) {
    if (/[\\/]@tensorflow[\\/]tfjs/.test(file)) install(require.cache[file].exports);
  }
  hookLoading();
  if (options.summary !== false) {
    process.on('exit', printSummary);
    onUndo(() => process.removeListener('exit', printSummary));
  }
}

// The life of a tensor so far, as text.
function story(tensor) {
  const life = lives.get(tensor);
  if (life !== undefined) return tell(life);
  if (tensor == null || tensor.dataId === undefined) {
    throw new TypeError(`story: expected a tensor, got: ${tensor === null ? 'null' : typeof tensor}`);
  }
  return `${tensor.dtype} [${tensor.shape.join(', ')}] (#${tensor.id})\n\n` +
      `  born      (unknown)    before explain() was called\n`;
}

// A file for `tenure report`, from now until close() or the end of the program.
function record(path) {
  if (typeof path !== 'string' || path === '') {
    throw new TypeError(`record: expected the path of a file, got: ${path}`);
  }
  if (observers.trace !== null) throw new Error('record: a recording runs already; close it first');
  explain({summary: false});
  const trace = new Trace(path, version);
  const close = () => {
    if (observers.trace === trace) observers.trace = null;
    process.removeListener('exit', close);
    trace.close();
  };
  observers.trace = trace;
  process.on('exit', close);
  return {path, close};
}

module.exports = {DisposedError, explain, leaks, mark, record, story};
