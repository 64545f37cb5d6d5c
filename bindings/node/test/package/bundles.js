'use strict';
// Bundlers have to leave the package outside, and who forgets it is told.

const assert = require('node:assert/strict');
const esbuild = require('esbuild');
const fs = require('node:fs');
const {test} = require('node:test');
const {PRINTS} = require('./programs');

const OUTSIDE = ['tenure-tfjs', '@tensorflow/*'];
const FORMATS = {cjs: 'cjs', esm: 'mjs'};

module.exports = ({union}) => {
  async function bundled(name, format, external) {
    const file = `bundles/${name}.${FORMATS[format]}`;
    await esbuild.build({
      entryPoints: [union.file('imported.mjs')],
      outfile: union.file(file),
      bundle: true,
      platform: 'node',
      format,
      external,
      logLevel: 'silent',
    });
    return file;
  }

  for (const format of Object.keys(FORMATS)) {
    test(`${format}: a bundle that leaves it outside runs`, async () => {
      assert.equal(await union.output([await bundled('outside', format, OUTSIDE)]), PRINTS);
    });

    test(`${format}: a bundle that has it inside says to leave it outside`, async () => {
      const {status, text} = await union.run([await bundled('inside', format, ['@tensorflow/*'])]);
      assert.equal(status, 1);
      assert.match(text, /LoadError: tenure-tfjs: it was bundled into the program.*--external:tenure-tfjs --external:@tensorflow\/\*/);
    });
  }

  // As an ES module such a bundle does not run at all: TensorFlow.js calls `require`.
  test('a bundle that has TensorFlow.js inside, and not the package, gets the backend', async () => {
    const file = await bundled('tfjs_inside', 'cjs', ['tenure-tfjs']);
    assert.ok((await union.output([file])).endsWith(PRINTS));
  });

  test('such a bundle, where there is no other TensorFlow.js, says so', async () => {
    const file = await bundled('alone', 'cjs', ['tenure-tfjs']);
    const project = union.copyTo('bundle alone');
    fs.rmSync(project.file('node_modules', '@tensorflow'), {recursive: true});
    assert.match((await project.run([file])).text, /LoadError: tenure-tfjs: TensorFlow\.js is bundled into the program/);
  });
};
