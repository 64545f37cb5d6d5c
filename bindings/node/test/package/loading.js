'use strict';
// TensorFlow.js gets the backend however the package is loaded, in every Node.js that it is for.

const assert = require('node:assert/strict');
const {test} = require('node:test');
const {Project} = require('./projects');
const {FEW_STARTS, PRINTS, STARTS} = require('./programs');

const VERSIONS = {18: '18.20.8', 22: '22.23.3', 24: '24.21.0'};

module.exports = ({union, oldest, core_alone}) => {
  for (const [name, project, starts] of [
    ['tfjs 4.22', union, STARTS],
    ['tfjs 4.4', oldest, FEW_STARTS],
    ['tfjs-core alone', core_alone, FEW_STARTS],
  ]) {
    for (const options of starts) {
      test(`${name}: node ${options.join(' ')}`, async () => {
        assert.equal(await project.output(options), PRINTS);
      });
    }
  }

  const others = new Project('other versions of Node.js');
  const named = Object.entries(VERSIONS).map(
    ([major, version]) => `node${major}@npm:node-${process.platform}-${process.arch}@${version}`,
  );
  others.install('--ignore-scripts', ...named);
  for (const [major, version] of Object.entries(VERSIONS)) {
    const node = [others.file('node_modules', `node${major}`, 'bin', 'node')];
    test(`Node.js ${version} loads it`, async () => {
      assert.equal(await union.output(['-p', 'process.version'], {node}), `v${version}\n`);
      for (const options of FEW_STARTS) assert.equal(await union.output(options, {node}), PRINTS);
    });

    test(`Node.js ${version} tells the stories of ES modules`, async () => {
      union.write(
        'disposed.mjs',
        `import * as tf from '@tensorflow/tfjs';
         import {explain} from 'tenure-tfjs';
         explain({summary: false});
         const x = tf.ones([3]);
         x.dispose();
         try { tf.relu(x); } catch (error) { console.log(error.name, error.message); }`,
      );
      const text = await union.output(['disposed.mjs'], {node});
      assert.match(text, /^DisposedError relu: input 0 was disposed/);
      assert.match(text, /born +disposed\.mjs:4 +ones/);
      assert.match(text, /died +disposed\.mjs:5 +disposed/);
    });
  }

  test('there is one state, whatever way leads to it', async () => {
    union.write(
      'state.mjs',
      `import {createRequire} from 'module';
       import tenure, * as named from 'tenure-tfjs';
       import stories, * as named_stories from 'tenure-tfjs/explain';
       const require = createRequire(import.meta.url);
       const required = require('tenure-tfjs');
       const names = (object) => Object.keys(object).filter((name) => name !== 'default').sort().join();
       console.log(required === tenure, names(named) === names(required));
       console.log(Object.entries(named).every(([name, value]) => name === 'default' || value === required[name]));
       console.log(require('tenure-tfjs/explain') === stories, names(named_stories) === names(stories));
       console.log(names(stories).split(',').every((name) => stories[name] === tenure[name]));
       console.log(require('tenure-tfjs/lib/explain').explain === tenure.explain);`,
    );
    const said = await union.output(['state.mjs'], {env: {TENURE_SUMMARY: '0'}});
    assert.equal(said, 'true true\ntrue\ntrue true\ntrue\ntrue\n');
  });

  test('worker threads have it too', async () => {
    union.write(
      'workers.mjs',
      `import {Worker} from 'worker_threads';
       for (const name of ['required.js', 'imported_first.mjs', 'unknowing.mjs']) {
         const execArgv = name.startsWith('unknowing') ? ['-r', 'tenure-tfjs'] : [];
         await new Promise((end) => new Worker(new URL(name, import.meta.url), {execArgv}).on('exit', end));
       }
       new Worker("const tf = require('@tensorflow/tfjs'); require('tenure-tfjs'); console.log(tf.backend() instanceof tf.KernelBackend, tf.getBackend())", {eval: true});`,
    );
    assert.equal(await union.output(['workers.mjs']), `${PRINTS.repeat(3)}true tenure\n`);
  });

  test('what it leaves to the cpu backend is loaded when it is needed, and asked for by name', async () => {
    const range = "require('tenure-tfjs'); console.log([...require('@tensorflow/tfjs-core').range(0, 3).dataSync()]);";
    const {text} = await core_alone.run(['-e', range]);
    assert.match(text, /LoadError: tenure-tfjs: Range runs .* npm install @tensorflow\/tfjs-backend-cpu@4\.22\.0/);
    assert.equal(await union.output(['-e', range]), '[ 0, 1, 2 ]\n');
  });
};
