'use strict';
// Stories that know this package's errors and its own files.

const path = require('path');

const {knowBackend, loaded, watch, ...stories} = require('tenure-explain/node');
const {isOurs} = require('../errors');

const root = path.resolve(__dirname, '..', '..') + path.sep;

knowBackend({
  isError: isOurs,
  isFile(file) {
    if (!file.startsWith(root)) return false;
    const inside = file.slice(root.length);
    return /^lib[\\/]/.test(inside) || !/[\\/]/.test(inside);
  },
});

module.exports = stories;
