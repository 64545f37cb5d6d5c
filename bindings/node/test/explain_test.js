'use strict';
// Stories: every way in which a tensor, a model or an optimizer is used after its end, told with the
// lines of this file. Runs on any backend: TENURE_TEST_BACKEND=tenure takes ours.

const assert = require('node:assert/strict');
const {spawnSync} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {test} = require('node:test');
const {setFlagsFromString} = require('node:v8');
const {runInNewContext} = require('node:vm');
const {DisposedError, explain, leaks, mark, story} = require('../lib/explain');
const lives = require('../../web/core/lives');

explain({summary: false});
const tf = require('@tensorflow/tfjs');
const onTenure = process.env.TENURE_TEST_BACKEND === 'tenure';
if (onTenure) require('..');

const lines = fs.readFileSync(__filename, 'utf8').split('\n');

// The place of the line with that tag.
function at(tag) {
  const found = lines.findIndex(line => line.endsWith(`// @${tag}`));
  assert.notEqual(found, -1, tag);
  return `${path.relative(process.cwd(), __filename)}:${found + 1}`;
}

// The rows of the story that f's error tells, by their labels, and the text.
function rowsOf(text) {
  const rows = {text};
  for (const line of text.split('\n')) {
    const [, label, place, rest] = line.match(/^  (born|kept|died|used|holders) +(\S+) *(.*)$/) || [];
    if (label) rows[label] = [place, ...rest.split(/ {2,}/)].filter(part => part !== '');
  }
  return rows;
}

function told(f) {
  try {
    f();
  } catch (error) {
    assert.ok(error instanceof DisposedError, error.stack);
    assert.equal(error.name, 'DisposedError');
    return rowsOf(error.message);
  }
  return assert.fail('nothing was told');
}

async function toldLater(promise) {
  try {
    await promise;
  } catch (error) {
    return told(() => { throw error; });
  }
  return assert.fail('nothing was told');
}

test('an op tells which input died in which tidy', () => {
  const x = tf.tensor1d([1, 2, 3]);
  let h;
  tf.tidy('step', () => { // @step
    h = tf.tanh(x); // @tanh
  });
  const rows = told(() => tf.add(x, h)); // @add
  assert.match(rows.text, /^add: input 1 was disposed: float32 \[3\] \(#\d+\)\n\n/);
  assert.deepEqual(rows.born, [at('tanh'), 'tanh', `in tidy "step" (opened ${at('step')})`]);
  assert.deepEqual(rows.died, [at('step'), 'scope_exit', 'tidy "step" ended']);
  assert.deepEqual(rows.used, [at('add'), 'add, input 1']);
  assert.match(rows.text, /return it from the tidy, or tf\.keep\(it\)/);
});

test('a tidy without a name is that of its function', () => {
  function forward() {
    let y;
    tf.tidy(() => { y = tf.scalar(2).square(); });
    return y;
  }
  const rows = told(() => forward().relu());
  assert.equal(rows.died[2], 'tidy of forward ended');
});

test('disposing says where', () => {
  const x = tf.ones([2, 2]); // @ones
  x.dispose(); // @dispose
  const rows = told(() => tf.matMul(x, x));
  assert.deepEqual(rows.born, [at('ones'), 'ones']);
  assert.deepEqual(rows.died, [at('dispose'), 'disposed']);
  assert.match(rows.text, /use it before it is disposed, or dispose it later/);
  const y = tf.zeros([1]);
  tf.dispose({a: [y]}); // @nested
  assert.deepEqual(told(() => y.neg()).died, [at('nested'), 'disposed']);
});

test('the second dispose changes nothing', () => {
  const x = tf.scalar(1);
  x.dispose(); // @first
  x.dispose();
  assert.equal(told(() => x.exp()).died[0], at('first'));
});

test('reads tell as ops do', async () => {
  const x = tf.tensor([1]);
  x.dispose();
  const rows = told(() => x.dataSync()); // @sync
  assert.deepEqual(rows.used, [at('sync'), 'dataSync']);
  for (const read of ['arraySync', 'print', 'toString', 'bufferSync', 'clone']) {
    assert.equal(told(() => x[read]()).used[1], read);
  }
  for (const read of ['data', 'array', 'buffer', 'bytes']) {
    assert.equal((await toldLater(x[read]())).used[1], read);
  }
  assert.equal(told(() => tf.print(x)).used[1], 'print');
});

test('ops of many inputs count them', () => {
  const a = tf.scalar(1), b = tf.scalar(2);
  b.dispose();
  assert.equal(told(() => tf.addN([a, b])).used[1], 'addN, input 1');
  assert.equal(told(() => tf.stack([a, a, b])).used[1], 'stack, input 2');
});

test('a view does not die with its source', () => {
  const x = tf.tensor2d([[1, 2], [3, 4]]);
  const view = x.reshape([4]);
  x.dispose();
  assert.deepEqual([...view.dataSync()], [1, 2, 3, 4]);
  assert.match(told(() => x.sum()).text, /its data lives on in 1 other tensor/);
  view.dispose();
});

test('a kept tensor says where it was kept', () => {
  const x = tf.tidy(() => tf.tidy(() => tf.keep(tf.scalar(3)))); // @keep
  assert.equal(x.dataSync()[0], 3);
  x.dispose();
  assert.deepEqual(told(() => x.abs()).kept, [at('keep'), 'keep']);
});

test('what an inner tidy returns dies with the outer one', () => {
  let inner;
  tf.tidy('outer', () => { // @outer
    inner = tf.tidy('inner', () => tf.scalar(2).square());
    inner.add(1);
  });
  const rows = told(() => inner.add(1));
  assert.match(rows.born[2], /tidy "inner"/);
  assert.deepEqual(rows.died, [at('outer'), 'scope_exit', 'tidy "outer" ended']);
});

test('an async tidy is told for what it is', async () => {
  const silent = console.error;
  console.error = () => {};
  let promise;
  try {
    promise = tf.tidy(() => (async () => {
      const x = tf.scalar(1);
      await null;
      return x.square();
    })());
  } finally {
    console.error = silent;
  }
  const rows = await toldLater(promise);
  assert.match(rows.text, /tidy cannot wait for a Promise/);
});

test('a tensor of a failed tidy says so too', () => {
  let x;
  assert.throws(() => tf.tidy('fails', () => {
    x = tf.scalar(1);
    throw new Error('no');
  }), /^Error: no$/);
  assert.equal(told(() => x.neg()).died[2], 'tidy "fails" ended');
});

test('a disposed variable has a name, and assigning is no death', () => {
  const v = tf.variable(tf.scalar(1), true, 'weight'); // @variable
  v.assign(tf.scalar(2));
  assert.equal(v.dataSync()[0], 2);
  v.dispose();
  const rows = told(() => v.square());
  assert.match(rows.text, /float32 \[\] "weight"/);
  assert.deepEqual(rows.born, [at('variable'), 'variable']);
  const value = tf.scalar(1);
  value.dispose();
  const w = tf.variable(tf.scalar(1));
  assert.equal(told(() => w.assign(value)).used[1], 'assign, input 0');
  w.dispose();
});

test('gradients: what is disposed inside does no harm, what is used after is told', () => {
  const x = tf.scalar(3);
  const f = v => {
    const y = v.square();
    const z = y.mul(v);
    y.dispose();
    return z;
  };
  assert.equal(tf.grad(f)(x).dataSync()[0], 27);
  let escaped;
  tf.grad(v => { // @grad
    escaped = v.exp(); // @exp
    return escaped.sum();
  })(x);
  const rows = told(() => escaped.neg());
  assert.equal(rows.born[0], at('exp'));
  assert.equal(rows.died[1], 'scope_exit');
  assert.equal(rows.died[2], 'gradient ended');
  const w = tf.variable(tf.scalar(2));
  w.dispose();
  assert.equal(told(() => tf.variableGrads(() => w.square(), [w])).used[1], 'square');
});

test('a custom gradient that uses what it disposed is told', () => {
  const op = tf.customGrad((x, save) => {
    const y = x.square();
    save([x]);
    const factor = tf.scalar(2); // @factor
    factor.dispose();
    return {value: y, gradFunc: dy => dy.mul(factor)}; // @gradFunc
  });
  const rows = told(() => tf.grad(x => op(x).sum())(tf.scalar(3)));
  assert.equal(rows.born[0], at('factor'));
  assert.equal(rows.used[0], at('gradFunc'));
});

test('what backward makes is the gradient of an op', () => {
  const x = tf.scalar(3);
  const dx = tf.grad(v => v.square())(x); // @square
  assert.match(story(dx), new RegExp(`born +${at('square')} +gradient of square`));
  dx.dispose();
});

test('a disposed optimizer is named', () => {
  const w = tf.variable(tf.scalar(1));
  const adam = tf.train.adam(0.1);
  adam.minimize(() => w.square());
  adam.dispose(); // @adam
  const rows = told(() => adam.minimize(() => w.square()));
  assert.deepEqual(rows.died, [at('adam'), 'owner_disposed', 'optimizer Adam disposed']);
  assert.match(rows.used[2], /optimizer "Adam"/);
  w.dispose();
});

function dense(name) {
  const model = tf.sequential({name});
  model.add(tf.layers.dense({units: 1, inputShape: [2], name: `${name}_dense`})); // @dense
  model.compile({optimizer: 'sgd', loss: 'meanSquaredError'});
  return model;
}

test('a birth inside of a layer names it', () => {
  const layer = tf.layers.dense({units: 2, name: 'named', activation: 'tanh'});
  const y = layer.apply(tf.ones([1, 3]));
  y.dispose();
  assert.match(told(() => y.relu()).born[2], /^in layer "named"/);
  const model = dense('outer');
  const nested = tf.sequential({layers: [model]});
  const kernel = model.layers[0].kernel.read();
  assert.match(story(kernel), /"outer_dense\/kernel"[^]*in layer "outer_dense"/);
  nested.dispose();
});

test('a layer of the user is looked into', () => {
  let inner;
  class Twice extends tf.layers.Layer {
    call(inputs) {
      inner = tf.mul(inputs[0], 2); // @mul
      return inner;
    }
    static get className() { return 'Twice'; }
  }
  const model = tf.sequential({layers: [new Twice({inputShape: [2], name: 'twice'})]});
  model.predict(tf.ones([1, 2]));
  const rows = told(() => inner.add(1));
  assert.equal(rows.born[0], at('mul'));
  assert.match(rows.born[2], /in layer "twice"/);
});

test('a disposed model says who disposed it', () => {
  const model = dense('gone');
  model.dispose(); // @model
  const x = tf.ones([1, 2]);
  const rows = told(() => model.predict(x)); // @predict
  assert.match(rows.text, /^predict: layer "gone_dense" of model "gone" was disposed\n/);
  assert.equal(rows.born[0], at('dense'));
  assert.deepEqual(rows.died, [at('model'), 'owner_disposed', 'model "gone" disposed']);
  assert.equal(rows.used[0], at('predict'));
  assert.match(told(() => model.dispose()).text, /^dispose: model "gone" was disposed\n/);
});

test('a disposed layer says where', () => {
  const layer = tf.layers.dense({units: 1, name: 'alone'});
  layer.apply(tf.ones([1, 2]));
  layer.dispose(); // @layer
  const rows = told(() => layer.apply(tf.ones([1, 2])));
  assert.match(rows.text, /^apply: layer "alone" was disposed/);
  assert.deepEqual(rows.died, [at('layer'), 'disposed']);
});

test('a model disposed while it is fitted', async () => {
  const model = dense('busy');
  const x = tf.ones([4, 2]), y = tf.ones([4, 1]);
  const training = model.fit(x, y, {epochs: 2, verbose: 0}); // @fit
  model.dispose(); // @during
  const rows = await toldLater(training);
  assert.deepEqual(
      rows.died, [at('during'), 'owner_disposed', `model "busy" disposed while fit ran (called ${at('fit')})`]);
  assert.match(rows.text, /await fit before disposing the model/);
});

test('inputs disposed while a model is fitted', async () => {
  const model = dense('reading');
  const x = tf.ones([4, 2]), y = tf.ones([4, 1]);
  const training = model.fit(x, y, {epochs: 2, verbose: 0}); // @reading
  x.dispose();
  const rows = await toldLater(training);
  assert.deepEqual(
      rows.used, [at('reading'), 'gather, input 0', `in fit of model "reading" (called ${at('reading')})`]);
  assert.match(rows.text, /await fit \(called .*\) before disposing it/);
});

test('a tensor that is born and disposed inside of a fit is told to be used before', async () => {
  const model = dense('own');
  const x = tf.ones([4, 2]), y = tf.ones([4, 1]);
  let rows;
  await model.fit(x, y, {verbose: 0, callbacks: {onEpochEnd: () => {
    const own = tf.scalar(1);
    own.dispose();
    rows = told(() => own.add(1));
  }}});
  assert.match(rows.text, /use it before it is disposed, or dispose it later/);
});

test('callbacks of a fit are the user\'s', async () => {
  const model = dense('callback');
  const x = tf.ones([4, 2]), y = tf.ones([4, 1]);
  let made;
  await model.fit(x, y, {verbose: 0, callbacks: {onEpochEnd: () => {
    made = tf.scalar(1); // @callback
  }}});
  assert.match(story(made), new RegExp(`born +${at('callback')}`));
});

// A converted model: y = x w.
function graphModel() {
  const type = {type: 'DT_FLOAT'};
  const dims = (...sizes) => ({dim: sizes.map(size => ({size: String(size)}))});
  const node = [
    {name: 'x', op: 'Placeholder', attr: {dtype: type, shape: {shape: dims(-1, 2)}}},
    {name: 'w', op: 'Const', attr: {dtype: type, value: {tensor: {dtype: 'DT_FLOAT', tensorShape: dims(2, 1)}}}},
    {name: 'y', op: 'MatMul', input: ['x', 'w'], attr: {T: type, transpose_a: {b: false}, transpose_b: {b: false}}},
  ];
  return tf.loadGraphModel(tf.io.fromMemory({
    modelTopology: {node, versions: {}},
    weightSpecs: [{name: 'w', shape: [2, 1], dtype: 'float32'}],
    weightData: new Float32Array([1, 2]).buffer,
  }));
}

test('a converted model: births are its predictions\', and its weights die with it', async () => {
  const model = await graphModel();
  const x = tf.ones([1, 2]);
  const y = model.predict(x); // @graph
  assert.equal(y.dataSync()[0], 3);
  assert.match(story(y), new RegExp(`born +${at('graph')} +matMul +in predict of model`));
  model.dispose(); // @converted
  const rows = told(() => model.predict(x));
  assert.deepEqual(rows.died, [at('converted'), 'owner_disposed', 'graph model disposed']);
});

test('scopes of the engine are tidies too', () => {
  const engine = tf.engine();
  engine.startScope('by hand'); // @byHand
  const x = tf.scalar(1);
  engine.endScope(); // @endByHand
  const rows = told(() => x.neg());
  assert.deepEqual(rows.died, [at('endByHand'), 'scope_exit', 'tidy "by hand" ended']);
});

test('a variable of a disposed tensor is refused with its story, and is none', () => {
  const x = tf.ones([2]);
  x.dispose(); // @gone
  const before = mark();
  const rows = told(() => tf.variable(x)); // @variableOf
  assert.deepEqual([rows.died[0], rows.used], [at('gone'), [at('variableOf'), 'variable, input 0']]);
  assert.deepEqual([...leaks(before)], []);
});

test('leaks are listed by the line that made them', () => {
  const since = mark();
  const held = [];
  for (let i = 0; i < 3; ++i) held.push(tf.ones([4])); // @leak
  tf.tidy(() => tf.ones([8]).square());
  held.push(tf.scalar(1));
  const list = leaks(since);
  assert.equal(list.tensors, 5);
  const group = list.find(g => g.site === at('leak'));
  assert.deepEqual([group.op, group.count, group.bytes], ['ones', 3, 48]);
  assert.match(list.toString(), new RegExp(`3 +48 bytes +${at('leak')} +ones`));
  tf.dispose(held);
  assert.equal(leaks(since).tensors, 1);
  assert.throws(() => leaks(7), /leaks: expected what mark\(\) gave, got: number/);
  assert.throws(() => leaks(null), /got: null$/);
});

test('an error holds no tensor', () => {
  const x = tf.scalar(1);
  x.dispose();
  try {
    x.neg();
  } catch (error) {
    for (const value of [error.story, error.site]) assert.ok(!(value instanceof tf.Tensor));
    for (const value of Object.values(error.story)) assert.ok(!(value instanceof tf.Tensor));
  }
});

test('what reads only the shape of a disposed tensor still works', () => {
  const x = tf.ones([2, 3]);
  x.dispose();
  assert.deepEqual(tf.zerosLike(x).shape, [2, 3]);
  assert.equal(tf.onesLike(x).sum().dataSync()[0], 6);
});

test('data that a tensor from before explain() holds is not told as freed', () => {
  explain(false);
  const x = tf.tensor1d([1, 2]);
  explain({summary: false});
  const y = x.clone();
  y.dispose();
  assert.match(told(() => y.neg()).text, /its data lives on, held by what was there before/);
  assert.equal(x.dataSync()[1], 2);
  x.dispose();
  assert.match(told(() => y.neg()).text, /its data was freed/);
});

test('who holds the data is told with those from before explain()', () => {
  const variable = tf.variable(tf.scalar(1));
  explain(false);
  const x = tf.tensor1d([1, 2]);
  explain({summary: false});
  const y = x.clone(), z = x.clone();
  y.dispose();
  const holders = () => told(() => y.neg()).holders.join(' ');
  assert.equal(holders(), 'its data lives on in 1 other tensor, and in what was there before explain()');
  x.dispose();
  assert.equal(holders(), 'its data lives on in 1 other tensor');
  z.dispose();
  assert.equal(holders(), 'its data was freed');
  const value = tf.scalar(3), copy = value.clone();
  variable.assign(value);
  value.dispose();
  assert.match(told(() => value.neg()).text, /in 1 other tensor, and in what was there before/);
  variable.assign(tf.scalar(4));
  assert.match(told(() => value.neg()).text, /in 1 other tensor$/m);
  copy.dispose();
  assert.match(told(() => value.neg()).text, /its data was freed/);
  variable.dispose();
});

// What a list of leaks has of tensors whose line is not known, and how many of others.
function unseen(list) {
  const [group] = list.filter(g => g.site === '(unknown)' && g.owner === '');
  return group === undefined ? {count: 0, bytes: 0, what: ''} : group;
}

function numSeen(list) {
  const seen = list.filter(g => g.site !== '(unknown)' && g.owner !== 'variable');
  return seen.reduce((sum, g) => sum + g.count, 0);
}

test('what explain(false) forgot is counted, without its line', () => {
  const since = mark();
  const x = tf.ones([100]), y = tf.ones([200]); // @forgotten
  explain(false);
  x.dispose();
  const late = tf.ones([300]);
  const {numTensors, numBytes} = tf.memory();
  explain({summary: false});
  const variables = leaks().filter(g => g.owner === 'variable');
  const sum = key => variables.reduce((total, g) => total + g[key], 0);
  for (const list of [leaks(), leaks(since)]) {
    assert.equal(list.tensors, numTensors);
    assert.equal(unseen(list).count, numTensors - sum('count'));
    assert.equal(unseen(list).bytes, numBytes - sum('bytes'));
    assert.match(list.toString(), /\(unknown\) +born while explain\(\) was off, or forgotten when/);
  }
  assert.equal(leaks(mark()).tensors, 0);
  const z = y.clone();
  y.dispose();
  late.dispose();
  assert.equal(unseen(leaks()).count, numTensors - sum('count') - 2);
  assert.equal(numSeen(leaks()), 1);
  z.dispose();
});

test('a variable from before explain(false) is listed with its line', () => {
  const v = tf.variable(tf.scalar(1), true, 'forgotten_variable'); // @variable_before
  explain(false);
  const w = tf.variable(tf.scalar(2), true, 'unseen_variable');
  explain({summary: false});
  const of = name => leaks().find(g => g.what === `variable "${name}"`);
  assert.equal(of('forgotten_variable').site, at('variable_before'));
  assert.equal(of('unseen_variable').site, '(unknown)');
  assert.deepEqual(of('unseen_variable').ids, [w.id]);
  tf.dispose([v, w]);
});

test('a life that explain(false) cut is told as far as it was seen', () => {
  const x = tf.scalar(1), y = tf.scalar(2); // @cut
  explain(false);
  const z = tf.scalar(3);
  x.dispose();
  explain({summary: false});
  y.dispose(); // @cut_seen
  const rows = told(() => x.neg());
  assert.deepEqual(rows.born, [at('cut'), 'scalar']);
  assert.deepEqual(rows.died, ['(unknown)', 'disposed', 'while explain() was off']);
  assert.match(rows.text, /to see where that is, leave explain\(\) on\.\n$/);
  assert.match(story(x), /died +\(unknown\) +disposed +while explain\(\) was off/);
  assert.deepEqual(told(() => y.neg()).died, [at('cut_seen'), 'disposed']);
  assert.match(story(z), /born +\(unknown\) +while explain\(\) was off\n$/);
  z.dispose(); // @unseen_end
  assert.deepEqual(told(() => z.neg()).died, [at('unseen_end'), 'disposed']);
});

function runProgram(text) {
  const {stdout, stderr, status} = spawnSync(process.execPath, ['-e', text], {
    cwd: path.dirname(__dirname), encoding: 'utf8', env: {...process.env, TENURE_SUMMARY: ''},
  });
  assert.equal(status, 0, stderr);
  return {stdout, stderr};
}

test('the summary counts what was there before explain(), and can be switched off later', () => {
  const head = `const tf = require('@tensorflow/tfjs'); const {explain} = require('./lib/explain');`;
  const before = runProgram(`${head} tf.ones([10]); explain();`);
  assert.match(before.stderr, /1 tensor \(40 bytes\) alive at exit[^]*born before explain\(\) was called/);
  const again = runProgram(`${head} explain(); tf.ones([10]); explain(false); explain();`);
  assert.match(again.stderr, /1 tensor \(40 bytes\) alive at exit[^]*\(unknown\) +born while explain/);
  const none = runProgram(`${head} explain(); tf.ones([10]); explain({summary: false});`);
  assert.doesNotMatch(none.stderr, /alive at exit/);
});

const kExplain = path.join(__dirname, '..', 'lib', 'explain');

const kLib = [
  'import * as tf from \'@tensorflow/tfjs\';',
  '',
  'interface Made { dead: tf.Tensor }',
  '',
  'export function make(count: number): Made {',
  '  const dead = tf.tidy(() => {',
  '    const inner: tf.Tensor = tf.ones([count]);',
  '    return inner.square();',
  '  });',
  '  dead.dispose();',
  '  return {dead};',
  '}',
  'export const pair = (n: number) => [tf.zeros([n]), tf.zeros([n])];',
].join('\n');

const kMain = [
  'import * as tf from \'@tensorflow/tfjs\';',
  'import {make, pair} from \'./lib\';',
  'declare const require: (name: string) => any;',
  `const {explain, leaks, mark} = require(${JSON.stringify(kExplain)});`,
  'explain(tf, {summary: false});',
  'const before = mark();',
  'const kept: tf.Tensor[] = pair(2);',
  'console.log(String(leaks(before)));',
  'try { make(3).dead.relu(); } catch (error) { console.log((error as Error).message); }',
  'void kept;',
].join('\n');

// What a program of two files of TypeScript prints, run by `command` in its folder.
function typescriptProgram(prepare) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenure-maps-'));
  try {
    fs.mkdirSync(path.join(folder, 'src'));
    fs.writeFileSync(path.join(folder, 'src', 'lib.ts'), kLib);
    fs.writeFileSync(path.join(folder, 'src', 'main.ts'), kMain);
    const {stdout, stderr} = spawnSync(process.execPath, prepare(folder), {
      cwd: folder, encoding: 'utf8',
      env: {...process.env, NODE_PATH: path.join(__dirname, '..', 'node_modules'), TENURE_SUMMARY: '0'},
    });
    assert.match(stdout, /relu/, stderr);
    return stdout;
  } finally {
    fs.rmSync(folder, {recursive: true});
  }
}

function assertMapped(text) {
  const rows = rowsOf(text);
  assert.deepEqual(rows.born, ['src/lib.ts:8', 'square', 'in tidy (opened src/lib.ts:6)'], text);
  assert.deepEqual(rows.died, ['src/lib.ts:10', 'disposed']);
  assert.deepEqual(rows.used, ['src/main.ts:9', 'relu']);
  assert.match(text, / src\/lib\.ts:13:40 +zeros\n.* src\/lib\.ts:13:55 +zeros\n/, 'columns tell two calls of a line apart');
}

test('stories follow the source maps of bundles', () => {
  const {buildSync} = require('esbuild');
  for (const flags of [[], ['--enable-source-maps']]) {
    for (const external of [[kExplain], [kExplain, '@tensorflow/*']]) {
      for (const sourcemap of ['linked', 'inline']) {
        assertMapped(typescriptProgram(folder => {
          buildSync({
            absWorkingDir: folder, entryPoints: ['src/main.ts'], outfile: 'out/main.js', bundle: true,
            minify: true, platform: 'node', external, sourcemap, logLevel: 'error',
            nodePaths: [path.join(__dirname, '..', 'node_modules')],
          });
          return [...flags, path.join(folder, 'out', 'main.js')];
        }));
      }
    }
  }
});

test('stories follow the maps that a loader puts into what it compiles', () => {
  const loader = `
    const fs = require('fs');
    const {transformSync} = require(${JSON.stringify(require.resolve('esbuild'))});
    require.extensions['.ts'] = (module, file) => {
      const {code} = transformSync(fs.readFileSync(file, 'utf8'), {
        loader: 'ts', format: 'cjs', sourcemap: 'inline', sourcefile: file, minify: true,
      });
      module._compile(code, file);
    };`;
  assertMapped(typescriptProgram(folder => {
    const file = path.join(folder, 'loader.js');
    fs.writeFileSync(file, loader);
    return ['-r', path.join(__dirname, '..', 'explain.js'), '-r', file, path.join(folder, 'src', 'main.ts')];
  }));
});

test('string tensors have the bytes of their texts', () => {
  const before = mark(), {numBytes} = tf.memory();
  const x = tf.tensor(['hello', 'w\u00f6rld']);
  assert.equal(leaks(before).bytes, 11);
  assert.equal(tf.memory().numBytes - numBytes, 11);
  x.dispose();
  assert.equal(leaks(before).bytes, 0);
});

test('a tensor that was dead before a fit began is not told to wait for it', async () => {
  const model = () => {
    const made = tf.sequential({layers: [tf.layers.dense({units: 1, inputShape: [2]})]});
    made.compile({optimizer: 'sgd', loss: 'meanSquaredError'});
    return made;
  };
  const x = tf.ones([3, 2]), y = tf.ones([3, 1]);
  y.dispose();
  const dataset = () => tf.data.array([{xs: tf.ones([2]), ys: y}]).batch(1);
  for (const call of [
    () => model().trainOnBatch(x, y), () => model().fit(x, y, {verbose: 0}),
    () => model().fitDataset(dataset(), {epochs: 1, verbose: 0}),
    () => model().evaluateDataset(dataset(), {}),
  ]) {
    const {text} = await toldLater(call());
    assert.match(text, /use it before it is disposed, or dispose it later\.\n$/);
  }
});

function thrown(f) {
  try {
    f();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
}

test('an error of a kernel has the line, in its message and in its stack', {skip: !onTenure}, () => {
  const x = tf.ones([2, 3]);
  const error = thrown(() => tf.matMul(x, x)); // @kernel
  assert.equal(error.code, 'ShapeError');
  assert.match(error.message, /^matmul: inner dimensions differ: \[2, 3\] x \[2, 3\]\n\n  used/);
  assert.deepEqual(rowsOf(error.message).used, [at('kernel'), 'matMul']);
  assert.equal(String(error.site), at('kernel'));
  const [first] = error.stack.split('\n').filter(line => line.startsWith('    at '));
  assert.ok(first.includes(at('kernel')), error.stack);
  const made = thrown(() => tf.tensor([[1, 2], [3]])); // @ragged
  assert.deepEqual(rowsOf(made.message).used, [at('ragged'), 'tensor']);
  const inLayer = thrown(() => tf.layers.dense({units: 2}).apply(tf.zeros([2 ** 31, 0]))); // @layer_kernel
  assert.equal(rowsOf(inLayer.message).used[0], at('layer_kernel'));
  x.dispose();
});

test('memory that ran out is told with the lines that hold it', {skip: !onTenure}, () => {
  const a = tf.ones([3000000, 1]); // @tall
  const b = tf.ones([1, 3000000]); // @wide
  const {code, message} = thrown(() => a.add(b)); // @too_much
  assert.equal(code, 'OutOfMemoryError');
  assert.match(message, /^allocate: 32\.74 TiB requested/);
  assert.deepEqual(rowsOf(message).used, [at('too_much'), 'add']);
  const row = (x, tag) => `11.44 MiB  float32 [${x.shape.join(', ')}] (#${x.id}), born ${at(tag)} ones\n`;
  assert.ok(message.includes(row(a, 'tall')) && message.includes(row(b, 'wide')), message);
  assert.doesNotMatch(message, /\.cpp|explain\(\) tells/);
  explain(false);
  const {message: plain} = thrown(() => a.add(b));
  assert.match(plain, /the largest live tensors:\n +11\.44 MiB {2}float32 \[3000000, 1\]\n/);
  assert.match(plain, /dispose what is no longer needed[^]*\n  explain\(\) tells the lines[^\n]*$/);
  assert.doesNotMatch(plain, /\.cpp|\(#|used/);
  explain({summary: false});
  tf.dispose([a, b]);
});

test('what walks a dataset says who asked', async () => {
  const x = tf.ones([4, 2]);
  const dataset = tf.data.array([x, x]).map(t => t.add(1));
  const late = dataset.forEachAsync(() => x.dispose()); // @for_each
  const rows = await toldLater(late);
  assert.deepEqual(rows.used, [at('for_each'), 'read', `in forEachAsync of dataset (called ${at('for_each')})`]);
  assert.match(rows.text, /await forEachAsync \(called/);
  const again = await toldLater(dataset.toArray()); // @to_array
  assert.equal(again.used[0], at('to_array'));
  assert.match(again.text, /use it before it is disposed/);
});

test('what a tidy that was open before explain() ends died of that', () => {
  for (const [open, name] of [
    [f => tf.tidy('step', f), /tidy "step" from before explain\(\) ended/],
    [f => tf.tidy(f), /a tidy from before explain\(\) ended/],
  ]) {
    explain(false);
    let x;
    open(() => {
      explain({summary: false});
      x = tf.scalar(2);
    });
    const {text} = told(() => tf.neg(x));
    assert.match(text, /died +\(unknown\) +scope_exit/);
    assert.match(text, name);
  }
});

test('a tidy that opens no scope says nothing of the next one', () => {
  assert.throws(() => tf.tidy('without a function'));
  tf.engine().startScope('other'); // @other
  const x = tf.scalar(1);
  tf.engine().endScope();
  assert.ok(told(() => tf.neg(x)).text.includes(`tidy "other" (opened ${at('other')})`));
});

test('a tensor that is dropped and collected is counted, and leaves no record', async () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  const kept = tf.scalar(7);
  const before = mark();
  const count = 5000;
  const make = () => {
    for (let i = 0; i < count; i++) tf.scalar(i);
  };
  make();
  const middle = mark();
  make();
  const records = lives.alive.size;
  for (let i = 0; i < 100 && lives.alive.size > records - 2 * count + 128; i++) {
    gc();
    await new Promise(resolve => setImmediate(resolve));
  }
  assert.ok(lives.alive.size <= records - 2 * count + 128, `${lives.alive.size} of ${records} are left`);
  const sum = list => list.filter(group => group.op === 'scalar').reduce((n, group) => n + group.count, 0);
  assert.equal(sum(leaks(before)), 2 * count);
  assert.equal(sum(leaks(middle)), count);
  assert.equal(leaks(before)[0].bytes, 4 * 2 * count);
  assert.match(story(kept), /born/);
  kept.dispose();
  explain(false);
  explain({summary: false});
  assert.equal(numSeen(leaks()), 0);
});

test('explain(false) leaves TensorFlow.js as it was', () => {
  explain(false);
  const x = tf.scalar(1);
  x.dispose();
  assert.throws(() => x.neg(), /^Error: Tensor is disposed\.$/);
  assert.throws(() => tf.neg(x), error => !(error instanceof DisposedError));
  explain({summary: false});
  assert.ok(told(() => x.neg()).text.includes('while explain() was off'));
  assert.throws(() => story(3), /story: expected a tensor, got: number/);
  for (const wrong of [5, 'cpu', true, null]) {
    assert.throws(() => explain(wrong), /^TypeError: explain: expected options, TensorFlow\.js or false, got: /);
  }
  assert.throws(() => explain({sumary: false}), /^TypeError: explain: no such option: sumary; there is: summary$/);
});
