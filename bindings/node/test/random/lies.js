// Random ways of making a tensor, most of which lie: about how many values there are, of what type,
// or about the shape. What is made must be what was said, or an error.
'use strict';

const tf = require('@tensorflow/tfjs');

const ARRAYS = {float32: Float32Array, int32: Int32Array, bool: Uint8Array};

function shapeOf(g) {
  const shape = Array.from({length: g.below(4)}, () => g.one([0, 1, 2, 3, 40]));
  if (g.chance(0.2)) {
    shape[g.below(shape.length + 1)] = g.one([
      NaN,
      -1,
      0.5,
      2.5,
      2 ** 31,
      2 ** 32,
      2 ** 33,
      Infinity,
      '2',
      null,
    ]);
  }
  return shape;
}

// Values of a kind, about as many as `size`.
function valuesOf(g, size) {
  const sane = Number.isInteger(size) && size >= 0 && size < 1e5 ? size : g.below(9);
  const length = Math.max(0, sane + g.one([0, 0, 0, 0, 1, -1, 7, -sane]));
  const numbers = Array.from({length}, () => g.one([0, 1, 2, -3, 0.5, NaN, 300]));
  const shared = () => new Float32Array(new SharedArrayBuffer(4 * length)).fill(3);
  const detached = () => {
    const array = new Float32Array(numbers);
    structuredClone(array, {transfer: [array.buffer]});
    return array;
  };
  const shadowed = () =>
    Object.defineProperty(new Float32Array(g.below(9)), 'length', {value: length});
  const kinds = {
    Float32Array: () => new Float32Array(numbers),
    Int32Array: () => new Int32Array(numbers),
    Uint8Array: () => new Uint8Array(numbers),
    Float64Array: () => new Float64Array(numbers),
    Uint8ClampedArray: () => new Uint8ClampedArray(numbers),
    Array: () => numbers,
    holes: () => new Array(length),
    BigInts: () => numbers.map(() => 1n),
    BigInt64Array: () => new BigInt64Array(length),
    tensors: () => numbers.map(() => tf.scalar(5)),
    nested: () => [numbers, numbers],
    objects: () => numbers.map(() => ({})),
    strings: () => numbers.map(String),
    shared,
    detached,
    shadowed,
    nothing: () => g.one([undefined, null]),
    number: () => 3,
  };
  return kinds[g.one(Object.keys(kinds))]();
}

// What a tensor of these may hold, or undefined if there can be none.
function wanted(values, shape, dtype) {
  const Wanted = ARRAYS[dtype];
  const isSize = (n) => Number.isInteger(n) && n >= 0 && n < 2 ** 31;
  if (Wanted === undefined || values == null || !shape.every(isSize)) return undefined;
  try {
    const stored = Wanted.from(values);
    const size = shape.reduce((a, b) => a * b, 1);
    return stored.length === size ? Array.from(stored) : undefined;
  } catch {
    return undefined;
  }
}

// Draws one. What is wrong with what came of it, or null.
function lie(g) {
  const shape = shapeOf(g);
  const dtype = g.one(['float32', 'int32', 'bool', 'float32', 'complex64', 'float64']);
  const values = valuesOf(
    g,
    shape.reduce((a, b) => a * b, 1),
  );
  const said = `${Object.prototype.toString.call(values)} of ${values?.length} as [${shape}] of ${dtype}`;
  const byWrite = g.chance(0.5);
  const make = byWrite
    ? () => tf.engine().makeTensorFromDataId(tf.backend().write(values, shape, dtype), shape, dtype)
    : () => tf.engine().makeTensor(values, shape, dtype);
  tf.fill([256], 777).dispose(); // to be found in the shared memory
  const truth = wanted(values, shape, dtype);
  let tensor;
  try {
    tensor = make();
  } catch (error) {
    return truth === undefined ? null : `${said}: refused: ${error.message}`;
  }
  try {
    const read = Array.from(tensor.dataSync());
    const isTrue = dtype === 'bool' ? (v) => Number(v !== 0) : (v) => v;
    if (dtype === 'complex64') {
      return read.length === 2 * tensor.size ? null : `${said}: ${read.length} numbers`;
    }
    if (truth === undefined) return `${said}: accepted, with ${read.length} values`;
    const at = truth.findIndex((v, i) => !Object.is(isTrue(v), read[i]));
    return at < 0 && read.length === truth.length
      ? null
      : `${said}: at ${at} ${read[at]}, not ${truth[at]}`;
  } finally {
    tensor.dispose();
  }
}

module.exports = {lie};
