// What the rest of this package has of TensorFlow.js.
'use strict';

module.exports = require('./tfjs').coreFor();
