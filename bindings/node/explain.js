'use strict';
// node -r tenure-tfjs/explain program.js
const {recordAsAsked, ...api} = require('./lib/stories');

api.explain();
recordAsAsked();

module.exports = api;
