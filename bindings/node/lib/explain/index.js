'use strict';
// Stories for programs that use TensorFlow.js, on any backend. explain() watches every copy of the
// package that is loaded or will be; after it, "Tensor is disposed" tells the tensor's life.

const {isCore, isLayers, onEachLoaded} = require('../loaded');
const {hookCore} = require('./engine_hooks');
const {hookGraphModels} = require('./graph_model_hooks');
const {hookLayers} = require('./layer_hooks');
const {leaks, mark, summary} = require('./leaks');
const {lives, observers} = require('./lives');
const {onUndo, unpatch} = require('./patches');
const {DisposedError, tell} = require('./story');
const {Trace} = require('./trace');

const {version} = require('../../package.json');

let on = false;

function install(exports) {
  if (isCore(exports)) hookCore(exports);
  if (typeof exports.GraphModel === 'function') hookGraphModels(exports);
  if (isLayers(exports)) hookLayers(exports, exports.serialization || loadedSerialization());
}

// tfjs-layers does not export the registry of classes; tfjs-core, which it needs, does.
function loadedSerialization() {
  const file = Object.keys(require.cache).find(
      name => /[\\/]@tensorflow[\\/]tfjs-core[\\/]/.test(name) && require.cache[name].exports.serialization);
  return require.cache[file].exports.serialization;
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
  onUndo(onEachLoaded(install));
  if (options.summary !== false) {
    process.on('exit', printSummary);
    onUndo(() => process.removeListener('exit', printSummary));
  }
}

// The life of a tensor so far, as text.
function story(tensor) {
  if (tensor == null || tensor.dataId === undefined) {
    throw new TypeError(`story: expected a tensor, got: ${tensor === null ? 'null' : typeof tensor}`);
  }
  const life = lives.get(tensor);
  if (life !== undefined) return tell(life);
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
  const end = isExit => {
    if (observers.trace === trace) observers.trace = null;
    trace.close(isExit);
  };
  const atExit = () => end(true);
  const close = () => {
    process.removeListener('exit', atExit);
    end(false);
  };
  observers.trace = trace;
  process.on('exit', atExit);
  return {path, close};
}

// As TENURE_TRACE says. The native library, which would write the same file, must not see it.
function recordAsAsked() {
  const path = process.env.TENURE_TRACE;
  if (!path) return;
  delete process.env.TENURE_TRACE;
  record(path);
}

module.exports = {DisposedError, explain, leaks, mark, record, recordAsAsked, story};
