'use strict';
// Layers, and the step of an optimizer, that run natively as a whole.

const {registerKernel, serialization} = require('../core');
const {isCore, isLayers, onEachLoaded} = require('tenure-explain/node').loaded;
const adam = require('./adam');
const recurrent = require('./recurrent');
const {nativeLayers} = require('./switch');

const kernels = {...require('./recurrent_kernels'), ...adam.kernels};

function registerLayers(backendName) {
  for (const [kernelName, kernelFunc] of Object.entries(kernels)) {
    registerKernel({kernelName, backendName, kernelFunc});
  }
  onEachLoaded(exports => {
    if (isCore(exports)) adam.install(exports);
    if (isLayers(exports)) recurrent.install(exports, exports.serialization || serialization);
  });
}

module.exports = {nativeLayers, registerLayers};
