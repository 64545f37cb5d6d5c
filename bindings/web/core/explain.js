'use strict';
// What a program can ask: the part of it that is the same wherever it runs. A platform says how to
// find TensorFlow.js, where a recording goes, and what is told when the program ends.

const {hookDatasets} = require('./dataset_hooks');
const {hookCore} = require('./engine_hooks');
const {hookGraphModels} = require('./graph_model_hooks');
const growth = require('./growth');
const {hookLayers} = require('./layer_hooks');
const {hookLoads} = require('./load_hooks');
const {forgetAll, observers, recordOf} = require('./lives');
const {isCore, isData, isLayers} = require('./modules');
const {onUndo, unpatch} = require('./patches');
const {tell} = require('./story');
const {Trace} = require('./trace');
const {typeName} = require('./words');

let isOn = false; // lives are recorded

// Hooks what one of TensorFlow.js's modules has. `serialization` finds tfjs-core's registry of
// classes, which tfjs-layers does not export.
function hook(exports, serialization) {
  if (isCore(exports)) {
    hookCore(exports);
    hookLoads(exports.io);
  }
  if (typeof exports.GraphModel === 'function') hookGraphModels(exports);
  const data = exports.data || exports;
  if (isData(data)) hookDatasets(data);
  if (isLayers(exports)) hookLayers(exports, exports.serialization || serialization());
}

// `find` begins to hook and gives what ends that.
function switchOn(find) {
  if (isOn) return;
  isOn = true;
  onUndo(find());
}

function switchOff() {
  if (!isOn) return;
  isOn = false;
  unpatch();
  forgetAll();
  growth.forget();
}

// The life of a tensor so far, as text.
function story(tensor) {
  if (tensor == null || tensor.dataId === undefined) {
    throw new TypeError(`story: expected a tensor, got: ${typeName(tensor)}`);
  }
  return tell(recordOf(tensor));
}

// Begins a recording into a sink, which `open` opens; gives what ends it, with whether that is
// because the program ends.
function beginRecording(open, version) {
  if (observers.trace !== null) throw new Error('record: a recording runs already; close it first');
  const trace = new Trace(open(), version);
  observers.trace = trace;
  return isExit => {
    if (observers.trace === trace) observers.trace = null;
    trace.close(isExit);
  };
}

module.exports = {
  beginRecording, hook, isTensorflow: isCore, story, switchOff, switchOn,
  get isOn() { return isOn; },
  get isRecording() { return observers.trace !== null; },
};
