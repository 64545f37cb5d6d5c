// Reductions over axes, and functions along one.
'use strict';

const {util} = require('@tensorflow/tfjs-core');
const b = require('../bridge');

function reduction(code, axisName = 'axis') {
  return ({inputs, backend, attrs}) => {
    const {x} = inputs;
    const axes = util.parseAxisParam(attrs[axisName], x.shape);
    b.start(code);
    b.putTensor(backend, x);
    b.putInts(axes);
    b.putInt(attrs.keepDims ? 1 : 0);
    return b.run(backend);
  };
}

function along(code, inputName, axisOf) {
  return ({inputs, backend, attrs}) => {
    const x = inputs[inputName];
    b.start(code);
    b.putTensor(backend, x);
    b.putInt(axisOf(attrs, x));
    return b.run(backend);
  };
}

function argOf(code) {
  return along(code, 'x', (attrs, x) => util.parseAxisParam(attrs.axis, x.shape)[0]);
}

function scan(code) {
  return ({inputs, backend, attrs}) => {
    b.start(code);
    b.putTensor(backend, inputs.x);
    b.putInt(attrs.axis);
    b.putInt(attrs.exclusive ? 1 : 0);
    b.putInt(attrs.reverse ? 1 : 0);
    return b.run(backend);
  };
}

module.exports = {
  All: reduction(b.op('all')),
  Any: reduction(b.op('any')),
  ArgMax: argOf(b.op('arg_max')),
  ArgMin: argOf(b.op('arg_min')),
  Cumprod: scan(b.op('cumprod')),
  Cumsum: scan(b.op('cumsum')),
  LogSoftmax: along(b.op('log_softmax'), 'logits', (attrs) => attrs.axis),
  Max: reduction(b.op('max'), 'reductionIndices'),
  Mean: reduction(b.op('mean')),
  Min: reduction(b.op('min')),
  Prod: reduction(b.op('prod')),
  Softmax: along(b.op('softmax'), 'logits', (attrs) => attrs.dim),
  Sum: reduction(b.op('sum')),
};
