// What is said to be in a tensor and is not: lengths, dtypes and shapes that lie. Nothing that
// crosses into native code is believed, so that no lie shows the memory of others.
'use strict';

const assert = require('assert');
const {spawnSync} = require('child_process');
const path = require('path');
const test = require('node:test');

const tf = require('@tensorflow/tfjs');
const tenure = require('..');
const bridge = require('../lib/bridge');

test.before(() => tf.setBackend('tenure'));

// Fills the memory that both sides know with something to be found.
function leaveTraces() {
  tf.tidy(() => {
    tf.fill([256], 777).dataSync();
    tf.tensor(new Float32Array(1024).fill(777)).dispose();
  });
}

function refused(f, message = /values do not fill/) {
  leaveTraces();
  const before = tenure.memory().tensors;
  assert.throws(() => tf.tidy(f), message);
  assert.strictEqual(tenure.memory().tensors, before);
  assert.strictEqual(
    tf.tidy(() => tf.scalar(3).square().arraySync()),
    9,
  );
}

test('an array of tensors is no tensor of their values', () => {
  const a = tf.scalar(1);
  refused(() => tf.tensor([a, a]));
  refused(() => tf.tensor([[a], [a]]));
  refused(() => tf.stack([[a, a]]));
});

test('there are as many values as the shape says', () => {
  const {makeTensor} = tf.engine();
  const make = makeTensor.bind(tf.engine());
  refused(() => make(new Float32Array([1, 2]), [1e8], 'float32'));
  refused(() => make(new Float32Array([1, 2]), [3], 'float32'));
  refused(() => make(new Float32Array(3000), [2999], 'float32'));
  refused(() => make(new Float32Array(3000), [3001], 'float32'));
  refused(() => make(new Float32Array(0), [], 'float32'));
  refused(() => make(new Int32Array(5), [5, 0], 'int32'));
  refused(() => make(new Uint8Array(4096), [4097], 'bool'));
  refused(() => make(new Float32Array(3), [3], 'complex64'));
  refused(() => tf.range(0, 20, 1, 'complex64'));
  refused(() => tf.backend().write(new Float32Array(2), [2, 2], 'float32'));
  refused(() => tf.backend().makeTensorInfo([7], 'int32', []));
  refused(() => tf.backend().makeTensorInfo([2], 'float32'), /no values/);
  refused(() => tf.backend().write(new Float32Array(2), [2], 'float64'), /dtype float64/);
});

test('BigInts, holes and what is no number', () => {
  refused(() => tf.tensor(new Array(2000000).fill(1n)));
  refused(() => tf.tensor([1n, 2n]));
  assert.throws(() => tf.backend().write(new BigInt64Array(2), [2], 'float32'), TypeError);
  // eslint-disable-next-line no-sparse-arrays
  assert.deepStrictEqual([...tf.tensor([1, , 3]).dataSync()], [1, NaN, 3]);
  refused(() => tf.tensor([1, {}, 3]));
});

test('a typed array is as long as it is, whatever it says', () => {
  const write = (values, shape, dtype) => tf.backend().write(values, shape, dtype);
  const longer = new Float32Array(2);
  Object.defineProperty(longer, 'length', {value: 8});
  refused(() => write(longer, [8], 'float32'));
  const shorter = new Float32Array(9000);
  Object.defineProperty(shorter, 'length', {value: 8});
  refused(() => write(shorter, [8], 'float32'));
  const bytes = new Uint8Array(64);
  Object.setPrototypeOf(bytes, Float32Array.prototype);
  assert.deepStrictEqual(
    [...tf.backend().readSync(write(bytes, [64], 'float32'))],
    new Array(64).fill(0),
  );
  const many = Object.setPrototypeOf(new Uint8Array(8192), Float32Array.prototype);
  refused(() => write(many, [8192], 'float32'), /another type/);
  assert.throws(() => write(Object.create(Float32Array.prototype), [1], 'float32'), TypeError);
});

test('buffers that were taken away have no values, and shared ones have theirs', () => {
  for (const length of [4, 4000]) {
    const detached = new Float32Array(length).fill(5);
    structuredClone(detached, {transfer: [detached.buffer]});
    refused(() => tf.tensor(detached, [length]), /do not fill|should have \d+ values but has 0/);
    refused(() => tf.engine().makeTensor(detached, [length], 'float32'));
    const shared = new Float32Array(new SharedArrayBuffer(4 * length)).fill(5);
    const y = tf.tensor(shared, [length]);
    shared.fill(6);
    assert.strictEqual(y.sum().arraySync(), 5 * length);
  }
});

test('shapes are of integers of 32 bits', () => {
  const write = (shape) => () => tf.backend().write(new Float32Array(2), shape, 'float32');
  refused(write([NaN]));
  refused(write([2.5]));
  refused(write([0.5, 4]), /^Error: tensor: 0\.5 is not an integer$/);
  refused(write(['2']));
  refused(write([-1, -2]), /negative dimension/);
  refused(write([undefined]));
  refused(write([2 ** 32]));
  const empty = () => tf.backend().write(new Float32Array(0), [0, 2 ** 32], 'float32');
  refused(empty, /^Error: tensor: 4294967296 is beyond 32 bits/);
  const x = tf.tensor([1, 2, 3]);
  refused(() => tf.reshape(x, [1.5, 2]), /^Error: reshape: 1\.5 is not an integer$/);
  // An op that would wait writes shapes too.
  x.shape[0] = 2 ** 32 + 3;
  refused(() => tf.square(x), /^Error: square: 4294967299 is beyond 32 bits/);
  refused(() => tf.add(x, x), /^Error: add: 4294967299 is beyond 32 bits/);
});

test('sizes past 2^31 do not wrap', () => {
  const one = tf.scalar(1);
  const not32 = /: 4294967296 is beyond 32 bits \(-2\^31 to 2\^31 - 1\)$/;
  refused(() => tf.broadcastTo(one, [2 ** 32, 2]), not32);
  refused(() => tf.tile(tf.tensor([1]), [2 ** 32]), not32);
  refused(() => tf.zeros([2 ** 32]), /.*/);
  refused(() => tf.fill([2 ** 32], 1), not32);
  refused(() => tf.pad(tf.tensor([1]), [[0, 2 ** 32]]), not32);
  refused(() => tf.oneHot(tf.tensor([1], [1], 'int32'), 2 ** 32), not32);
  refused(() => tf.linspace(0, 1, 2 ** 32), not32);
  refused(() => tf.image.resizeBilinear(tf.zeros([1, 1, 1, 1]), [2 ** 32, 1]), not32);
  refused(() => tf.scatterND(tf.tensor([[0]], [1, 1], 'int32'), tf.tensor([1]), [2 ** 32]), not32);
  // More than a dimension can say is no result either.
  const truth = tf.zeros([0, 2 ** 30], 'bool');
  refused(() => tf.concat([truth, truth, tf.zeros([0, 1], 'bool')], 1), /2\^31/);
});

test('threads are a whole number of at least one', () => {
  const {setThreads} = require('../lib/native'); // which looks for itself
  for (const threads of [2 ** 32 + 1, 1.5, 2 ** 31, Infinity, NaN]) {
    const text = new RegExp(`: ${threads} is (beyond 32 bits|not an integer)`);
    assert.throws(() => tenure.setThreads(threads), {code: 'ValueError', message: text});
    assert.throws(() => setThreads(threads), {code: 'ValueError', message: /of 32 bits/});
  }
  assert.throws(() => tenure.setThreads(0), {code: 'ValueError', message: /at least 1.*not 0/});
  assert.throws(() => tenure.setThreads('2'), {code: 'ValueError', message: /got: '2'/});
});

test('errors of both halves say their class', () => {
  const x = tf.tensor([1, 2, 3]);
  const indices = tf.tensor([7], [1], 'int32');
  const thrown = (f, code, message) => assert.throws(f, {code, message});
  thrown(() => tf.gather(x, indices), 'ValueError', /^GatherV2: the index value 7 is not in/);
  thrown(() => tf.tensor([[1, 2], [3]]), 'ShapeError', /^tensor: 3 values do not fill \[2,2\]/);
  thrown(() => tf.zeros([2 ** 31, 0]), 'ValueError', /^tensor: 2147483648 is beyond 32 bits/);
  thrown(() => tf.cumsum(x, [0]), 'ValueError', /^cumsum: expected an integer, got: \[ 0 \]$/);
  thrown(() => tf.backend().slotOf(tf.tensor(['a'])), 'DtypeError', /^tenure: a string tensor/);
  const stack = () => tf.engine().runKernel('Pack', [x, indices], {axis: 0});
  thrown(stack, 'DtypeError', /^stack: dtypes differ/);
});

test('attributes are numbers, and those that there are', () => {
  const x = tf.ones([1, 4, 4, 1]);
  const kernel = (name, inputs, attrs) => () => tf.engine().runKernel(name, inputs, attrs);
  refused(kernel('Transpose', {x}, {perm: [0, 1, 2, NaN]}), /not an integer/);
  refused(kernel('Transpose', {x}, {perm: [0, 1, 2, 9]}), /.*/);
  refused(kernel('Transpose', {x}, {perm: []}), /.*/);
  refused(
    kernel('PadV2', {x}, {paddings: [[0], [0], [0], [0]], constantValue: 0}),
    /expected an integer, got: undefined/,
  );
  refused(kernel('PadV2', {x}, {paddings: [[0, 1]], constantValue: 0}), /pad/);
  refused(kernel('Cumsum', {x}, {axis: 7}), /cumsum/);
  refused(kernel('Cast', {x}, {dtype: 'float64'}), /float64/);
  refused(
    kernel('OneHot', {indices: x}, {depth: 3, dtype: 'what', onValue: 1, offValue: 0}),
    /what/,
  );
  const crop = {boxes: tf.zeros([1, 4]), image: x, boxInd: tf.zeros([1], 'int32')};
  refused(
    kernel('CropAndResize', crop, {cropSize: [2, 2], method: 'cubic', extrapolationValue: 0}),
    /cubic is none of nearest, bilinear/,
  );
  refused(kernel('Tile', {x}, {reps: [1, 1]}), /tile/);
  refused(kernel('Slice', {x}, {begin: [0, 0, 0, 0], size: [1, 4, 4, 2]}), /.*/);
});

// Gradients' kernels are called by gradients, whose shapes fit; anyone else's need not.
test('kernels of gradients look at what they are given', () => {
  const x = tf.ones([1, 64, 64, 1]);
  const dy = tf.ones([1, 1, 1, 1]);
  const filter = tf.ones([3, 3, 1]);
  const kernel = (name, inputs, attrs) => () => tf.engine().runKernel(name, inputs, attrs);
  const window = {filterSize: 2, strides: 2, pad: 'valid'};
  const wrong = /the gradient is|must have rank|differ|must be|filter/;
  refused(kernel('MaxPoolGrad', {dy, input: x, output: x}, window), wrong);
  refused(kernel('AvgPoolGrad', {dy, input: x}, window), wrong);
  const dilation = {strides: 1, pad: 'valid', dilations: 1};
  refused(kernel('Dilation2DBackpropInput', {x, filter, dy}, dilation), wrong);
  refused(kernel('Dilation2DBackpropFilter', {x, filter, dy}, dilation), wrong);
  const two = tf.ones([3, 3, 2]);
  const grown = tf.ones([1, 62, 62, 1]);
  refused(kernel('Dilation2DBackpropFilter', {x, filter: two, dy: grown}, dilation), wrong);
  refused(
    kernel('ResizeBilinearGrad', {dy: tf.ones([4]), images: x}, {alignCorners: false}),
    wrong,
  );
  refused(
    kernel('ResizeNearestNeighborGrad', {dy, images: tf.ones([3])}, {alignCorners: false}),
    wrong,
  );
  refused(
    kernel('ResizeBilinearGrad', {dy, images: tf.ones([9, 4, 4, 9])}, {alignCorners: false}),
    wrong,
  );
  refused(kernel('LRNGrad', {x, y: x, dy}, {depthRadius: 1, bias: 1, alpha: 1, beta: 1}), wrong);
  const scalar = tf.scalar(0.5);
  const adam = {beta1: 0.9, beta2: 0.9, learningRate: 0.1, epsilon: 1e-7};
  const state = {value: x, mean: x, square: x, gradient: dy, accBeta1: scalar, accBeta2: scalar};
  refused(kernel('TenureAdam', state, adam), /adam: the gradient is \[1, 1, 1, 1\], but must be/);
  const rnn = {activation: 'tanh', recurrentActivation: 'linear', useBias: true};
  const inputs = [tf.ones([1, 2, 3]), tf.ones([3, 4]), tf.ones([4, 4])];
  refused(kernel('TenureSimpleRNN', inputs, rnn), /3 inputs, but there must be 4/);
  refused(kernel('TenureSimpleRNNGrad', inputs, rnn), /inputs, but there must be/);
  const integers = inputs.map((t) => t.cast('int32'));
  refused(
    kernel('TenureSimpleRNN', integers, {...rnn, useBias: false}),
    /must be float32, not int32/,
  );
});

test('a tensor whose shape was changed is refused', () => {
  const x = tf.tensor([1, 2, 3]);
  x.shape[0] = 300;
  refused(() => tf.greater(x, 1), /.*/);
  assert.throws(() => tf.square(x).dataSync(), /.*/);
});

test('what was freed behind the back of its tensor is known as gone', () => {
  const x = tf.tensor([1, 2, 3]);
  tf.backend().disposeData(x.dataId, true);
  refused(() => tf.greater(x, 1), /was freed/);
  refused(() => x.dataSync(), /was freed/);
});

test('the native half does not believe the JavaScript half either', () => {
  const x = tf.tensor([1, 2, 3]);
  const {slot} = x.dataId;
  assert.throws(() => bridge.read(slot, 'float32', 2), /read of another size/);
  assert.throws(() => bridge.read(slot, 'float32', 1000), /read of another size/);
  assert.throws(() => bridge.read(slot, 'bool', 100000), /another type|another size/);
  const op =
    (name, ...integers) =>
    () => {
      bridge.start(bridge.op(name));
      for (const i of integers) bridge.putInt(i);
      bridge.run(tf.backend());
    };
  refused(op('write_small', 0, 1, 100, 1 << 20), /more bytes than a small tensor/);
  refused(op('write_small', 0, 1, 3, 8), /do not fill/);
  refused(op('write_small', 3, 1, 1, 4), /two floats/);
  refused(op('write_small', 7, 1, 1, 4), /no choice 7 among 4/);
  refused(op('write_small', 0, -1), /-1 integers cannot follow/);
  refused(op('write_small', 0, 1 << 30), /integers cannot follow/);
  refused(op('relu', slot, 1 << 29), /integers cannot follow/);
  refused(op('relu', 1 << 29, 0), /no tensor is in slot/);
  refused(op('add_n', -5), /integers cannot follow/);
});

// Run where a crash is not ours.
test('nothing of this ends the process', () => {
  const program = `
    const tf = require('@tensorflow/tfjs');
    require('.');
    const say = (f) => { try { f(); } catch (error) { console.log(error.message); } };
    say(() => tf.engine().makeTensor(new Float32Array([1, 2]), [1e8], 'float32').sum().dataSync());
    say(() => tf.tensor(new Array(2000000).fill(1n)).sum().dataSync());
    console.log(tf.scalar(2).square().arraySync());`;
  const {stdout, status} = spawnSync(process.execPath, ['-e', program], {
    cwd: path.dirname(__dirname),
    encoding: 'utf8',
  });
  assert.strictEqual(status, 0);
  assert.match(stdout, /^tensor: 2 values do not fill \[100000000\] of float32\n[^\n]*\n4$/m);
});
