'use strict';
// Of several copies of TensorFlow.js the program's gets the backend, and no other is loaded.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const {test} = require('node:test');
const {FEW_STARTS, PRINTS, STARTS, preloaded} = require('./programs');

const PACKAGE = 'node_modules/tenure-tfjs';

module.exports = ({union}) => {
  // As a checkout is linked: it has a TensorFlow.js of its own.
  const elsewhere = union.copyTo('elsewhere');
  const linked = union.copyTo('linked');
  fs.rmSync(linked.file(PACKAGE), {recursive: true});
  fs.symlinkSync(elsewhere.file(PACKAGE), linked.file(PACKAGE));

  const preserved = FEW_STARTS.map((options) => ['--preserve-symlinks', ...options]);
  for (const options of [...STARTS, ...preserved]) {
    test(`linked: node ${options.join(' ')}`, async () => {
      assert.equal(await linked.output(options), PRINTS);
    });
  }

  test('npm link brings no second TensorFlow.js', async () => {
    const project = union.copyTo('npm link');
    fs.rmSync(project.file(PACKAGE), {recursive: true});
    project.install('--no-save', elsewhere.file(PACKAGE));
    assert.ok(fs.lstatSync(project.file(PACKAGE)).isSymbolicLink());
    assert.equal(await project.output(['required_first.js']), PRINTS);
  });

  test('by its path, from outside of the project', async () => {
    const project = union.copyTo('without it');
    fs.rmSync(project.file(PACKAGE), {recursive: true});
    for (const options of preloaded(elsewhere.file(PACKAGE, 'index.mjs'))) {
      if (options[0] === '-r') options[1] = elsewhere.file(PACKAGE);
      assert.equal(await project.output(options), PRINTS);
    }
  });

  test('a program with a copy of its own, in a project that has another', async () => {
    const project = union.copyTo('nested');
    const app = union.copyTo('nested/app');
    fs.rmSync(app.file(PACKAGE), {recursive: true});
    for (const options of FEW_STARTS) {
      const started = [...options.slice(0, -1), `app/${options.at(-1)}`];
      assert.equal(await project.output(started), PRINTS, started.join(' '));
    }
  });

  test('a second copy of the package is the first', async () => {
    union.write(
      'twice.js',
      `       const first = require('tenure-tfjs');
       const second = require(${JSON.stringify(elsewhere.file(PACKAGE))});
       const stories = require(${JSON.stringify(elsewhere.file(PACKAGE, 'explain'))});
       console.log(first === second, stories.explain === first.explain);`,
    );
    assert.equal(await union.output(['twice.js'], {env: {TENURE_SUMMARY: '0'}}), 'true true\n');
  });

  test('loaded once more beside another engine, as test runners do, it has a state of its own', async () => {
    union.write(
      'again.js',
      `for (let time = 1; time <= 3; ++time) {
         for (const file of Object.keys(require.cache)) {
           if (!file.endsWith('.node')) delete require.cache[file];
         }
         delete globalThis._tfengine;
         delete globalThis._tfGlobals;
         const tf = require('@tensorflow/tfjs');
         require('tenure-tfjs');
         console.log(time, [...tf.add(tf.tensor1d([1, 2]), time).dataSync()].join(), tf.getBackend());
       }`,
    );
    assert.equal(await union.output(['again.js']), '1 2,3 tenure\n2 3,4 tenure\n3 4,5 tenure\n');
  });

  test('of a version that it does not work with, and of none, it says so', async () => {
    const project = union.copyTo('other version');
    fs.rmSync(project.file('node_modules/@tensorflow'), {recursive: true});
    const {text: none} = await project.run(['-r', 'tenure-tfjs', '-e', '0']);
    assert.match(none, /LoadError: tenure-tfjs: there is no @tensorflow\/tfjs-core here: npm install @tensorflow\/tfjs/);
    for (const version of ['3.21.0', '4.3.0', '5.0.0']) {
      project.write(
        'node_modules/@tensorflow/tfjs-core/index.js',
        `exports.engine = () => {}; exports.version_core = '${version}';`,
      );
      const {text} = await project.run(['-r', 'tenure-tfjs', '-e', '0']);
      assert.match(text, new RegExp(`works with TensorFlow\\.js 4\\.4 or a later 4\\.x, and the program's is ${version}: .*index\\.js`));
    }
  });
};
