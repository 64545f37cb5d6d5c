'use strict';
// tenure-explain by itself, with the oldest TensorFlow.js that it is for.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');
const {Project} = require('./projects');

const PROGRAM = `
const {explain, leaks, mark} = require('tenure-explain/node');
explain({summary: false});
const tf = require('@tensorflow/tfjs');

async function run() {
  const x = tf.ones([3]);
  x.dispose();
  try { tf.relu(x); } catch (error) { console.log(error.message); }
  const model = tf.sequential({layers: [tf.layers.dense({units: 1, inputShape: [2], name: 'out'})]});
  let saved;
  await model.save(tf.io.withSaveHandler(async artifacts => {
    saved = artifacts;
    return {modelArtifactsInfo: {dateSaved: new Date(), modelTopologyType: 'JSON'}};
  }));
  const before = mark();
  await tf.loadLayersModel(tf.io.fromMemory(saved));
  console.log(String(leaks(before)));
}
run();
`;

module.exports = ({oldest_version, tarball}) => {
  const folder = path.dirname(tarball);
  const explain = path.join(folder, fs.readdirSync(folder).find((name) => name.startsWith('tenure-explain-')));
  const project = new Project('explain alone').install(`@tensorflow/tfjs@${oldest_version}`, explain);
  project.write('program.js', PROGRAM);

  test('it tells the stories of that', async () => {
    const text = await project.output(['program.js']);
    assert.match(text, /^relu: input 0 was disposed/m);
    assert.match(text, /born +program\.js:7 +ones\n +died +program\.js:8 +disposed\n +used +program\.js:9 /);
    assert.match(text, /program\.js:17 +variable of layer "out"/);
  });
};
