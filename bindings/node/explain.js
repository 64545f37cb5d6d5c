'use strict';
// node -r tenure-tfjs/explain program.js
const {explain, recordAsAsked} = require('./lib/explain');

explain();
recordAsAsked();
