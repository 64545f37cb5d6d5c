// Measures our backend beside TensorFlow.js's own, in one process and in turns:
//
//   node bench/run.js [row...] [--json] [--list]
//
// --list gives the rows and their targets. Times are the least of all turns. `op cost` is what a
// call costs beyond TensorFlow.js's own bookkeeping, which is measured with a backend that computes
// nothing; it comes before the others have run, as in a program that uses one backend.
'use strict';

const tf = require('@tensorflow/tfjs');
require('@tensorflow/tfjs-backend-wasm');
require('..');
require('./noop');
const rows = require('./rows');

const TURNS = 11;
const TURN_MS = 60;
// Rows that take long are measured with fewer iterations, and the cpu backend, which is no target,
// with fewer turns.
const LONG_MS = 400;

const json = process.argv.includes('--json');
const asked = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));

const now = () => Number(process.hrtime.bigint()) / 1e6;

async function times(work, count) {
  const start = now();
  for (let i = 0; i < count; ++i) {
    const result = work();
    if (result instanceof Promise) await result;
  }
  return (now() - start) / count;
}

class Measured {
  constructor(backend, make) {
    this.backend = backend;
    this.make = make;
    this.best = Infinity;
  }
  async start() {
    await tf.setBackend(this.backend);
    this.work = this.make();
    // As often as fills a turn, found by trying: the first times are slower than the rest.
    this.count = 1;
    for (;;) {
      const each = await times(this.work, this.count);
      this.best = Math.min(this.best, each);
      if (each * this.count >= TURN_MS) break;
      this.count = Math.ceil(Math.min(this.count * 10, (1.2 * TURN_MS) / each));
    }
    this.long = this.best > LONG_MS;
  }
  async turn(index) {
    if (this.long && index > 1) return;
    await tf.setBackend(this.backend);
    this.best = Math.min(this.best, await times(this.work, this.count));
  }
}

function text(ms) {
  if (ms === undefined) return '-';
  if (ms < 1e-3) return `${(ms * 1e6).toFixed(0)} ns`;
  if (ms < 1) return `${(ms * 1e3).toFixed(ms < 0.01 ? 2 : 1)} us`;
  return `${ms.toFixed(ms < 10 ? 2 : 1)} ms`;
}

async function measure(name, backends) {
  const all = [];
  for (const backend of backends) {
    const measured = new Measured(backend, rows[name].make);
    await measured.start();
    all.push(measured);
  }
  for (let i = 0; i < TURNS; ++i) {
    for (const measured of all) await measured.turn(i);
  }
  tf.engine().reset();
  return Object.fromEntries(all.map(({backend, best}) => [backend, best]));
}

async function main() {
  // TensorFlow.js's advice to install another backend is not news here.
  console.warn = () => {};
  if (process.argv.includes('--list')) {
    console.log(
      JSON.stringify(
        Object.entries(rows).map(([name, {ratio, opCostNs}]) => ({
          name,
          target: ratio,
          op_cost_ns: opCostNs,
        })),
      ),
    );
    return;
  }
  const names = asked.length > 0 ? asked : Object.keys(rows);
  const unknown = names.filter((name) => rows[name] === undefined);
  if (unknown.length > 0) {
    console.error(
      `no such row: ${unknown.join(', ')} (there are: ${Object.keys(rows).join(', ')})`,
    );
    process.exit(1);
  }
  if (!json)
    console.log('row                       tenure       wasm        cpu   wasm/ours   target');
  const results = [];
  for (const name of names) {
    const {opCostNs} = rows[name];
    const alone = opCostNs ? await measure(name, ['tenure', 'noop']) : undefined;
    const best = await measure(name, ['tenure', 'wasm', 'cpu']);
    const ratio = best.wasm / best.tenure;
    const result = {
      name,
      tenure_us: best.tenure * 1e3,
      wasm_us: best.wasm * 1e3,
      cpu_us: best.cpu * 1e3,
      ratio,
      target: rows[name].ratio,
    };
    if (alone !== undefined) result.op_cost_ns = (alone.tenure - alone.noop) * 1e6;
    results.push(result);
    if (!json) {
      const cost =
        alone === undefined
          ? ''
          : `  (op cost ${result.op_cost_ns.toFixed(0)} ns, <= ${opCostNs})`;
      console.log(
        `${name.padEnd(24)}${text(best.tenure).padStart(9)}  ${text(best.wasm).padStart(9)}  ` +
          `${text(best.cpu).padStart(9)}   ${ratio.toFixed(1).padStart(9)}   ` +
          `>= ${rows[name].ratio}${cost}`,
      );
    }
  }
  if (json) console.log(JSON.stringify(results));
}

main();
