'use strict';
// The explain that the helper asks. Test runners run in Node.

const {explain, leaks, mark} = require('../node');

module.exports = {
  explain(tf) {
    if (tf === undefined) explain({summary: false});
    else explain(tf, {summary: false});
  },
  leaks,
  mark,
};
