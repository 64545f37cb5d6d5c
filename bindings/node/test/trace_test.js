'use strict';
// Recordings made by JavaScript programs, read by the reader of C++ ones: TENURE_READ_RUN is a
// program that prints a recording as JSON, by default the one of the checkout's build.

const assert = require('node:assert/strict');
const {spawnSync} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {test} = require('node:test');

const root = path.join(__dirname, '..');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenure-'));
const reader = process.env.TENURE_READ_RUN ||
    path.join(root, '..', '..', 'build', 'release', 'bindings', 'node', 'tenure_node_read_run');
process.on('exit', () => fs.rmSync(folder, {recursive: true}));

// Runs a program's text; `flags` are node's.
function run(text, flags, environment = {}) {
  const file = path.join(folder, 'program.js');
  fs.writeFileSync(file, `const tf = require('${root}/node_modules/@tensorflow/tfjs');\n${text}`);
  const result = spawnSync(process.execPath, [...flags, file], {
    cwd: root, encoding: 'utf8', env: {...process.env, ...environment},
  });
  assert.equal(result.status, 0, result.stderr);
  return result;
}

function read(file) {
  const {status, stdout, stderr} = spawnSync(
      reader, [file], {encoding: 'utf8', maxBuffer: 1 << 28});
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

// The recording of a program that runs under explain.
function recorded(text, backend = []) {
  const file = path.join(folder, 'run.tenure');
  const flags = ['-r', `${root}/explain.js`, ...backend];
  run(text, flags, {TENURE_TRACE: file, TENURE_SUMMARY: '0'});
  return read(file);
}

const backends = {cpu: [], tenure: ['-r', `${root}/index.js`]};

for (const [name, flags] of Object.entries(backends)) {
  test(`births, deaths, scopes and sites are recorded: ${name}`, () => {
    const {cutShort, program, spans, storages, tensors} = recorded(`
      const x = tf.tensor1d([1, 2, 3]);
      let h;
      tf.tidy('step', () => { h = x.square(); });
      const v = x.reshape([3, 1]);
      x.dispose();
    `, flags);
    assert.equal(cutShort, false);
    assert.match(program, /^node .*program\.js$/);
    const [x, h, v] = tensors;
    assert.equal(tensors.length, 3);
    assert.deepEqual([x.op, x.dtype, x.shape, x.nbytes, x.cause], ['tensor1d', 'float32', '[3]', 12, 'disposed']);
    assert.deepEqual([path.basename(x.site.file), x.site.line, x.deathSite.line], ['program.js', 3, 7]);
    assert.deepEqual([h.op, h.cause, h.deathBy, h.deathSite.line], ['square', 'scope_exit', 'tidy "step" ended', 5]);
    const scope = spans[h.scope];
    assert.deepEqual([scope.kind, scope.name, scope.site.line, scope.ended], ['tidy', 'step', 5, true]);
    assert.deepEqual([v.alive, v.isView, v.storage], [true, true, x.storage]);
    assert.deepEqual(storages.map(s => s.freed), [false, true]);
  });

  test(`a fit is recorded with its epochs, steps and losses: ${name}`, () => {
    const {ops, spans, storages, tensors, values} = recorded(`
      const model = tf.sequential({name: 'm'});
      model.add(tf.layers.dense({units: 1, inputShape: [2], name: 'd'}));
      model.compile({optimizer: 'adam', loss: 'meanSquaredError'});
      const x = tf.ones([4, 2]), y = tf.ones([4, 1]);
      model.fit(x, y, {epochs: 2, batchSize: 2, verbose: 0}).then(() => {
        model.predict(x).dispose();
      });
    `, flags);
    const fit = spans.findIndex(span => span.kind === 'fit');
    assert.deepEqual([spans[fit].name, spans[fit].site.line, spans[fit].ended], ['m', 7, true]);
    const epochs = spans.flatMap((span, i) => span.kind === 'epoch' ? [i] : []);
    assert.deepEqual(epochs.map(i => [spans[i].name, spans[i].parent]), [['1', fit], ['2', fit]]);
    const steps = spans.filter(span => span.kind === 'step');
    assert.deepEqual(steps.map(span => span.parent), [epochs[0], epochs[0], epochs[1], epochs[1]]);
    assert.ok(spans.some(span => span.kind === 'predict' && span.parent === null));
    assert.ok(spans.every(span => span.ended));
    assert.deepEqual(values.filter(v => v.name === 'step_loss').map(v => v.step), [1, 2, 3, 4]);
    assert.deepEqual(values.filter(v => v.name === 'loss').map(v => v.step), [2, 4]);
    assert.ok(values.every(v => Number.isFinite(v.value)));
    const kernel = tensors.find(t => t.name === 'd/kernel');
    assert.deepEqual([kernel.op, kernel.shape], ['variable', '[2, 1]']);
    assert.ok(storages[kernel.storage].categories.includes(0), 'a parameter');
    assert.ok(tensors.some(t => t.owner === 'tape'));
    assert.ok(tensors.some(t => t.op.startsWith('gradient of ')));
    assert.ok(ops.some(op => /matMul/i.test(op.op) && op.bytes > 0));
  });

  test(`errors are recorded: ${name}`, () => {
    const {raised} = recorded(`
      const x = tf.scalar(1), y = tf.scalar(2);
      y.dispose();
      try { tf.add(x, y); } catch (error) {}
    `, flags);
    assert.equal(raised.length, 1);
    assert.match(raised[0].text, /^DisposedError: add: input 1 was disposed/);
    assert.deepEqual([raised[0].site.line, raised[0].tensor], [5, 1]);
  });
}

test('fits that go on at once are told apart', () => {
  const {spans} = recorded(`
    function train(name) {
      const model = tf.sequential({name});
      model.add(tf.layers.dense({units: 1, inputShape: [2]}));
      model.compile({optimizer: 'sgd', loss: 'meanSquaredError'});
      return model.fit(tf.ones([4, 2]), tf.ones([4, 1]), {epochs: 2, batchSize: 2, verbose: 0});
    }
    Promise.all([train('a'), train('b')]);
  `);
  const fits = spans.flatMap((span, i) => span.kind === 'fit' ? [i] : []);
  assert.deepEqual(fits.map(i => spans[i].parent), [null, null]);
  const counts = fits.map(fit => spans.filter(span => span.kind === 'epoch' && span.parent === fit).length);
  assert.deepEqual(counts, [2, 2]);
});

test('a fit that fails closes what it opened', () => {
  const {spans} = recorded(`
    const model = tf.sequential({name: 'm'});
    model.add(tf.layers.dense({units: 1, inputShape: [2]}));
    model.compile({optimizer: 'sgd', loss: 'meanSquaredError'});
    const x = tf.ones([4, 2]);
    const running = model.fit(x, tf.ones([4, 1]), {epochs: 2, batchSize: 2, verbose: 0});
    x.dispose();
    running.catch(() => tf.tidy('after', () => {}));
  `);
  assert.ok(spans.every(span => span.ended));
  assert.equal(spans.find(span => span.name === 'after').parent, null);
});

test('callbacks of the user still run, of every form', () => {
  for (const callbacks of ['{onEpochEnd: () => count++}', '[{onEpochEnd: () => count++}]',
    'new tf.CustomCallback({onEpochEnd: () => count++})', '[new tf.CustomCallback({onEpochEnd: () => count++})]']) {
    const file = path.join(folder, 'run.tenure');
    const {stdout} = run(`
      let count = 0;
      const model = tf.sequential();
      model.add(tf.layers.dense({units: 1, inputShape: [2]}));
      model.compile({optimizer: 'sgd', loss: 'meanSquaredError'});
      model.fit(tf.ones([4, 2]), tf.ones([4, 1]), {epochs: 3, verbose: 0, callbacks: ${callbacks}})
          .then(() => console.log('count', count));
    `, ['-r', `${root}/explain.js`], {TENURE_TRACE: file, TENURE_SUMMARY: '0'});
    assert.match(stdout, /count 3/);
  }
});

test('record() begins and ends in the middle', () => {
  const file = path.join(folder, 'middle.tenure');
  run(`
    const {explain, record} = require('${root}/lib/explain');
    explain({summary: false});
    const before = tf.ones([5]);
    const recording = record('${file}');
    const inside = tf.zeros([6]);
    before.dispose();
    recording.close();
    tf.ones([7]);
    try { record(''); } catch (error) { if (!/expected the path/.test(error.message)) throw error; }
  `, []);
  const {tensors} = read(file);
  assert.deepEqual(tensors.map(t => [t.shape, t.before, t.alive]), [['[5]', true, false], ['[6]', false, true]]);
});

const model = `
  function dense(name) {
    const model = tf.sequential({name});
    model.add(tf.layers.dense({units: 1, inputShape: [2], name: name + '_dense'}));
    model.compile({optimizer: 'sgd', loss: 'meanSquaredError'});
    return model;
  }
  const fit = (model, options) =>
      model.fit(tf.ones([4, 2]), tf.ones([4, 1]), {batchSize: 2, verbose: 0, ...options});
`;

test('a recording may be closed while a fit or a prediction goes on', () => {
  for (const first of ['', 'explain({summary: false});']) {
    const file = path.join(folder, 'closed.tenure');
    const {stdout} = run(`
      const {explain, record} = require('${root}/lib/explain');
      ${model}
      ${first}
      const type = {type: 'DT_FLOAT'};
      const node = [
        {name: 'x', op: 'Placeholder', attr: {dtype: type, shape: {shape: {dim: [{size: '1'}]}}}},
        {name: 'y', op: 'Neg', input: ['x'], attr: {T: type}},
      ];
      const topology = {modelTopology: {node, versions: {}}, weightSpecs: [], weightData: new ArrayBuffer(0)};
      tf.loadGraphModel(tf.io.fromMemory(topology)).then(async graph => {
        const recording = record('${file}');
        const fitting = fit(dense('m'), {epochs: 2});
        const predicting = graph.executeAsync({x: tf.ones([1])});
        recording.close();
        console.log('loss', (await fitting).history.loss.length, (await predicting).dataSync()[0]);
      });
    `, []);
    assert.match(stdout, /loss 2 -1/);
    const {cutShort, spans} = read(file);
    assert.equal(cutShort, false);
    assert.ok(spans.some(span => span.kind === 'fit' && span.name === 'm' && !span.ended));
  }
});

test('a recording leaves TensorFlow.js as it was, unless explain() was called', () => {
  const {stdout} = run(`
    const {explain, leaks, record} = require('${root}/lib/explain');
    const isPatched = () => Object.hasOwn(tf.engine(), 'runKernel');
    const file = '${path.join(folder, 'undone.tenure')}';
    record(file).close();
    const after = isPatched();
    const recording = record(file);
    explain({summary: false});
    recording.close();
    console.log('patched', after, isPatched());
    explain(false);
    try { record('${folder}/no/such/folder'); } catch (error) { console.log(error.code, isPatched()); }
  `, []);
  assert.match(stdout, /patched false true\nENOENT false/);
});

test('a program that calls explain() while TENURE_TRACE records gets its summary', () => {
  const program = `require('${root}/lib/explain').explain(); tf.ones([7]);`;
  const environment = {TENURE_TRACE: path.join(folder, 'summary.tenure'), TENURE_ADDON: process.env.TENURE_ADDON};
  const {stderr} = run(program, ['-r', `${root}/index.js`], environment);
  assert.match(stderr, /tenure: 1 tensor \(28 bytes\) alive at exit/);
  const silent = run(program, ['-r', `${root}/index.js`], {...environment, TENURE_SUMMARY: '0'});
  assert.doesNotMatch(silent.stderr, /alive at exit/);
});

test('a fit in a callback of another is its own', () => {
  const {spans, values} = recorded(`
    ${model}
    const a = dense('a'), b = dense('b');
    fit(a, {epochs: 1, callbacks: {onEpochEnd: () => fit(b, {epochs: 3})}});
  `);
  const fits = spans.flatMap((span, i) => span.kind === 'fit' ? [[i, span.name]] : []);
  assert.deepEqual(fits.map(([, name]) => name), ['a', 'b']);
  const epochs = fits.map(([i]) => spans.filter(span => span.kind === 'epoch' && span.parent === i).length);
  assert.deepEqual(epochs, [1, 3]);
  assert.equal(values.filter(v => v.name === 'step_loss').length, 8);
});

test('an error of a kernel is recorded', () => {
  const {raised} = recorded(`
    try { tf.matMul(tf.ones([2, 3]), tf.ones([2, 3])); } catch (error) {}
  `, backends.tenure);
  assert.equal(raised.length, 1);
  assert.match(raised[0].text, /^ShapeError: matmul: inner dimensions differ/);
  assert.equal(raised[0].site.line, 3);
});

test('an error about the first tensor is about it, and one about a model about no tensor', () => {
  const {raised, tensors} = recorded(`
    const x = tf.scalar(1);
    x.dispose();
    try { x.neg(); } catch (error) {}
    ${model}
    const m = dense('m');
    m.dispose();
    try { m.predict(tf.ones([1, 2])); } catch (error) {}
  `);
  assert.equal(raised.length, 2);
  assert.deepEqual([raised[0].tensor, tensors[0].id], [0, 0]);
  assert.ok(tensors.every(t => t.id !== raised[1].tensor));
});

test('TENURE_TRACE to nowhere is a warning, and %p is the process', () => {
  const nowhere = path.join(folder, 'no', 'such', 'folder');
  const {stderr} = run('tf.scalar(1);', ['-r', `${root}/explain.js`], {TENURE_TRACE: nowhere, TENURE_SUMMARY: '0'});
  assert.ok(stderr.startsWith(`tenure: TENURE_TRACE=${nowhere}: nothing is recorded: ENOENT`), stderr);
  const {stdout} = run(`console.log('pid', process.pid);`, ['-r', `${root}/explain.js`], {
    TENURE_TRACE: path.join(folder, 'run-%p.tenure'), TENURE_SUMMARY: '0',
  });
  assert.equal(read(path.join(folder, `run-${stdout.match(/pid (\d+)/)[1]}.tenure`)).cutShort, false);
});

test('a worker that alone loads the package is recorded once', () => {
  const file = path.join(folder, 'worker.tenure');
  const worker = path.join(folder, 'worker.js');
  fs.writeFileSync(worker, `
    const tf = require('${root}/node_modules/@tensorflow/tfjs');
    require('${root}');
    for (let i = 0; i < 3000; ++i) tf.scalar(i).square().dispose();
  `);
  run(`new (require('worker_threads').Worker)('${worker}');`, [], {TENURE_TRACE: file});
  const {cutShort, tensors} = read(file);
  assert.equal(cutShort, false);
  assert.ok(tensors.length >= 3000);
});

test('a program that is killed leaves a recording as far as it went', () => {
  const file = path.join(folder, 'killed.tenure');
  const program = path.join(folder, 'killed.js');
  fs.writeFileSync(program, `
    const tf = require('${root}/node_modules/@tensorflow/tfjs');
    for (let i = 0; i < 20000; ++i) tf.scalar(i).dispose();
    process.kill(process.pid, 'SIGKILL');
  `);
  spawnSync(process.execPath, ['-r', `${root}/explain.js`, program], {env: {...process.env, TENURE_TRACE: file}});
  const {cutShort, tensors} = read(file);
  assert.equal(cutShort, true);
  assert.ok(tensors.length > 10000);
});

// A loop that is done when the program goes on to something else: where its tensors stay and nothing
// uses them any more, they are lost; a list that the rest of the program works with is not.
const afterwards = use => `
  const kept = [];
  const x = tf.ones([64]);
  for (let i = 0; i < 60; i++) {
    kept.push(x.mul(i));
    x.sum().dispose();
  }
  for (let i = 0; i < 600; i++) tf.tidy(() => ${use}.add(1).relu().sum().dataSync());
`;

test('a leak that stopped before the end is found, and told in JavaScript', () => {
  const {findings} = recorded(afterwards('x'));
  assert.equal(findings.length, 1);
  assert.match(findings[0].title, /^(59|60) tensors from .*program\.js:6 \(mul\) alive together/);
  assert.match(findings[0].remedy, /tf\.tidy\(\)|tensor\.dispose\(\)/);
});

test('a list that is made first and used by the rest is none', () => {
  assert.deepEqual(recorded(afterwards('kept[i % 60]')).findings, []);
});
