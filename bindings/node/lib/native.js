// The native half: where `npm install` puts it, or in the checkout's own build.
'use strict';

const fs = require('fs');
const path = require('path');

const places = [
  process.env.TENURE_ADDON,
  path.join(__dirname, '..', 'build', 'tenure.node'),
  path.join(__dirname, '..', '..', '..', 'build', 'release', 'bindings', 'node', 'tenure.node'),
];
const found = places.find((place) => place !== undefined && fs.existsSync(place));
if (found === undefined) {
  throw new Error('tenure-tfjs: its native half is not built: run npm install in its folder');
}

module.exports = require(found);
