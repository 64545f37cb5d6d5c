// Measures pretrained networks beside TensorFlow.js's WebAssembly, which has one thread in Node:
//
//   node bench/models.js [model...] [--json]
//
// The graphs are those inside the npm package @vladmandic/human. Each is called as a program would
// call it, one kernel at a time, on one image of noise until its results are read. Every setup runs
// in processes of its own, which take turns; each time is the least median of a turn. Ours must give the
// values of TensorFlow.js's cpu backend; where WebAssembly does not, that is said.
'use strict';

const {execFileSync} = require('child_process');
const fs = require('fs');
const path = require('path');

const TURNS = 3;
const TURN_MS = 700;
const LEAST_CALLS = 5;
const SIDE = 224; // of images where a graph leaves it open
const REFERENCE = {backend: 'cpu', threads: 1};
const SETUPS = {
  'wasm': {backend: 'wasm', threads: 1},
  'one thread': {backend: 'tenure', threads: 1},
  'two threads': {backend: 'tenure', threads: 2},
};

// The package does not export its files.
const folder = module.paths
  .map((modules) => path.join(modules, '@vladmandic/human/models'))
  .find((models) => fs.existsSync(models));
if (folder === undefined) throw new Error('@vladmandic/human is not installed: npm ci');
const all = fs
  .readdirSync(folder)
  .filter((file) => file.endsWith('.bin'))
  .map((file) => file.slice(0, -'.bin'.length));

function fromDisk(name) {
  const json = JSON.parse(fs.readFileSync(path.join(folder, `${name}.json`), 'utf8'));
  const [{paths, weights}] = json.weightsManifest;
  const bytes = Buffer.concat(paths.map((file) => fs.readFileSync(path.join(folder, file))));
  return {
    load: async () => ({
      ...json,
      weightSpecs: weights,
      weightData: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
    }),
  };
}

function noise(tf, {shape, dtype}) {
  const sizes = shape.map((size, axis) => (size > 0 ? size : axis === 0 ? 1 : SIDE));
  const values = tf.randomUniform(sizes, 0, 1, 'float32', 7);
  return dtype === 'int32' ? values.mul(255).toInt() : values;
}

const now = () => Number(process.hrtime.bigint()) / 1e6;
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

// In a process of its own: the median time of a call in ms, and what came out, for each model.
async function measureHere(backend, names) {
  const isReference = backend === REFERENCE.backend;
  const tf = require('@tensorflow/tfjs');
  require('@tensorflow/tfjs-backend-wasm');
  require('..');
  console.warn = () => {};
  await tf.setBackend(backend);
  const found = {};
  for (const name of names) {
    const model = await tf.loadGraphModel(fromDisk(name));
    const inputs = Object.fromEntries(
      model.inputs.map((input) => [input.name, tf.tidy(() => noise(tf, input))]),
    );
    // Where sizes depend on values, a graph can only be run asynchronously.
    const isDynamic = model.executor.graph.nodes
      ? Object.values(model.executor.graph.nodes).some(
          ({category, op}) =>
            category === 'control' || category === 'dynamic' || /^(Where|Switch|Loop)/.test(op),
        )
      : false;
    const call = async () => {
      const results = [isDynamic ? await model.executeAsync(inputs) : model.execute(inputs)].flat();
      const values = [];
      for (const result of results) values.push(await result.data());
      tf.dispose(results);
      return values;
    };
    const values = await call();
    const times = [];
    for (const begin = now(); !isReference; ) {
      if (now() - begin >= TURN_MS && times.length >= LEAST_CALLS) break;
      const start = now();
      await call();
      times.push(now() - start);
    }
    found[name] = {ms: median(times), sums: values.map((part) => part.reduce((a, b) => a + b, 0))};
    tf.dispose(inputs);
    model.dispose();
  }
  process.stdout.write(JSON.stringify(found));
}

function measure({backend, threads}, names) {
  const text = execFileSync(process.execPath, [__filename, `--here=${backend}`, ...names], {
    env: {...process.env, OMP_NUM_THREADS: String(threads)},
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(text);
}

const mean = (values) => Math.exp(values.reduce((a, b) => a + Math.log(b), 0) / values.length);

function main(names, json) {
  const best = Object.fromEntries(names.map((name) => [name, {}]));
  const reference = measure(REFERENCE, names);
  const wrong = new Set();
  for (let turn = 0; turn < TURNS; ++turn) {
    for (const [setup, how] of Object.entries(SETUPS)) {
      for (const [name, {ms, sums}] of Object.entries(measure(how, names))) {
        best[name][setup] = Math.min(best[name][setup] ?? Infinity, ms);
        const off = Math.max(
          ...sums.map((sum, i) => Math.abs(sum - reference[name].sums[i]) / (1 + Math.abs(sum))),
        );
        if (off < 1e-2) continue;
        if (how.backend !== 'wasm') {
          throw new Error(`${name}: ${setup} gives other values than cpu: off by ${off}`);
        }
        wrong.add(name);
      }
    }
  }
  const rows = names.map((name) => ({
    name,
    wasm_ms: best[name].wasm,
    one_ms: best[name]['one thread'],
    two_ms: best[name]['two threads'],
    one: best[name].wasm / best[name]['one thread'],
    two: best[name].wasm / best[name]['two threads'],
  }));
  if (json) {
    console.log(JSON.stringify(rows));
    return;
  }
  console.log('wasm has one thread; ours is given with one and with two, and how much faster it is');
  console.log('model                       wasm    one thread         two threads');
  const text = (ms) => `${ms.toFixed(ms < 10 ? 2 : 1)} ms`.padStart(10);
  for (const {name, wasm_ms, one_ms, two_ms, one, two} of rows) {
    const ratios = [one, two].map((ratio) => `${ratio.toFixed(2)}x`.padStart(7));
    console.log(
      `${name.padEnd(22)}${text(wasm_ms)}${text(one_ms)} ${ratios[0]}  ${text(two_ms)} ${ratios[1]}`,
    );
  }
  if (wrong.size > 0) console.log(`wasm gives other values than cpu: ${[...wrong].join(', ')}`);
  const [one, two] = ['one', 'two'].map((key) => rows.map((row) => row[key]));
  console.log(
    `geometric mean: ${mean(one).toFixed(2)}x with one thread, ${mean(two).toFixed(2)}x with two; ` +
      `least ${Math.min(...one).toFixed(2)}x and ${Math.min(...two).toFixed(2)}x`,
  );
}

const here = process.argv.find((argument) => argument.startsWith('--here='));
const asked = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const unknown = asked.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`no such model: ${unknown.join(', ')} (there are: ${all.join(', ')})`);
  process.exit(1);
}
const names = asked.length > 0 ? asked : all;
if (here !== undefined) measureHere(here.slice('--here='.length), names);
else main(names, process.argv.includes('--json'));
