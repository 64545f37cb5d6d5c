// What `npm install` runs: builds the native half from the checkout that this folder is part of.
'use strict';

const {execFileSync} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const folder = path.dirname(__dirname);
const checkout = path.join(folder, '..', '..');
const build = path.join(folder, 'build', 'cmake');

function cmake(...options) {
  execFileSync('cmake', options, {stdio: 'inherit'});
}

cmake('-S', checkout, '-B', build, '-G', 'Ninja', '--log-level=WARNING', '-DCMAKE_BUILD_TYPE=RelWithDebInfo',
    '-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG', '-DTENURE_TESTS=OFF', '-DTENURE_NODE=ON',
    '-DTENURE_NODE_PACKAGES=OFF');
cmake('--build', build, '--target', 'tenure_node', '-j', String(os.cpus().length));
fs.copyFileSync(path.join(build, 'bindings', 'node', 'tenure.node'), path.join(folder, 'build', 'tenure.node'));
