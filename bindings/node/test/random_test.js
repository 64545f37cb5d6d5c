// Random chains of kernels on our backend and on TensorFlow.js's cpu backend: the same values,
// shapes, dtypes and errors, with empty tensors, odd dtypes, gradients, tensors that move between
// the two, are disposed of or dropped.
//
//   node --expose-gc test/random_test.js [--chains=1000] [--seed=1]
//
// Then as many ways of making a tensor that lie (random/lies.js). A chain that fails is shortened and printed as a program; its seed alone runs it again
// (--chains=1). What differs on purpose is in random/deviations.js.
'use strict';

const tf = require('@tensorflow/tfjs');
const tenure = require('..');
const {Drawing, drawChain, generator, program, runChain, shrink} = require('./random/chain');
const {deviation} = require('./random/deviations');
const {lie} = require('./random/lies');

console.warn = () => {};

function option(name, otherwise) {
  const given = process.argv.find((argument) => argument.startsWith(`--${name}=`));
  return given === undefined ? otherwise : Number(given.slice(name.length + 3));
}

async function collect() {
  for (let i = 0; i < 4; ++i) {
    global.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function main() {
  const chains = option('chains', 1000);
  const first = option('seed', 1);
  const most = option('failures', 5);
  await tf.ready();
  await collect();
  const before = tenure.memory().tensors;
  const accepted = (step, difference) => deviation(step, difference) !== undefined;
  let failures = 0;
  let steps = 0;
  for (let seed = first; seed < first + chains && failures < most; ++seed) {
    const chain = drawChain(seed);
    steps += chain.length;
    const failure = runChain(chain, accepted);
    if (failure === null) continue;
    failures += 1;
    console.log(`${program(shrink(chain, failure, accepted), failure, seed)}\n`);
  }
  await tf.setBackend('tenure');
  for (let seed = first; seed < first + chains && failures < most; ++seed) {
    const wrong = tf.tidy(() => lie(new Drawing(generator(seed))));
    if (wrong === null) continue;
    failures += 1;
    console.log(`seed ${seed}: ${wrong}\n`);
  }
  await collect();
  const left = tenure.memory().tensors - before;
  console.log(`${chains} chains from seed ${first}, ${steps} steps: ${failures} failed`);
  if (left > 64) {
    console.log(`${left} tensors are left of them`);
    failures += 1;
  }
  process.exitCode = failures > 0 ? 1 : 0;
}

main();
