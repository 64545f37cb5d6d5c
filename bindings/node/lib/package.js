// What this package is: the backend, its kernels and layers, registered with TensorFlow.js, and what
// a program may ask of it.
'use strict';

const {engine, registerBackend, registerKernel} = require('./core');
const {recordAsAsked, ...explain} = require('./stories');
recordAsAsked(); // before the native library is loaded
const bridge = require('./bridge');
const {TenureBackend} = require('./backend');
const table = require('./kernels/table');
const {checkCall} = table;
const {nativeLayers, registerLayers} = require('./layers');
const {moveComplexTensors} = require('./moves');

const BACKEND = 'tenure';
const PRIORITY = 10; // above every backend that TensorFlow.js has

// What is written by hand goes before what the table says.
const kernels = Object.assign(
  {},
  table.kernels,
  require('./kernels/elementwise'),
  require('./kernels/shape'),
  require('./kernels/matrix'),
  require('./kernels/window'),
  require('./kernels/image'),
  require('./kernels/indexing'),
  require('./kernels/host').kernels,
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
  const tensors = Array.isArray(inputs) ? inputs : [inputs];
  checkCall(name, tensors, attrs);
  return engine().runKernel(name, tensors, attrs);
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
