// The crossing into native code (native/call.h is the other side). An op is written into shared
// memory as integers and doubles, one call without arguments runs it, and what its results are
// stands in the same memory afterwards.
'use strict';

const native = require('./native');
const {call} = native;

const DOUBLES = 1024;
const SMALL_BYTES = 4096;
const DROPPED = 64; // with their count
const FIXED_BYTES = DOUBLES * 8 + SMALL_BYTES + DROPPED * 4;

const DTYPES = ['float32', 'int32', 'bool', 'complex64'];
const DTYPE_CODES = {float32: 0, int32: 1, bool: 2, complex64: 3};

let integers;
let doubles;
let smallFloats;
let smallIntegers;
let smallBytes;
let dropped; // slots that the next call frees
let capacity = 0; // of integers
let at = 0; // where the next integer goes
let doublesAt = 0;

function share(count) {
  if (dropped !== undefined) native.drop();
  const memory = new ArrayBuffer(FIXED_BYTES + count * 4);
  native.share(memory);
  doubles = new Float64Array(memory, 0, DOUBLES);
  smallFloats = new Float32Array(memory, DOUBLES * 8, SMALL_BYTES / 4);
  smallIntegers = new Int32Array(memory, DOUBLES * 8, SMALL_BYTES / 4);
  smallBytes = new Uint8Array(memory, DOUBLES * 8, SMALL_BYTES);
  dropped = new Int32Array(memory, DOUBLES * 8 + SMALL_BYTES, DROPPED);
  const before = integers;
  integers = new Int32Array(memory, FIXED_BYTES, count);
  if (before !== undefined) new Uint8Array(memory).set(new Uint8Array(before.buffer));
  capacity = count;
}
share(1 << 14);

// Room for that many more integers, or for as many in the results.
function reserve(count) {
  if (at + count > capacity) share(Math.max(2 * capacity, at + count));
}

const codes = new Map(native.names().map((name, code) => [name, code]));
// The number that stands for an op.
function op(name) {
  const code = codes.get(name);
  if (code === undefined) throw new Error(`tenure: there is no op ${name}`);
  return code;
}

function start(code) {
  integers[0] = code;
  at = 1;
  doublesAt = 0;
}

// Ranks are small, and what is written between two reservations is too: the margin covers it.
const MARGIN = 256;

function putTensor(backend, info) {
  const shape = info.shape;
  const rank = shape.length;
  if (at + rank + MARGIN > capacity) reserve(rank + MARGIN);
  integers[at] = backend.slotOf(info);
  integers[at + 1] = rank;
  at += 2;
  for (let i = 0; i < rank; ++i) integers[at + i] = shape[i];
  at += rank;
}

function putMaybeTensor(backend, info) {
  if (info == null) {
    integers[at++] = -1;
  } else {
    putTensor(backend, info);
  }
}

function putTensors(backend, infos) {
  integers[at++] = infos.length;
  for (const info of infos) putTensor(backend, info);
}

function putInt(value) {
  integers[at++] = value;
}

function putInts(values) {
  const count = values.length;
  reserve(count + MARGIN);
  integers[at++] = count;
  for (let i = 0; i < count; ++i) integers[at + i] = values[i];
  at += count;
}

function putDtype(dtype) {
  integers[at++] = DTYPE_CODES[dtype];
}

function putDouble(value) {
  doubles[doublesAt++] = value;
}

function putText(text) {
  reserve(text.length + MARGIN);
  integers[at++] = text.length;
  for (let i = 0; i < text.length; ++i) integers[at++] = text.charCodeAt(i) & 255;
}

// Runs what may itself cross, in the middle of writing an op.
function aside(work) {
  const written = integers.slice(0, at);
  const writtenDoubles = doubles.slice(0, doublesAt);
  work();
  integers.set(written);
  doubles.set(writtenDoubles);
  at = written.length;
  doublesAt = writtenDoubles.length;
}

// Literals, because they are cheaper than arrays that are filled.
function shapeAt(from, i, rank) {
  switch (rank) {
    case 0:
      return [];
    case 1:
      return [from[i]];
    case 2:
      return [from[i], from[i + 1]];
    case 3:
      return [from[i], from[i + 1], from[i + 2]];
    case 4:
      return [from[i], from[i + 1], from[i + 2], from[i + 3]];
    default:
      return Array.from(from.subarray(i, i + rank));
  }
}

// The result that stands at `i`.
function resultAt(backend, i) {
  const from = integers;
  const rank = from[i + 2];
  const shape = shapeAt(from, i + 3, rank);
  let size = 1;
  for (let axis = 0; axis < rank; ++axis) size *= shape[axis];
  return backend.adopt(from[i], shape, DTYPES[from[i + 1]], size);
}

// Runs what was written, and gives its one result.
function run(backend) {
  call();
  return resultAt(backend, 0);
}

// Ops of one or two tensors and nothing else, which programs are full of: in one piece, with all
// that is known at hand.
function runUnary(backend, code, x) {
  const slot = backend.slotOf(x); // may cross, and so comes first
  const {shape} = x;
  const rank = shape.length;
  if (rank + MARGIN > capacity) share(2 * (rank + MARGIN));
  const to = integers;
  to[0] = code;
  to[1] = slot;
  to[2] = rank;
  for (let i = 0; i < rank; ++i) to[3 + i] = shape[i];
  call();
  return resultAt(backend, 0);
}

function runBinary(backend, code, a, b) {
  const slotA = backend.slotOf(a);
  const slotB = backend.slotOf(b);
  const shapeA = a.shape;
  const shapeB = b.shape;
  const rankA = shapeA.length;
  const rankB = shapeB.length;
  if (rankA + rankB + MARGIN > capacity) share(2 * (rankA + rankB + MARGIN));
  const to = integers;
  to[0] = code;
  to[1] = slotA;
  to[2] = rankA;
  for (let i = 0; i < rankA; ++i) to[3 + i] = shapeA[i];
  const next = 3 + rankA;
  to[next] = slotB;
  to[next + 1] = rankB;
  for (let i = 0; i < rankB; ++i) to[next + 2 + i] = shapeB[i];
  call();
  return resultAt(backend, 0);
}

// The same for ops that give a list of results; `room` is how many integers that may take.
function runMany(backend, room = 0) {
  reserve(room + MARGIN);
  call();
  const results = new Array(integers[0]);
  let i = 1;
  for (let k = 0; k < results.length; ++k) {
    results[k] = resultAt(backend, i);
    i += 3 + integers[i + 2];
  }
  return results;
}

// Frees a slot. A small tensor's may wait for the next op, which spares a call.
const SMALL_SIZE = 256; // elements

function drop(slot, size) {
  const count = ++dropped[0];
  dropped[count] = slot;
  if (size > SMALL_SIZE || count === DROPPED - 1) native.drop();
}

// Frees slots for good: no other tensor will be in them, so that who still knows their numbers
// gets an error.
const RETIRE = op('retire');

function retire(slots) {
  start(RETIRE);
  putInts(slots);
  call();
}

const WRITE_SMALL = op('write_small');
const READ_SMALL = op('read_small');
const ARRAYS = {
  float32: Float32Array,
  int32: Int32Array,
  bool: Uint8Array,
  complex64: Float32Array,
};

// The slot of a new tensor with these values.
function write(values, shape, dtype) {
  const Wanted = ARRAYS[dtype];
  if (Wanted === undefined) throw new Error(`tenure: a tensor cannot be of dtype ${dtype}`);
  start(WRITE_SMALL);
  const length = values.length;
  if (length * Wanted.BYTES_PER_ELEMENT <= SMALL_BYTES) {
    const to =
      Wanted === Float32Array ? smallFloats : Wanted === Int32Array ? smallIntegers : smallBytes;
    if (length === 1) {
      to[0] = values[0];
    } else {
      to.set(values);
    }
    putDtype(dtype);
    putInts(shape);
    call();
  } else {
    const bytes = values instanceof Wanted ? values : Wanted.from(values);
    putDtype(dtype);
    putInts(shape);
    native.write(bytes);
  }
  return integers[0];
}

// The values of a slot's tensor: `size` elements, of which a complex one is two.
function read(slot, dtype, size) {
  const Wanted = ARRAYS[dtype];
  const length = dtype === 'complex64' ? 2 * size : size;
  if (length * Wanted.BYTES_PER_ELEMENT <= SMALL_BYTES) {
    start(READ_SMALL);
    putInt(slot);
    call();
    const from =
      Wanted === Float32Array ? smallFloats : Wanted === Int32Array ? smallIntegers : smallBytes;
    return from.slice(0, length);
  }
  const values = new Wanted(length);
  integers[0] = slot;
  native.read(values);
  return values;
}

const MEMORY_FIELDS = [
  'tensors',
  'storages',
  'liveBytes',
  'peakBytes',
  'pooledBytes',
  'slackBytes',
  'reservedBytes',
  'toldToV8Bytes',
];

// What Tenure's ledger says of the process, and how many of this thread's bytes V8 knows of.
function memory() {
  native.memory();
  return Object.fromEntries(MEMORY_FIELDS.map((name, i) => [name, doubles[i]]));
}

module.exports = {
  aside,
  drop,
  memory,
  op,
  putDouble,
  putDtype,
  putInt,
  putInts,
  putMaybeTensor,
  putTensor,
  putTensors,
  putText,
  read,
  reserve,
  retire,
  run,
  runBinary,
  runMany,
  runUnary,
  start,
  write,
  setThreads: native.setThreads,
  version: native.version(),
};
