// The stories of this process. A second copy of this package beside the first would hook what the
// first has hooked.
'use strict';

module.exports = globalThis[Symbol.for('tenure-tfjs/explain')] ??= require('./explain');
