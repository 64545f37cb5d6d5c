// Where our results differ from the cpu backend's on purpose, and why.
'use strict';

const inputsOf = (step) => step.inputs || [];
const isEmpty = ({values}) => values.length === 0;
const isOdd = ({values}) => values.some((v) => !Number.isFinite(v));
const anyEmpty = (step) => inputsOf(step).some(isEmpty);
const anyOdd = (step) => inputsOf(step).some(isOdd);
const anyBool = (step) =>
  /'bool'/.test(step.source) || inputsOf(step).some(({dtype}) => dtype === 'bool');
const ofDtypes = (step) => new Set(inputsOf(step).map(({dtype}) => dtype)).size;
const isSquare = ({shape}) => shape[0] === shape[1];

const DEVIATIONS = [
  {
    op: /^(logSumExp|add|sub|addN|squaredDifference|scatterND|matMul|fill|pad|meshgrid|dilation2d|pow)$/,
    difference: /^value/,
    when: anyBool,
    why: 'a truth value is 0 or 1 here; there a byte holds the sum, 2 or 255',
  },
  {
    op: /^(gradient of )?(max|min|mean|all|any|moments|norm|logSumExp)$/,
    difference: /^value/,
    when: anyEmpty,
    why:
      'a reduction of nothing is what it starts from (-Infinity, true), and a mean of it is NaN; ' +
      'there it is 0, or NaN',
  },
  {
    op: /^(gradient of )?arg(Max|Min)$/,
    difference: /^only tenure throws: .* is empty/,
    why: 'nothing has no largest element; there it is the first',
  },
  {
    op: /^(exp|expm1|cosh|sinh|square|prod|cumprod|mul|squaredDifference)$/,
    difference: /^value/,
    when: (step) => inputsOf(step)[0].dtype === 'int32',
    why: 'of a number that int32 cannot hold there is left what float32 or float64 leave of it there',
  },
  {
    op: /./,
    difference: /^only cpu throws: vals\.subarray is not a function/,
    why: 'there an empty result of a slice has no typed array',
  },
  {
    op: /./,
    difference:
      /throws: (Cannot read properties of undefined \(reading 'backend'\)|Tensor is disposed)/,
    why: 'a disposed tensor whose data another one shares works; which ones share is up to a backend',
  },
  {
    op: /./,
    difference: /^value \d+: -?([\w.]+), not -?\1$/,
    when: (step) => inputsOf(step).some(({values}) => values.includes(0)),
    why: 'the sign of a zero, which is rounded to as IEEE 754 says',
  },
  {
    op: /^topk$/,
    difference: /^value/,
    when: anyOdd,
    why: 'NaN is the largest here; there it is where it happens to stay',
  },
  {
    op: /^gradient of gather$/,
    difference: /^only cpu throws/,
    when: anyEmpty,
    why: 'a sum of no segments is empty; there it is an error',
  },
  {
    op: /^zerosLike of complex$/,
    difference: /^only cpu throws/,
    why: 'as of any other dtype, the shape alone is asked for, also of a disposed tensor',
  },
  {
    op: /./,
    difference: /^(shape|only cpu throws)/,
    when: (step) => inputsOf(step).some(({dtype}) => dtype === 'complex64'),
    why: 'there many kernels know no complex tensors, or those of another shape after a reshape',
  },
  {
    op: /^complex (add|sub|mul|div)$/,
    difference: /^(value|only cpu)/,
    when: (step) => {
      const [a, b] = inputsOf(step);
      return String(a.shape) !== String(b.shape);
    },
    why: 'complex tensors that are broadcast are read past their end there',
  },
  {
    op: /^einsum$/,
    difference: /^(dtype|value)/,
    when: (step) => ofDtypes(step) > 1,
    why: 'a product of int32 and float32 is float32; there the order of the operands decides',
  },
  {
    op: /^(gradient of )?einsum$/,
    difference: /^(shape|only cpu)/,
    when: (step) => /->j?'/.test(step.source),
    why: 'labels that are left out of the result are summed over; there not all of them are',
  },
  {
    op: /^(conv3d|dilation2d)$/,
    difference: /^value/,
    when: (step) => ofDtypes(step) > 1,
    why: 'a sum of float32 is rounded to int32 when it is done; there with each addend',
  },
  {
    op: /^cast$/,
    difference: /^value/,
    when: (step) => anyOdd(step) && /'int32'/.test(step.source),
    why: 'what int32 cannot hold becomes the nearest that it can; there what is left modulo 2^32',
  },
  {
    op: /^concat$/,
    difference: /^(dtype|value)/,
    when: (step) => ofDtypes(step) > 1,
    why: 'what is joined has a dtype that holds all; there the first one, which may lose values',
  },
  {
    op: /conv2d|depthwiseConv2d/,
    difference: /./,
    when: (step) => / [01]\)/.test(step.source) && !isSquare(inputsOf(step).at(-1)),
    why: 'with padding in pixels, TensorFlow.js takes every filter for a square one',
  },
  {
    op: /(conv\dd|conv2dTranspose|depthwiseConv2d|fft|matMul|einsum|cropAndResize|resizeBilinear|dilation2d|avgPool|pool|batchNorm|unsortedSegmentSum)/,
    difference: /^value/,
    when: anyOdd,
    why: 'NaN and infinities: 0 * Infinity is counted, or is not, by how a sum is computed',
  },
  {
    op: /^(gradient of )?(max|avg)Pool$/,
    difference: /^value/,
    when: (step) => /\$0, 1, \d, 1\)|x, 1, \d, 1\)/.test(step.source),
    why: 'a window of padding alone has no value',
  },
  {
    op: /^gradient of (maxPool3d|max|min)$/,
    difference: /^value/,
    why: 'of equal elements the first is the largest; of a volume there the last',
  },
  {
    op: /^gradient of (resizeBilinear|resizeNearestNeighbor)$/,
    difference: /./,
    when: (step) => /false, true\)/.test(step.source),
    why: 'there gradients do not know of half pixel centers',
  },
  {
    op: /^gradient of resizeNearestNeighbor$/,
    difference: /^value .* not NaN/,
    why: 'there positions are divided by a size of 1 less 1',
  },
  {
    op: /^gradient of (resizeBilinear|resizeNearestNeighbor)$/,
    difference: /^only cpu throws/,
    why: 'height and width are mixed up there',
  },
  {
    op: /^(gradient of )?stridedSlice$/,
    difference: /^only cpu throws: (Negative size|Size\()/,
    why: 'a slice that ends before it begins is empty; there it is an error for some strides',
  },
  {
    op: /^(gradient of )?stridedSlice$/,
    difference: /./,
    when: (step) => !/, 0, 0\)/.test(step.source),
    why: 'with a new or a removed axis elements are looked up by too few coordinates there',
  },
];

// The one that explains a difference of a step, or undefined.
function deviation(step, difference) {
  return DEVIATIONS.find(
    ({op, difference: of, when}) =>
      op.test(step.name) && of.test(difference) && (when === undefined || when(step)),
  );
}

module.exports = {deviation};
