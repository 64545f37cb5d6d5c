// node --expose-gc watch_cost.js: what watch() costs an op of the WebAssembly backend.

import {createRequire} from 'node:module';

const require = createRequire(import.meta.url);
const tf = require('@tensorflow/tfjs');
require('@tensorflow/tfjs-backend-wasm');
const {held, walk, watch} = require('../../held');

await tf.setBackend('wasm');
await tf.ready();
const x = tf.ones([4]);
const round = async n => {
  const start = process.cpuUsage();
  for (let i = 0; i < n; i++) {
    tf.relu(x).dispose();
    if (i % 100 === 0) await null;
  }
  const {user, system} = process.cpuUsage(start);
  return (user + system) / n;
};
const best = {off: Infinity, on: Infinity};
for (let i = 0; i < 20; i++) {
  best.off = Math.min(best.off, await round(20000));
  const stop = watch(tf);
  best.on = Math.min(best.on, await round(20000));
  stop();
}
console.log(`relu and dispose: ${best.off.toFixed(2)} us, watched ${best.on.toFixed(2)} us`);
const many = Array.from({length: 5000}, () => tf.ones([4]));
for (const [name, f] of Object.entries({held: () => held(tf), walk: () => walk(tf, many)})) {
  let least = Infinity;
  for (let i = 0; i < 20; i++) {
    const start = performance.now();
    f();
    least = Math.min(least, performance.now() - start);
  }
  console.log(`${name} with 5000 tensors: ${least.toFixed(2)} ms`);
}
