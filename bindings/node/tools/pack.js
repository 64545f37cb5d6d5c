// Packs what `npm install` takes on machines that have neither a checkout nor a compiler:
//
//   node tools/pack.js --addon=FILE --out=FOLDER
//
// This package, with the native half and the libraries it needs, for the system it was built on;
// and the packages of this checkout that it depends on, each by itself. Those are in this one too,
// so that its file is all that is needed.
'use strict';

const {execFileSync} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const {parseArgs} = require('util');

const folder = path.dirname(__dirname);
const checkout = path.join(folder, '..', '..');
const manifest = require('../package.json');

function run(command, options, cwd) {
  const stdio = ['ignore', 'pipe', 'inherit'];
  return execFileSync(command, options, {cwd, encoding: 'utf8', stdio});
}

// The file that npm makes of a folder.
function pack(from, out) {
  const quietly = ['--json', '--loglevel=error', '--foreground-scripts=false'];
  const [made] = JSON.parse(run('npm', ['pack', ...quietly, '--pack-destination', out], from));
  const file = path.join(out, made.filename);
  console.log(file);
  return file;
}

// The packages of this checkout that it depends on, packed into `out` and unpacked into the stage;
// what `package.json` says of each.
function packInside(stage, out) {
  const manifests = [];
  for (const [name, from] of Object.entries(manifest.dependencies ?? {})) {
    if (!from.startsWith('file:')) continue;
    const file = pack(path.join(folder, from.slice('file:'.length)), out);
    const target = path.join(stage, 'node_modules', name);
    fs.mkdirSync(target, {recursive: true});
    run('tar', ['-xzf', file, '-C', target, '--strip-components=1']);
    manifests.push(require(path.join(target, 'package.json')));
  }
  return manifests;
}

// What is published: nothing that a checkout alone can do. npm takes what is inside for whole, and
// installs none of its dependencies: they have to be ours.
function publishedManifest(inside) {
  const {private: _, scripts, devDependencies, ...published} = manifest;
  if (inside.length === 0) return published;
  const dependencies = {...published.dependencies};
  for (const {name, version, dependencies: theirs} of inside) {
    Object.assign(dependencies, theirs, {[name]: version});
  }
  return {...published, dependencies, bundleDependencies: inside.map(({name}) => name)};
}

function main() {
  const {values} = parseArgs({options: {addon: {type: 'string'}, out: {type: 'string'}}});
  if (values.addon === undefined || values.out === undefined) {
    throw new Error('pack: expected --addon=FILE --out=FOLDER');
  }
  const out = path.resolve(values.out);
  const addon = path.resolve(values.addon);
  fs.mkdirSync(out, {recursive: true});
  const stage = fs.mkdtempSync(path.join(os.tmpdir(), 'tenure-pack-'));
  try {
    for (const name of ['README.md', ...manifest.files]) {
      const from = path.join(folder, name);
      if (fs.existsSync(from)) fs.cpSync(from, path.join(stage, name), {recursive: true});
    }
    fs.copyFileSync(path.join(checkout, 'LICENSE'), path.join(stage, 'LICENSE'));
    run('cmake', [
      `-DADDON=${addon}`,
      `-DFOLDER=${path.join(stage, 'prebuilds', `${process.platform}-${process.arch}`)}`,
      `-DDOCUMENTS=${path.join(stage, 'licenses')}`,
      '-P', path.join(checkout, 'cmake', 'package', 'npm.cmake'),
    ]);
    const inside = packInside(stage, out);
    const published = JSON.stringify(publishedManifest(inside), null, 2);
    fs.writeFileSync(path.join(stage, 'package.json'), `${published}\n`);
    pack(stage, out);
  } finally {
    fs.rmSync(stage, {recursive: true});
  }
}

main();
