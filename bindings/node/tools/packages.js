// Installs the packages that package-lock.json names. When npm itself is what runs the build, it
// has put them there already, and would not like to be called again.
'use strict';

const {execFileSync} = require('child_process');
const fs = require('fs');
const path = require('path');

const folder = path.dirname(__dirname);
const installed = path.join(folder, 'node_modules', '.package-lock.json');

if (process.env.npm_lifecycle_event === undefined || !fs.existsSync(installed)) {
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('npm', options, {cwd: folder, stdio: 'inherit'});
}
fs.utimesSync(installed, new Date(), new Date());
