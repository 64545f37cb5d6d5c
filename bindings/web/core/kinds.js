'use strict';
// Whose code is in a file: the user's, TensorFlow.js's or ours, another package's, or the runtime's.
// A file that a bundler may have made of all these is kMixed: its source map tells.

const kUser = 0, kLibrary = 1, kPackage = 2, kRuntime = 3, kMixed = 4;

// As it is installed, and as its own source maps name its files.
const kTensorflow = /(^|[\\/])(@tensorflow[\\/]tfjs|tfjs-(core|layers|data|converter|backend-\w+)[\\/]src[\\/])/;
// The first is how the maps of what build.mjs makes name our files.
const kOurs = /tenure-explain:[\\/]|(^|[\\/])node_modules[\\/]tenure-(explain|tfjs)[\\/]/;
const kBundlers = /(^|[\\/])(webpack[\\/](runtime|bootstrap|startup|universalModuleDefinition|before-startup|after-startup)|vite[\\/](preload-helper|modulepreload-polyfill|dynamic-import-helper|client)|@vite[\\/]|<define:|rolldown[\\/])|^\0|commonjsHelpers|preload-helper/;

// Of a file before it was bundled, by its name in a source map or on a server.
function kindOfSource(name) {
  if (kTensorflow.test(name) || kOurs.test(name)) return kLibrary;
  if (kBundlers.test(name)) return kRuntime;
  return /(^|[\\/])node_modules[\\/]/.test(name) ? kPackage : kUser;
}

module.exports = {kLibrary, kMixed, kPackage, kRuntime, kUser, kindOfSource};
