// Installs the packages that the package-lock.json of each folder names:
//
//   node tools/packages.js FOLDER...
'use strict';

const {execFileSync} = require('child_process');
const fs = require('fs');
const path = require('path');

const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
for (const cwd of process.argv.slice(2)) {
  execFileSync('npm', options, {cwd, stdio: 'inherit'});
  const installed = path.join(cwd, 'node_modules', '.package-lock.json');
  fs.utimesSync(installed, new Date(), new Date());
}
