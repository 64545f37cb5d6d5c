'use strict';
// What stories cost: the processor's time for the same work with and without explain(), each the best
// of many rounds in processes that take turns.
//
//   node explain_cost.js

const {spawnSync} = require('child_process');
const os = require('os');
const path = require('path');

const root = path.join(__dirname, '..');
const ROUNDS = 15, TURNS = 3;

function work(tf) {
  const x = tf.ones([4]);
  const model = tf.sequential();
  model.add(tf.layers.dense({units: 64, inputShape: [32], activation: 'relu'}));
  model.add(tf.layers.dense({units: 1}));
  model.compile({optimizer: 'adam', loss: 'meanSquaredError'});
  const inputs = tf.ones([512, 32]), targets = tf.ones([512, 1]);
  return {
    'tf.relu(x).dispose()': {
      times: 5000,
      run: () => { for (let i = 0; i < 5000; ++i) tf.relu(x).dispose(); },
    },
    'tidy of three ops': {
      times: 2000,
      run: () => { for (let i = 0; i < 2000; ++i) tf.tidy(() => x.mul(x).add(x).relu()).dispose(); },
    },
    'predict, 2 dense layers, 512 rows': {
      times: 20,
      run: () => { for (let i = 0; i < 20; ++i) model.predict(inputs).dispose(); },
    },
    'fit, a step of 32 rows': {
      times: 16,
      run: () => model.fit(inputs, targets, {batchSize: 32, verbose: 0, yieldEvery: 'never'}),
    },
  };
}

async function child() {
  const tf = require('@tensorflow/tfjs');
  const best = {};
  for (const [name, {times, run}] of Object.entries(work(tf))) {
    await run();
    for (let i = 0; i < ROUNDS; ++i) {
      const start = process.cpuUsage();
      await run();
      const {user, system} = process.cpuUsage(start);
      const each = (user + system) / times;
      best[name] = Math.min(best[name] || Infinity, each);
    }
  }
  process.stdout.write(JSON.stringify(best));
}

function measure({flags, environment}) {
  const {stdout} = spawnSync(process.execPath, [...flags, __filename, '--child'], {
    encoding: 'utf8', env: {...process.env, TENURE_SUMMARY: '0', ...environment},
  });
  return JSON.parse(stdout.slice(stdout.indexOf('{')));
}

function main() {
  const explain = ['-r', `${root}/explain.js`], tenure = ['-r', `${root}/index.js`];
  const ways = {
    'cpu': {flags: []},
    'cpu, explained': {flags: explain},
    'tenure': {flags: tenure},
    'tenure, explained': {flags: [...explain, ...tenure]},
    'tenure, recorded': {flags: [...explain, ...tenure], environment: {TENURE_TRACE: os.devNull}},
  };
  const best = {};
  for (let turn = 0; turn < TURNS; ++turn) {
    for (const [way, how] of Object.entries(ways)) {
      for (const [name, time] of Object.entries(measure(how))) {
        best[name] = best[name] || {};
        best[name][way] = Math.min(best[name][way] || Infinity, time);
      }
    }
  }
  console.log(`| microseconds | ${Object.keys(ways).join(' | ')} |\n| --- |${' ---: |'.repeat(5)}`);
  for (const [name, times] of Object.entries(best)) {
    console.log(`| ${name} | ${Object.keys(ways).map(way => times[way].toFixed(1)).join(' | ')} |`);
  }
}

if (process.argv.includes('--child')) child();
else main();
