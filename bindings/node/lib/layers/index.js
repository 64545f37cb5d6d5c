'use strict';
// Layers that run natively as a whole.

const {registerKernel, serialization} = require('@tensorflow/tfjs-core');
const {isLayers, onEachLoaded} = require('../loaded');
const {install, nativeLayers} = require('./recurrent');

function registerLayers(backendName) {
  for (const [kernelName, kernelFunc] of Object.entries(require('./recurrent_kernels'))) {
    registerKernel({kernelName, backendName, kernelFunc});
  }
  onEachLoaded(exports => {
    if (isLayers(exports)) install(exports, exports.serialization || serialization);
  });
}

module.exports = {nativeLayers, registerLayers};
