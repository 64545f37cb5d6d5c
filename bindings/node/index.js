// Makes Tenure the backend of TensorFlow.js in this process:
//
//   const tf = require('@tensorflow/tfjs');
//   require('tenure-tfjs');
'use strict';

const {engine, registerBackend, registerKernel} = require('@tensorflow/tfjs-core');
const {recordAsAsked, ...explain} = require('./lib/explain');
recordAsAsked(); // before the native library is loaded
const bridge = require('./lib/bridge');
const {TenureBackend} = require('./lib/backend');
const {nativeLayers, registerLayers} = require('./lib/layers');
const {moveComplexTensors} = require('./lib/moves');

const BACKEND = 'tenure';
const PRIORITY = 10; // above every backend that TensorFlow.js has

// What is written by hand goes before what the table says.
const kernels = Object.assign(
  {},
  require('./lib/kernels/table').kernels,
  require('./lib/kernels/elementwise'),
  require('./lib/kernels/shape'),
  require('./lib/kernels/matrix'),
  require('./lib/kernels/window'),
  require('./lib/kernels/image'),
  require('./lib/kernels/indexing'),
  require('./lib/kernels/host').kernels,
);

if (registerBackend(BACKEND, () => new TenureBackend(), PRIORITY)) {
  for (const [kernelName, kernelFunc] of Object.entries(kernels)) {
    registerKernel({kernelName, backendName: BACKEND, kernelFunc});
  }
  registerLayers(BACKEND);
  moveComplexTensors(engine(), (backend) => backend instanceof TenureBackend);
  // The priority decides only before the first op.
  if (engine().backendInstance != null) engine().setBackend(BACKEND);
}

// Runs an op of Tenure's own table (docs/ops.md) by its name.
function op(name, inputs, attrs = {}) {
  return engine().runKernel(name, Array.isArray(inputs) ? inputs : [inputs], attrs);
}

module.exports = {
  backend: BACKEND,
  op,
  version: bridge.version,
  memory: bridge.memory,
  setThreads: bridge.setThreads,
  nativeLayers,
  ...explain,
};
