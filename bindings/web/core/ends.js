'use strict';
// Made by the first piece of what build.mjs makes, and by its last, in index.js: see
// browser/own_code.js.

module.exports = [new Error()];
