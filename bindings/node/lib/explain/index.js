'use strict';
// Stories for programs that use TensorFlow.js, on any backend. explain() watches every copy of the
// package that is loaded or will be; after it, "Tensor is disposed" tells the tensor's life.

const {isMainThread} = require('worker_threads');

const {isCore, isData, isLayers, onEachLoaded} = require('../loaded');
const {hookDatasets} = require('./dataset_hooks');
const {hookCore} = require('./engine_hooks');
const {hookGraphModels} = require('./graph_model_hooks');
const {hookLayers} = require('./layer_hooks');
const {leaks, mark, summary} = require('./leaks');
const {forgetAll, observers, recordOf} = require('./lives');
const {onUndo, unpatch} = require('./patches');
const {DisposedError, tell} = require('./story');
const {Trace} = require('./trace');

const {version} = require('../../package.json');

let on = false;    // lives are recorded
let asked = false; // by explain(), not only for a recording

function install(exports) {
  if (isCore(exports)) hookCore(exports);
  if (typeof exports.GraphModel === 'function') hookGraphModels(exports);
  const data = exports.data || exports;
  if (isData(data)) hookDatasets(data);
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

function switchOn() {
  if (on) return;
  on = true;
  onUndo(onEachLoaded(install));
}

function switchOff() {
  if (!on) return;
  on = asked = false;
  unpatch();
  forgetAll();
  process.removeListener('exit', printSummary);
}

// explain() or explain({summary: false}): from now on lives are recorded. explain(false): no more.
function explain(options = {}) {
  if (options === false) {
    switchOff();
    return;
  }
  switchOn();
  asked = true;
  process.removeListener('exit', printSummary);
  if (options.summary !== false && process.env.TENURE_SUMMARY !== '0') {
    process.on('exit', printSummary);
  }
}

// The life of a tensor so far, as text.
function story(tensor) {
  if (tensor == null || tensor.dataId === undefined) {
    throw new TypeError(`story: expected a tensor, got: ${tensor === null ? 'null' : typeof tensor}`);
  }
  return tell(recordOf(tensor));
}

// A file for `tenure report`, from now until close() or the end of the program.
function record(path) {
  if (typeof path !== 'string' || path === '') {
    throw new TypeError(`record: expected the path of a file, got: ${path}`);
  }
  if (observers.trace !== null) throw new Error('record: a recording runs already; close it first');
  const trace = new Trace(path, version);
  switchOn();
  const end = isExit => {
    if (observers.trace === trace) observers.trace = null;
    trace.close(isExit);
  };
  const atExit = () => end(true);
  const close = () => {
    process.removeListener('exit', atExit);
    end(false);
    if (!asked && observers.trace === null) switchOff();
  };
  observers.trace = trace;
  process.on('exit', atExit);
  return {path, close};
}

// As TENURE_TRACE says. The native library, which would write the same file, must not see it. A
// worker thread cannot hide it from the library, so that the recording of one is left to that.
function recordAsAsked() {
  const given = process.env.TENURE_TRACE;
  if (!given || !isMainThread) return;
  delete process.env.TENURE_TRACE;
  try {
    record(given.replaceAll('%p', process.pid));
  } catch (error) {
    process.stderr.write(`tenure: TENURE_TRACE=${given}: nothing is recorded: ${error.message}\n`);
  }
}

module.exports = {DisposedError, explain, leaks, mark, record, recordAsAsked, story};
