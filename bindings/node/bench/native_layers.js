'use strict';
// Recurrent layers as one call against a kernel per step, and against the cpu backend: processor time
// on one thread, the best of some rounds.
//
//   node native_layers.js

const tf = require('@tensorflow/tfjs');
const tenure = require('..');

const BATCH = 32, STEPS = 50, FEATURES = 32, UNITS = 64, ROUNDS = 7;

function bench(kind) {
  const layer = tf.layers[kind]({units: UNITS, returnSequences: true});
  const x = tf.randomNormal([BATCH, STEPS, FEATURES]);
  layer.apply(x).dispose();
  const variables = layer.trainableWeights.map(w => w.read());
  return {
    forward: () => layer.apply(x).dispose(),
    'forward and backward': () => {
      const {value, grads} = tf.variableGrads(() => layer.apply(x).sum(), variables);
      tf.dispose([value, grads]);
    },
  };
}

async function main() {
  tenure.setThreads(1);
  const ways = {
    cpu: ['cpu', true], 'tenure, step by step': ['tenure', false], 'tenure, whole': ['tenure', true],
  };
  console.log(`batch ${BATCH}, ${STEPS} steps, ${FEATURES} features, ${UNITS} units\n`);
  console.log(`| milliseconds | ${Object.keys(ways).join(' | ')} |\n| --- |${' ---: |'.repeat(3)}`);
  for (const kind of ['simpleRNN', 'gru', 'lstm']) {
    const best = {};
    for (const [way, [backend, whole]] of Object.entries(ways)) {
      await tf.setBackend(backend);
      tenure.nativeLayers(whole);
      for (const [what, run] of Object.entries(bench(kind))) {
        run();
        for (let i = 0; i < ROUNDS; ++i) {
          const start = process.cpuUsage();
          run();
          const {user, system} = process.cpuUsage(start);
          const time = (user + system) / 1e3;
          best[what] = best[what] || {};
          best[what][way] = Math.min(best[what][way] || Infinity, time);
        }
      }
    }
    for (const [what, times] of Object.entries(best)) {
      console.log(`| ${kind}, ${what} | ${Object.keys(ways).map(way => times[way].toFixed(2)).join(' | ')} |`);
    }
  }
}

main();
