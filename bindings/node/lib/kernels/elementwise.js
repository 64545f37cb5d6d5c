// Kernels that work element by element.
'use strict';

const b = require('../bridge');
const {dtypeError} = require('../errors');
const {anyString, onHost} = require('./host');

// Kernels of one input `x`, by the native op that each is.
const UNARY = {
  Abs: 'abs',
  Acos: 'acos',
  Acosh: 'acosh',
  Asin: 'asin',
  Asinh: 'asinh',
  Atan: 'atan',
  Atanh: 'atanh',
  Ceil: 'ceil',
  Cos: 'cos',
  Cosh: 'cosh',
  Elu: 'elu',
  Erf: 'erf',
  Exp: 'exp',
  Expm1: 'expm1',
  Floor: 'floor',
  IsFinite: 'is_finite',
  IsInf: 'is_inf',
  IsNan: 'is_nan',
  Log: 'log',
  Log1p: 'log1p',
  LogicalNot: 'logical_not',
  Neg: 'neg',
  Reciprocal: 'reciprocal',
  Relu: 'relu',
  Relu6: 'relu6',
  Round: 'round',
  Rsqrt: 'rsqrt',
  Selu: 'selu',
  Sigmoid: 'sigmoid',
  Sign: 'sign',
  Sin: 'sin',
  Sinh: 'sinh',
  Softplus: 'softplus',
  Sqrt: 'sqrt',
  Square: 'square',
  Tan: 'tan',
  Tanh: 'tanh',
};

// Kernels of two inputs `a` and `b`.
const BINARY = {
  Add: 'add',
  Atan2: 'atan2',
  BitwiseAnd: 'bitwise_and',
  Equal: 'equal',
  FloorDiv: 'floor_div',
  Greater: 'greater',
  GreaterEqual: 'greater_equal',
  Less: 'less',
  LessEqual: 'less_equal',
  LogicalAnd: 'logical_and',
  LogicalOr: 'logical_or',
  LogicalXor: 'logical_xor',
  Maximum: 'maximum',
  Minimum: 'minimum',
  Mod: 'mod',
  Multiply: 'mul',
  NotEqual: 'not_equal',
  Pow: 'pow',
  RealDiv: 'real_div',
  SquaredDifference: 'squared_difference',
  Sub: 'sub',
};

// The kernels of both whose results are not floats when their inputs are.
const OF_OTHER_DTYPES = new Set([
  'BitwiseAnd',
  'Equal',
  'FloorDiv',
  'Greater',
  'GreaterEqual',
  'IsFinite',
  'IsInf',
  'IsNan',
  'Less',
  'LessEqual',
  'LogicalAnd',
  'LogicalNot',
  'LogicalOr',
  'LogicalXor',
  'NotEqual',
]);

function unary(name, code) {
  const run = OF_OTHER_DTYPES.has(name) ? b.runUnary : b.queueUnary;
  return ({inputs, backend}) => run(backend, code, inputs.x);
}

function binary(name, code) {
  const run = OF_OTHER_DTYPES.has(name) ? b.runBinary : b.queueBinary;
  const host = onHost(name);
  return (args) => {
    const {inputs, backend} = args;
    if (inputs.a.dtype === 'string') return host(args);
    return run(backend, code, inputs.a, inputs.b);
  };
}

const ADD_N = b.op('add_n');
function addN({inputs, backend}) {
  b.start(ADD_N);
  b.putTensors(backend, inputs);
  return b.run(backend);
}

const CLIP = b.op('clip');
function clipByValue({inputs, backend, attrs}) {
  b.start(CLIP);
  b.putTensor(backend, inputs.x);
  b.putDouble(attrs.clipValueMin);
  b.putDouble(attrs.clipValueMax);
  return b.run(backend);
}

function withAlpha(code) {
  return ({inputs, backend, attrs}) => {
    b.start(code);
    b.putTensor(backend, inputs.x);
    b.putDouble(attrs.alpha);
    return b.run(backend);
  };
}

const PRELU = b.op('prelu');
function prelu({inputs, backend}) {
  return b.runBinary(backend, PRELU, inputs.x, inputs.alpha);
}

const ELU_GRAD = b.op('elu_grad');
function eluGrad({inputs, backend}) {
  return b.runBinary(backend, ELU_GRAD, inputs.dy, inputs.y);
}

const WHERE = b.op('where');
const hostSelect = onHost('Select');
function select(args) {
  const {inputs, backend} = args;
  if (anyString([inputs.t, inputs.e])) return hostSelect(args);
  b.start(WHERE);
  b.putTensor(backend, inputs.condition);
  b.putTensor(backend, inputs.t);
  b.putTensor(backend, inputs.e);
  return b.run(backend);
}

const CAST = b.op('cast');
function cast({inputs, backend, attrs}) {
  const {x} = inputs;
  const {dtype} = attrs;
  if (x.dtype === dtype) {
    backend.incRef(x.dataId);
    return {dataId: x.dataId, shape: x.shape, dtype};
  }
  if (x.dtype === 'string' || dtype === 'string') {
    throw dtypeError(`Error in Cast: failed to cast ${x.dtype} to ${dtype}`);
  }
  b.start(CAST);
  b.putTensor(backend, x);
  b.putDtype(dtype);
  return b.run(backend);
}

const kernels = {
  AddN: addN,
  Cast: cast,
  ClipByValue: clipByValue,
  EluGrad: eluGrad,
  LeakyRelu: withAlpha(b.op('leaky_relu')),
  Prelu: prelu,
  Select: select,
  Step: withAlpha(b.op('step')),
};
for (const [kernel, name] of Object.entries(UNARY)) kernels[kernel] = unary(kernel, b.op(name));
for (const [kernel, name] of Object.entries(BINARY)) kernels[kernel] = binary(kernel, b.op(name));

module.exports = kernels;
