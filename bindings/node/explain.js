'use strict';
// node -r tenure-tfjs/explain program.js
const {explain} = require('./lib/explain');

explain({summary: process.env.TENURE_SUMMARY !== '0'});
