// Kernels that are what the table of ops says (native/table.h): under the names of TensorFlow.js,
// and under the ops' own, with a list of inputs.
'use strict';

const {inspect} = require('util');
const b = require('../bridge');
const {valueError} = require('../errors');
const {anyString, onHost} = require('./host');

// A result has the dtype of the first input in TensorFlow.js, but for these, whose are floats.
const OF_FLOATS = new Set(['Exp', 'LeakyRelu', 'Prelu']);

const INPUTS = {1: ['x'], 2: ['a', 'b']};

function camelCase(name) {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
}

// An op of any inputs and attributes: `attributes` are the names of its fields in `attrs`.
function general(op, code, host, inputNames, attributes) {
  const {fields} = op;
  return (args) => {
    const {inputs, backend, attrs} = args;
    const tensors = Array.isArray(inputs) ? inputs : inputNames.map((name) => inputs[name]);
    if (host !== null && anyString(tensors)) return host(args);
    b.start(code);
    if (op.inputs < 0) {
      b.putTensors(backend, tensors);
    } else if (tensors.length === op.inputs) {
      for (let i = 0; i < op.inputs; ++i) b.putTensor(backend, tensors[i]);
    } else {
      throw valueError(`${op.name}: ${tensors.length} inputs, but there must be ${op.inputs}`);
    }
    for (let i = 0; i < fields.length; ++i) {
      b.putField(fields[i], attrs[attributes[i]], tensors[0]);
    }
    return op.outputs === 1 ? b.run(backend) : b.runMany(backend);
  };
}

// The calls that programs are full of, without a detour.
function unary(op, code) {
  const run = op.mayWait ? b.queueUnary : b.runUnary;
  return ({inputs, backend}) => run(backend, code, inputs.x);
}

function binary(code, mayWait, host) {
  const run = mayWait ? b.queueBinary : b.runBinary;
  return (args) => {
    const {inputs, backend} = args;
    if (inputs.a.dtype === 'string') return host(args);
    return run(backend, code, inputs.a, inputs.b);
  };
}

// `words` say what the kernel calls otherwise: inputs, and attributes as "dim=axis".
function kernel(op, name, words) {
  const code = OF_FLOATS.has(name) ? op.code : op.code | b.AS_TFJS;
  const inputNames = words.filter((word) => !word.includes('='));
  if (inputNames.length === 0 && op.fields.length === 0) {
    if (op.inputs === 1) return unary(op, code);
    if (op.inputs === 2) return binary(code, op.mayWait, onHost(name));
  }
  const renamed = new Map(
    words.filter((word) => word.includes('=')).map((word) => word.split('=').reverse()),
  );
  const attributes = op.fields.map((field) => renamed.get(field.name) ?? camelCase(field.name));
  const host = op.moves ? onHost(name) : null;
  const ordered = inputNames.length > 0 ? inputNames : INPUTS[op.inputs];
  return general(op, code, host, ordered, attributes);
}

const kernels = {};
for (const op of b.table) {
  for (const [, name, list] of op.tfjs.matchAll(/(\w+)(?:\(([^)]*)\))?/g)) {
    kernels[name] = kernel(op, name, list === undefined ? [] : list.split(', '));
  }
  const fields = op.fields.map((field) => field.name);
  kernels[op.name] = general(op, op.code, null, null, fields);
}

// Refuses a call by name (tenure.op) that is not what the table says.
function checkCall(name, tensors, attrs) {
  const op = b.table.find((each) => each.name === name);
  if (op === undefined) {
    const names = b.table.map((each) => each.name).sort();
    throw valueError(`op: ${inspect(name)} cannot be called by name; what can: ${names.join(', ')}`);
  }
  const wrong = tensors.findIndex((x) => x == null || x.dataId === undefined);
  if (wrong >= 0) throw valueError(`${name}: an input is no tensor: ${inspect(tensors[wrong])}`);
  if (attrs === null || typeof attrs !== 'object') {
    throw valueError(`${name}: attributes must be an object, got: ${inspect(attrs)}`);
  }
  for (const [key, value] of Object.entries(attrs)) {
    const field = op.fields.find((each) => each.name === key);
    if (field === undefined) {
      const known = op.fields.map((each) => each.name).join(', ');
      throw valueError(`${name}: no attribute is called ${key}: ${known ? `there are ${known}` : 'there are none'}`);
    }
    if (field.kind === 'flag' && value != null && typeof value !== 'boolean') {
      throw valueError(`${name}: ${key} must be true or false, got: ${inspect(value)}`);
    }
  }
}

module.exports = {binary, checkCall, kernels};
