'use strict';
// What TensorFlow.js makes after an await of its own has the line that began it, where that can be
// known, and else says why it has none.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const {test} = require('node:test');
const {explain, leaks, mark, story} = require('../lib/explain');

explain({summary: false});
const tf = require('@tensorflow/tfjs');

const lines = fs.readFileSync(__filename, 'utf8').split('\n');
const at = tag => {
  const found = lines.findIndex(line => line.endsWith(`// @${tag}`));
  return `${path.relative(process.cwd(), __filename)}:${found + 1}`;
};

const kWhy = 'after an await inside of TensorFlow.js';

async function artifactsOf(model) {
  let saved;
  await model.save(tf.io.withSaveHandler(async artifacts => {
    saved = artifacts;
    return {modelArtifactsInfo: {dateSaved: new Date(), modelTopologyType: 'JSON'}};
  }));
  model.dispose();
  return saved;
}

const denseArtifacts = () =>
    artifactsOf(tf.sequential({layers: [tf.layers.dense({units: 2, inputShape: [3]})]}));

function assertAllAt(list, site) {
  assert.ok(list.length > 0);
  for (const group of list) assert.equal(group.site, site, String(list));
}

test('a model that is loaded from memory is of the line that loads it', async () => {
  const handler = tf.io.fromMemory(await denseArtifacts());
  const before = mark();
  const model = await tf.loadLayersModel(handler); // @memory
  assertAllAt(leaks(before), at('memory'));
  await null;
  model.dispose();
  const next = mark();
  const made = await (async () => tf.scalar(1))(); // @next
  assertAllAt(leaks(next), at('next'));
  made.dispose();
});

test('a model that is loaded from a server is of the line that loads it', async () => {
  const {modelTopology, weightSpecs, weightData} = await denseArtifacts();
  const server = http.createServer((request, response) => {
    response.end(request.url.endsWith('.bin') ? Buffer.from(weightData) : JSON.stringify({
      modelTopology, weightsManifest: [{paths: ['w.bin'], weights: weightSpecs}],
    }));
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}/model.json`;
  const before = mark();
  let other;
  const [model] = await Promise.all([
    tf.loadLayersModel(url), // @server
    new Promise(resolve => setTimeout(resolve, 1)).then(() => { other = tf.scalar(1); }), // @meanwhile
  ]);
  server.close();
  const list = leaks(before);
  assert.equal(list.find(group => group.op === 'scalar').site, at('meanwhile'));
  assertAllAt(list.filter(group => group.op !== 'scalar'), at('server'));
  other.dispose();
  model.dispose();
});

test('a graph model is of the line that loads it, whatever it is loaded with', async () => {
  const weightSpecs = [{name: 'c', shape: [2], dtype: 'float32'}];
  const modelTopology = {
    node: [{name: 'c', op: 'Const', attr: {dtype: {type: 'DT_FLOAT'}, value: {tensor: {dtype: 'DT_FLOAT',
      tensorShape: {dim: [{size: 2}]}}}}}],
    versions: {producer: 1}, library: {},
  };
  const artifacts = {modelTopology, weightSpecs, weightData: new Float32Array([1, 2]).buffer};
  const before = mark();
  const model = await tf.loadGraphModel({load: async () => artifacts}); // @graph
  assertAllAt(leaks(before), at('graph'));
  model.dispose();
});

test('what nobody can know says why', async () => {
  const artifacts = await denseArtifacts();
  const before = mark();
  const model = await tf.loadLayersModel({load: async () => artifacts});
  const list = leaks(before);
  assert.ok(list.length > 0);
  for (const {site, what} of list) assert.match(`${site} ${what}`, /^\(unknown\) .*/);
  const [row] = list;
  assert.ok(row.what.includes(kWhy) || row.owner === 'variable', String(list));
  model.dispose();
  const where = await tf.whereAsync(tf.tensor1d([1, 0, 1], 'bool'));
  assert.match(story(where), new RegExp(`born +\\(unknown\\) .* ${kWhy}`));
});

test('explain(false) leaves what loads as it was', async () => {
  const artifacts = await denseArtifacts();
  const handler = tf.io.fromMemory(artifacts);
  explain(false);
  assert.equal('load' in Object.getPrototypeOf(handler), false);
  assert.equal((await tf.loadLayersModel(handler)).weights.length, 2);
  explain({summary: false});
});
