'use strict';
// Stories for programs that use TensorFlow.js in Node.js: one core for the process, since a second one
// would hook what the first has hooked.

module.exports = globalThis[Symbol.for('tenure-explain')] ??= require('./stories');
