'use strict';
// node -r tenure-tfjs/explain program.js
const {explain, recordAsAsked} = require('./lib/explain');

explain({summary: process.env.TENURE_SUMMARY !== '0'});
recordAsAsked();
