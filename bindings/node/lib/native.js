// The native half: the one that came with the package or, in a checkout, the one of its build.
'use strict';

const fs = require('fs');
const path = require('path');
const {whyNot} = require('./native_failure');

function place() {
  const asked = process.env.TENURE_ADDON;
  if (asked) return {file: path.resolve(asked), origin: 'TENURE_ADDON'};

  const folder = path.dirname(__dirname);
  if (fs.existsSync(path.join(folder, 'CMakeLists.txt'))) {
    const build = path.join(folder, '..', '..', 'build', 'release', 'bindings', 'node');
    return {file: path.join(build, 'tenure.node'), origin: 'checkout'};
  }
  const system = `${process.platform}-${process.arch}`;
  return {file: path.join(folder, 'prebuilds', system, 'tenure.node'), origin: 'package'};
}

// Not by `require`, which gives one and the same native state to all who ask for it: a test runner
// loads this package once more for each file of tests, and the states of two must not meet.
function load({file, origin}) {
  const addon = {exports: {}};
  try {
    process.dlopen(addon, file);
  } catch (error) {
    throw whyNot(error, file, origin);
  }
  return addon.exports;
}

module.exports = load(place());
