'use strict';
// What is in the package, and what of the system it needs.

const assert = require('node:assert/strict');
const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');
const {checkout} = require('./projects');

const SYSTEMS_OWN = new Set(['libc.so.6', 'libm.so.6', 'libstdc++.so.6', 'libgcc_s.so.1']);

function readelf(...options) {
  return execFileSync('readelf', ['--wide', ...options], {encoding: 'utf8'});
}

module.exports = ({union}) => {
  const folder = union.file('node_modules', 'tenure-tfjs');
  const native = path.join(folder, 'prebuilds', `${process.platform}-${process.arch}`);
  const libraries = fs.readdirSync(native);
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));

  test('nothing runs when it is installed, and nothing of the checkout is in it', () => {
    assert.equal(manifest.scripts, undefined);
    assert.equal(manifest.devDependencies, undefined);
    assert.deepEqual(fs.readdirSync(folder).sort(), [
      'LICENSE', 'README.md', 'explain.d.mts', 'explain.d.ts', 'explain.js', 'explain.mjs',
      'index.d.mts', 'index.d.ts', 'index.js', 'index.mjs', 'lib', 'licenses', 'package.json',
      'prebuilds',
    ].concat(manifest.bundleDependencies === undefined ? [] : ['node_modules']).sort());
  });

  test('TensorFlow.js is the program\'s, and never brought along', () => {
    const dependencies = Object.keys(manifest.dependencies ?? {});
    assert.deepEqual(dependencies.filter((name) => name.startsWith('@tensorflow/')), []);
    const installed = union.output(['-p', "require('tenure-tfjs/package.json').version"]);
    return installed.then((version) => assert.equal(version, `${manifest.version}\n`));
  });

  test('each library it needs is in it, or is the C or C++ library', () => {
    for (const name of libraries) {
      const needed = readelf('--dynamic', path.join(native, name));
      for (const [, library] of needed.matchAll(/NEEDED.*\[(.*)\]/g)) {
        const here = libraries.includes(library) || SYSTEMS_OWN.has(library);
        assert.ok(here || /^ld-linux/.test(library), `${name} needs ${library}`);
      }
      assert.match(needed, /RUNPATH.*\[\$ORIGIN\]/, name);
    }
  });

  test('a running program has only those from the system, and no module from outside', async () => {
    union.write(
      'loaded.js',
      `const tf = require('@tensorflow/tfjs');
       require('tenure-tfjs');
       tf.add(1, 2).print();
       const {readFileSync} = require('fs');
       const mapped = readFileSync('/proc/self/maps', 'utf8').match(/\\/.*\\.(so|node)\\b.*/g);
       console.log(JSON.stringify({mapped: [...new Set(mapped)], modules: Object.keys(require.cache)}));`,
    );
    const {mapped, modules} = JSON.parse((await union.output(['loaded.js'])).split('\n').at(-2));
    const inside = `${fs.realpathSync(union.folder)}${path.sep}`;
    assert.deepEqual(modules.filter((file) => !file.startsWith(inside)), []);
    const own = mapped.filter((file) => file.startsWith(inside));
    for (const name of libraries) assert.ok(own.some((file) => path.basename(file) === name), name);
    const brought = mapped.filter((file) => !file.startsWith(inside) && libraries.includes(path.basename(file)));
    assert.deepEqual(brought, []);
  });

  test('it asks no more of the system than its README says', () => {
    const asked = libraries.map((name) => readelf('--version-info', path.join(native, name))).join();
    const latest = (library) =>
      [...asked.matchAll(new RegExp(`Name: ${library}_([\\d.]+) `, 'g'))]
        .map(([, version]) => version)
        .sort((a, b) => a.localeCompare(b, 'en', {numeric: true}))
        .at(-1);
    assert.deepEqual([latest('GLIBC'), latest('GLIBCXX')], ['2.34', '3.4.30']);
    const {NEEDS} = require('../../lib/native_failure');
    assert.match(NEEDS, /^glibc 2\.34 and the C\+\+ library of GCC 12 /);
    assert.ok(fs.readFileSync(path.join(folder, 'README.md'), 'utf8').includes(NEEDS));
  });

  test('the licence of everything in it comes along', () => {
    const licenses = path.join(folder, 'licenses');
    const list = fs.readFileSync(path.join(licenses, 'libraries.txt'), 'utf8');
    const listed = [...list.matchAll(/^(\S+): (\S+) /gm)];
    assert.deepEqual(listed.map(([, name]) => name).concat('tenure.node').sort(), libraries.sort());
    for (const [, , name] of listed) assert.ok(fs.statSync(path.join(licenses, `${name}.copyright`)).size > 0);
    assert.deepEqual(
      fs.readFileSync(path.join(folder, 'LICENSE')),
      fs.readFileSync(path.join(checkout, 'LICENSE')),
    );
  });
};
