// The table of ops: every op that says what it takes can be called by its name, without a line of
// its own on this side.
'use strict';

const assert = require('assert');
const test = require('node:test');

const tf = require('@tensorflow/tfjs');
const tenure = require('..');
const {table} = require('../lib/bridge');

test.before(() => tf.setBackend('tenure'));

const values = (x) => Array.from(x.dataSync());

test('each elementwise op runs by its name and gives the shape of its inputs', () => {
  const elementwise = table.filter((op) => op.mayWait);
  assert.ok(elementwise.length > 45, `${elementwise.length}`);
  for (const {name, inputs} of elementwise) {
    tf.tidy(() => {
      const y = tenure.op(name, new Array(inputs).fill(tf.fill([2, 3], 0.25)));
      assert.deepStrictEqual([y.shape, y.dtype], [[2, 3], 'float32'], name);
      assert.strictEqual(values(y).length, 6, name);
    });
  }
});

test('a kernel of TensorFlow.js and the op of the table are one', () => {
  const x = tf.tensor2d([[-1, 0.5], [2, -3]]);
  const kernels = {abs: 'abs', tanh: 'tanh', relu6: 'relu6', erf: 'erf', softplus: 'softplus'};
  for (const [name, method] of Object.entries(kernels)) {
    assert.deepStrictEqual(values(tenure.op(name, x)), values(tf[method](x)), name);
  }
  assert.deepStrictEqual(values(tenure.op('sum', x, {axes: [1]})), values(x.sum(1)));
  assert.deepStrictEqual(tenure.op('sum', x, {axes: null, keep_dims: true}).shape, [1, 1]);
  assert.deepStrictEqual(values(tenure.op('softmax', x, {axis: -1})), values(x.softmax()));
});

test('ops that TensorFlow.js does not have', () => {
  const x = tf.tensor1d([-2, 0, 2]);
  const [a, , c] = values(tenure.op('gelu', x));
  assert.ok(Math.abs(a + 0.0455003) < 1e-6 && Math.abs(c - 1.9544997) < 1e-6);
  assert.notDeepStrictEqual(values(tenure.op('gelu', x, {approximate: true})), [a, 0, c]);
  const sides = [tf.tensor1d([3, 1e30]), tf.tensor1d([4, 0])];
  assert.deepStrictEqual(values(tenure.op('hypot', sides)), [5, Math.fround(1e30)]);
  const [ordered, places] = tenure.op('sort', tf.tensor1d([3, 1, 2]), {descending: true});
  assert.deepStrictEqual([values(ordered), values(places)], [[3, 2, 1], [0, 2, 1]]);
});

test('integers and truth values become what the op takes', () => {
  const whole = tf.tensor1d([1, 2], 'int32');
  assert.strictEqual(tenure.op('exp', whole).dtype, 'float32');
  assert.strictEqual(tf.engine().runKernel('Tan', {x: whole}).dtype, 'int32'); // as in TensorFlow.js
  const truths = tf.tensor1d([1, 0], 'bool');
  assert.strictEqual(tenure.op('add', [truths, truths]).dtype, 'int32');
  assert.strictEqual(tf.engine().runKernel('Add', {a: truths, b: truths}).dtype, 'bool');
});

test('what does not fit is refused', () => {
  const x = tf.ones([2, 3]);
  const thrown = (f, message) => assert.throws(f, {message});
  thrown(() => tenure.op('hypotenuse', x), /hypotenuse/);
  thrown(() => tenure.op('add', x), /^add: 1 inputs, but there must be 2$/);
  thrown(() => tenure.op('sum', x, {axes: [2]}), /^sum: axis 2 out of range for \[2, 3\]$/);
  thrown(() => tenure.op('sum', x, {axes: [0.5]}), /^sum: 0\.5 is not an integer$/);
  thrown(() => tenure.op('leaky_relu', x, {alpha: 'a'}), /^leaky_relu: alpha must be a number/);
  thrown(() => tenure.op('slice', x, {begin: [0, 0], size: [2, 4], step: [1, 1]}), /do not fit/);
  thrown(() => tenure.op('concat', [], {axis: 0}), /no tensors/);
  thrown(() => tenure.op('gelu', 5), /^gelu: an input is no tensor: 5$/);
  thrown(() => tenure.op('gelu', x, {approximate: 'x'}), /^gelu: approximate must be true or false/);
  thrown(() => tenure.op('gelu', x, {zzz: 1}), /^gelu: no attribute is called zzz: there are approximate$/);
  thrown(() => tenure.op('exp', x, {zzz: 1}), /^exp: no attribute is called zzz: there are none$/);
  thrown(() => tenure.op('sort'), /^sort: an input is no tensor: undefined$/);
  thrown(() => tenure.op('exp', x, null), /^exp: attributes must be an object, got: null$/);
  thrown(() => tenure.op('cholesky', x), /^op: 'cholesky' cannot be called by name; what can: abs, .*, transpose$/);
});
