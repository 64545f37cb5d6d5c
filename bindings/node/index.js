// Makes Tenure the backend of TensorFlow.js in this process:
//
//   const tf = require('@tensorflow/tfjs');
//   require('tenure-tfjs');
'use strict';

require('./lib/unbundled');
const {engine} = require('./lib/tfjs').coreFor(module.parent?.filename);

// By the engine of a TensorFlow.js. A second copy of this package beside the same one (another path
// to it, a module that was loaded again) would register what the first has registered.
const packages = (globalThis[Symbol.for('tenure-tfjs')] ??= new WeakMap());
if (!packages.has(engine())) packages.set(engine(), require('./lib/package'));

module.exports = packages.get(engine());
