'use strict';
// The explain that the helper asks. Test runners run in Node.

const {leaks, mark, watch} = require('../node');

module.exports = {leaks, mark, watch};
