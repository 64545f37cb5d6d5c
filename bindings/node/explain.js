'use strict';
// node -r tenure-tfjs/explain program.js
const {explain, record} = require('./lib/explain');

explain({summary: process.env.TENURE_SUMMARY !== '0'});
if (process.env.TENURE_TRACE) {
  record(process.env.TENURE_TRACE);
  // The native library must not write the same file.
  delete process.env.TENURE_TRACE;
}
