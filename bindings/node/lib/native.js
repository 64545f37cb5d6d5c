// The native half, in the build of the checkout that this folder is part of.
'use strict';

const fs = require('fs');
const path = require('path');

const place =
  process.env.TENURE_ADDON ||
  path.join(__dirname, '..', '..', '..', 'build', 'release', 'bindings', 'node', 'tenure.node');
if (!fs.existsSync(place)) {
  throw new Error(
    `tenure-tfjs: its native half is not built (run npm install in its folder): ${place}`,
  );
}

module.exports = require(place);
