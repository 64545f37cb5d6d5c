// What `npm run build` runs: builds the native half in the checkout that this folder is part of.
'use strict';

const {execFileSync} = require('child_process');
const path = require('path');

function cmake(...options) {
  execFileSync('cmake', options, {cwd: path.join(__dirname, '..', '..', '..'), stdio: 'inherit'});
}

cmake('--preset', 'release', '--log-level=WARNING');
cmake('--build', '--preset', 'release', '--target', 'tenure_node');
