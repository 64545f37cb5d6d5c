// The crossing into native code (native/call.h is the other side). An op is written into shared
// memory as integers and doubles, one call without arguments runs it, and what its results are
// stands in the same memory afterwards. Ops on small tensors wait in a queue, and so does the
// disposal of those: one call runs many.
'use strict';

const {inspect} = require('util');
const {dtypeError, isInteger, noInteger, shapeError, valueError} = require('./errors');
const native = require('./native');
const {call, flush} = native;

const DOUBLES = 1024;
const SMALL_BYTES = 4096;
const QUEUE = 1024; // integers
const SPARE = 33; // with their count

const DTYPES = ['float32', 'int32', 'bool', 'complex64'];
const DTYPE_CODES = {float32: 0, int32: 1, bool: 2, complex64: 3};

const QUEUE_AT = DOUBLES * 8 + SMALL_BYTES;
const memory = new ArrayBuffer(QUEUE_AT + (QUEUE + SPARE + 1) * 4);
const doubles = new Float64Array(memory, 0, DOUBLES);
const smallFloats = new Float32Array(memory, DOUBLES * 8, SMALL_BYTES / 4);
const smallIntegers = new Int32Array(memory, DOUBLES * 8, SMALL_BYTES / 4);
const smallBytes = new Uint8Array(memory, DOUBLES * 8, SMALL_BYTES);
const queue = new Int32Array(memory, QUEUE_AT, QUEUE); // where the next entry goes, then entries
const spare = new Int32Array(memory, QUEUE_AT + QUEUE * 4, SPARE); // how many, then empty slots
const collected = new Int32Array(memory, QUEUE_AT + (QUEUE + SPARE) * 4, 1); // see groups.js

let integers = new Int32Array(1 << 14);
let at = 0; // where the next integer goes
let doublesAt = 0;

native.share(integers.buffer, memory);
flush(); // gives the first spare slots

// Room for that many more integers, or for as many in the results.
function reserve(count) {
  if (at + count <= integers.length) return;
  const before = integers;
  integers = new Int32Array(Math.max(2 * before.length, at + count));
  integers.set(before);
  native.share(integers.buffer, memory);
}

// What the native half can run, by name: ops of the table (native/table.h), and what it has beside
// them, which goes before an op of the same name.
const table = native.table();
const names = [];
const codes = new Map();
for (const {name, code} of [...table, ...native.names().map((name, code) => ({name, code}))]) {
  names[code] = name;
  codes.set(name, code);
}
// The number that stands for an op.
function op(name) {
  const code = codes.get(name);
  if (code === undefined) throw valueError(`tenure: there is no op ${name}`);
  return code;
}
// In the number: the result is of the dtype that TensorFlow.js would give it.
const AS_TFJS = 1 << 16;

const WRITE_SMALL = op('write_small');
const READ_SMALL = op('read_small');

function start(code) {
  integers[0] = code;
  at = 1;
  doublesAt = 0;
}

// As the user knows it.
function nameOf(code) {
  if (code === WRITE_SMALL) return 'tensor';
  return code === READ_SMALL ? 'read' : names[code & ~AS_TFJS];
}

// The op that is being written.
function opName() {
  return nameOf(integers[0]);
}

// Ranks are small, and what is written between two reservations is too: the margin covers it.
const MARGIN = 256;

function putTensor(backend, info) {
  const slot = backend.slotOf(info); // may cross, and so comes first
  const shape = info.shape;
  const rank = shape.length;
  reserve(rank + MARGIN);
  integers[at] = slot;
  integers[at + 1] = rank;
  at += 2;
  for (let i = 0; i < rank; ++i) {
    const size = shape[i];
    if (!isInteger(size)) throw noInteger(opName(), size);
    integers[at + i] = size;
  }
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
  if (!isInteger(value)) throw noInteger(opName(), value);
  integers[at++] = value;
}

// One of a list that both sides know.
function putChoice(list, value) {
  const index = list.indexOf(value);
  if (index < 0) {
    throw valueError(`${opName()}: ${String(value)} is none of ${list.join(', ')}`);
  }
  integers[at++] = index;
}

function putInts(values) {
  const count = values.length;
  reserve(count + MARGIN);
  integers[at++] = count;
  for (let i = 0; i < count; ++i) {
    const value = values[i];
    if (!isInteger(value)) throw noInteger(opName(), value);
    integers[at + i] = value;
  }
  at += count;
}

function putDtype(dtype) {
  const code = DTYPE_CODES[dtype];
  if (code === undefined) throw dtypeError(`${opName()}: no tensor of dtype ${dtype}`);
  integers[at++] = code;
}

function putDouble(value) {
  doubles[doublesAt++] = value;
}

function putText(text) {
  reserve(text.length + MARGIN);
  integers[at++] = text.length;
  for (let i = 0; i < text.length; ++i) {
    const unit = text.charCodeAt(i);
    if (unit > 255) throw valueError(`${opName()}: ${text[i]} cannot be a label`);
    integers[at++] = unit;
  }
}

// An attribute of an op of the table, of which `x` is the first input. No axes are all of them.
function putField({name, kind, choices, value: otherwise}, value, x) {
  if (value == null) value = name === 'axes' ? x.shape.map((_, axis) => axis) : otherwise;
  switch (kind) {
    case 'integer':
      return putInt(value);
    case 'flag':
      return putInt(value ? 1 : 0);
    case 'dtype':
      return putDtype(value);
    case 'choice':
      return putChoice(choices, value);
    case 'integers':
      return putInts(typeof value === 'number' ? [value] : value);
    default:
      if (typeof value !== 'number') {
        throw valueError(`${opName()}: ${name} must be a number, got: ${inspect(value)}`);
      }
      return putDouble(value);
  }
}

let asides = 0; // that run

// Runs what may itself cross, in the middle of writing an op.
function aside(work) {
  const written = integers.slice(0, at);
  const writtenDoubles = doubles.slice(0, doublesAt);
  asides += 1;
  try {
    work();
  } finally {
    asides -= 1;
  }
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

function runUnary(backend, code, x) {
  start(code);
  putTensor(backend, x);
  return run(backend);
}

function runBinary(backend, code, a, b) {
  start(code);
  putTensor(backend, a);
  putTensor(backend, b);
  return run(backend);
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

// What waits. An entry of the queue is its length, a slot, an op's code and its inputs.

const SMALL_SIZE = 256; // elements
const SMALL_RANK = 6;
const LONGEST = 3 + 2 * (2 + SMALL_RANK);
const FREE = -1; // in place of a code: the slot is freed

// Whether an op on a tensor of these data may wait.
function isSmall(data, rank) {
  return (
    data.slot >= 0 && data.size <= SMALL_SIZE && data.dtype === 'float32' && rank <= SMALL_RANK
  );
}

// The slot of the result that the op written at `to`, of this length, will have.
function enqueue(to, length, code) {
  const left = spare[0];
  const slot = spare[left];
  spare[0] = left - 1;
  queue[to] = length;
  queue[to + 1] = slot;
  queue[to + 2] = code;
  const end = to + length;
  queue[0] = end;
  if (left === 1 || end + LONGEST > QUEUE) flush();
  return slot;
}

function queueShape(to, code, shape) {
  const rank = shape.length;
  queue[to] = rank;
  for (let i = 0; i < rank; ++i) {
    const size = shape[i];
    if (!isInteger(size)) throw noInteger(nameOf(code), size);
    queue[to + 1 + i] = size;
  }
}

// Ops of floats that give floats of a shape that is known here. What may not wait runs now.
function queueUnary(backend, code, x) {
  const {dataId, shape} = x;
  const rank = shape.length;
  if (!isSmall(dataId, rank)) return runUnary(backend, code, x);
  const to = queue[0];
  queue[to + 3] = dataId.slot;
  queueShape(to + 4, code, shape);
  return backend.adopt(enqueue(to, 5 + rank, code), shape, 'float32', dataId.size);
}

// The larger of two shapes that are the same, or of which one is a single element's.
function commonShape(a, sizeA, b, sizeB) {
  const rank = a.length;
  if (sizeA === 1 && rank <= b.length) return b;
  if (sizeB === 1 && b.length <= rank) return a;
  if (rank !== b.length) return undefined;
  for (let i = 0; i < rank; ++i) {
    if (a[i] !== b[i]) return undefined;
  }
  return a;
}

function queueBinary(backend, code, a, b) {
  const dataA = a.dataId;
  const dataB = b.dataId;
  const shapeA = a.shape;
  const shapeB = b.shape;
  const rankA = shapeA.length;
  const rankB = shapeB.length;
  if (!isSmall(dataA, rankA) || !isSmall(dataB, rankB)) return runBinary(backend, code, a, b);
  const shape = commonShape(shapeA, dataA.size, shapeB, dataB.size);
  if (shape === undefined) return runBinary(backend, code, a, b);
  const to = queue[0];
  queue[to + 3] = dataA.slot;
  queueShape(to + 4, code, shapeA);
  const next = to + 5 + rankA;
  queue[next] = dataB.slot;
  queueShape(next + 1, code, shapeB);
  const slot = enqueue(to, 7 + rankA + rankB, code);
  return backend.adopt(slot, shape, 'float32', shape === shapeA ? dataA.size : dataB.size);
}

// Frees a slot.
function drop(slot, size) {
  const to = queue[0];
  queue[to] = 3;
  queue[to + 1] = slot;
  queue[to + 2] = FREE;
  queue[0] = to + 3;
  if (size > SMALL_SIZE || to + 3 + LONGEST > QUEUE) flush();
}

// Frees slots for good: no other tensor will be in them, so that who still knows their numbers
// gets an error.
const RETIRE = op('retire');

function retire(slots) {
  start(RETIRE);
  putInts(slots);
  call();
}

const ARRAYS = {
  float32: Float32Array,
  int32: Int32Array,
  bool: Uint8Array,
  complex64: Float32Array,
};

// How long a typed array is, whatever it says.
const lengthOf = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Int8Array.prototype),
  'length',
).get;

// How many numbers an array has for that many elements.
function lengthFor(dtype, size) {
  return dtype === 'complex64' ? 2 * size : size;
}

// The slot of a new tensor with these values, of which there must be as many as its shape says.
function write(values, shape, dtype, size) {
  const Wanted = ARRAYS[dtype];
  if (Wanted === undefined) throw dtypeError(`tensor: no tensor can be of dtype ${dtype}`);
  if (values == null) throw valueError(`tensor: no values for [${shape}] of ${dtype}`);
  const elements = values instanceof Wanted ? values : Wanted.from(values);
  const length = lengthOf.call(elements);
  if (length !== lengthFor(dtype, size)) {
    throw shapeError(`tensor: ${length} values do not fill [${shape}] of ${dtype}`);
  }
  const bytes = length * Wanted.BYTES_PER_ELEMENT;
  start(WRITE_SMALL);
  putDtype(dtype);
  putInts(shape);
  if (bytes <= SMALL_BYTES) {
    const to =
      Wanted === Float32Array ? smallFloats : Wanted === Int32Array ? smallIntegers : smallBytes;
    if (length === 1) {
      to[0] = elements[0];
    } else {
      to.set(elements);
    }
    putInt(bytes);
    call();
  } else {
    native.write(elements);
  }
  return integers[0];
}

// The values of a slot's tensor: `size` elements, of which a complex one is two.
function read(slot, dtype, size) {
  const Wanted = ARRAYS[dtype];
  const length = lengthFor(dtype, size);
  const bytes = length * Wanted.BYTES_PER_ELEMENT;
  if (bytes <= SMALL_BYTES) {
    start(READ_SMALL);
    putInt(slot);
    putInt(bytes);
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

// Tokens that V8 has collected (see groups.js).

// Whether it has collected at all, since the last call of lost(). In the middle of writing an op
// nothing may be freed: V8 need not keep a tensor of which only the slot is still used.
function hasCollected() {
  return collected[0] !== 0 && asides === 0;
}

// The numbers of tokens that are gone.
const lostNumbers = new Int32Array(256); // how many, then they
function lost() {
  const all = [];
  do {
    native.lost(lostNumbers);
    for (let i = 1; i <= lostNumbers[0]; ++i) all.push(lostNumbers[i]);
  } while (lostNumbers[0] === lostNumbers.length - 1);
  return all;
}

// How many threads kernels use.
function setThreads(threads) {
  if (!isInteger(threads)) throw noInteger('setThreads', threads);
  if (threads < 1) throw valueError(`setThreads: there must be at least 1 thread, not ${threads}`);
  native.setThreads(threads);
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
function memoryInfo() {
  native.memory();
  return Object.fromEntries(MEMORY_FIELDS.map((name, i) => [name, doubles[i]]));
}

module.exports = {
  AS_TFJS,
  aside,
  drop,
  flush,
  hasCollected,
  lost,
  memory: memoryInfo,
  op,
  putChoice,
  putDouble,
  putDtype,
  putField,
  putInt,
  putInts,
  putMaybeTensor,
  putTensor,
  putTensors,
  putText,
  queueBinary,
  queueUnary,
  read,
  reserve,
  retire,
  run,
  runBinary,
  runMany,
  runUnary,
  start,
  table,
  watch: native.watch,
  write,
  setThreads,
  version: native.version(),
};
