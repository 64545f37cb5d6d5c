// What the random tester may do in a step: each entry draws the arguments of one op and gives a
// step, {source, refs}: JavaScript in which $0, $1, ... are the values that the step refers to.
//
// Two backends round differently, and a step that turns a small difference into a large one would
// tell nothing. So values know whether they are exact (the same bits in every order of summation),
// and an op is `exact` (its results are, if its inputs are), `smooth` (small differences stay
// small) or `steep` (they may not: it asks for exact inputs).
'use strict';

const FLOAT = ['float32'];
const REAL = ['float32', 'int32'];
const NUMBERS = ['float32', 'int32', 'bool'];
const ANY = ['float32', 'int32', 'bool', 'complex64'];

const EXACT_UNARY = ['abs', 'neg', 'relu', 'relu6', 'square', 'clone'];
const SMOOTH_UNARY = [
  'asinh',
  'atan',
  'cos',
  'elu',
  'erf',
  'leakyRelu',
  'logSigmoid',
  'selu',
  'sigmoid',
  'sin',
  'softplus',
  'tanh',
];
const STEEP_UNARY = [
  'acos',
  'acosh',
  'asin',
  'atanh',
  'ceil',
  'cosh',
  'exp',
  'expm1',
  'floor',
  'isFinite',
  'isInf',
  'isNaN',
  'log',
  'log1p',
  'reciprocal',
  'round',
  'rsqrt',
  'sign',
  'sinh',
  'sqrt',
  'step',
  'tan',
];
const EXACT_BINARY = ['add', 'sub', 'mul', 'maximum', 'minimum', 'squaredDifference'];
const STEEP_BINARY = [
  'div',
  'divNoNan',
  'floorDiv',
  'mod',
  'pow',
  'atan2',
  'equal',
  'notEqual',
  'less',
  'lessEqual',
  'greater',
  'greaterEqual',
];

const ops = [];
function add(name, kind, draw, weight = 1) {
  for (let i = 0; i < weight; ++i) ops.push({name, kind, draw});
}

for (const [kind, names] of [
  ['exact', EXACT_UNARY],
  ['smooth', SMOOTH_UNARY],
  ['steep', STEEP_UNARY],
]) {
  for (const name of names) {
    add(name, kind, (g) => ({source: `tf.${name}($0)`, refs: [g.value({dtypes: NUMBERS})]}));
  }
}

// A shape that broadcasts with another, mostly.
function partner(g, shape) {
  return shape
    .slice(g.chance(0.3) ? g.below(shape.length + 1) : 0)
    .map((n) => (g.chance(0.2) ? 1 : n));
}
for (const [kind, names] of [
  ['exact', EXACT_BINARY],
  ['steep', STEEP_BINARY],
]) {
  for (const name of names) {
    add(
      name,
      kind,
      (g) => {
        const a = g.value({dtypes: NUMBERS});
        const dtypes = g.chance(0.7) ? [g.dtype(a)] : NUMBERS;
        const b = g.chance(0.2) ? a : g.value({shape: partner(g, g.shape(a)), dtypes});
        return {source: `tf.${name}($0, $1)`, refs: g.chance(0.5) ? [a, b] : [b, a]};
      },
      2,
    );
  }
}
for (const name of ['logicalAnd', 'logicalOr', 'logicalXor']) {
  add(name, 'exact', (g) => {
    const a = g.value({dtypes: ['bool']});
    return {
      source: `tf.${name}($0, $1)`,
      refs: [a, g.value({shape: partner(g, g.shape(a)), dtypes: ['bool']})],
    };
  });
}
add('logicalNot', 'exact', (g) => ({
  source: 'tf.logicalNot($0)',
  refs: [g.value({dtypes: ['bool']})],
}));
for (const name of ['add', 'sub', 'mul', 'div']) {
  add(`complex ${name}`, name === 'div' ? 'steep' : 'exact', (g) => {
    const a = g.value({dtypes: ['complex64']});
    return {
      source: `tf.${name}($0, $1)`,
      refs: [a, g.value({shape: partner(g, g.shape(a)), dtypes: ['complex64']})],
    };
  });
}
add(
  'where',
  'exact',
  (g) => {
    const a = g.value({dtypes: NUMBERS});
    const shape = g.shape(a);
    return {
      source: 'tf.where($0, $1, $2)',
      refs: [
        g.value({shape: partner(g, shape), dtypes: ['bool']}),
        a,
        g.value({shape: partner(g, shape), dtypes: [g.dtype(a)]}),
      ],
    };
  },
  2,
);
add('clipByValue', 'exact', (g) => ({
  source: `tf.clipByValue($0, ${g.number(-3, 1)}, ${g.number(1, 4)})`,
  refs: [g.value({dtypes: NUMBERS})],
}));
add(
  'cast',
  'steep',
  (g) => ({
    source: `tf.cast($0, '${g.one(ANY)}')`,
    refs: [g.value({dtypes: ANY})],
  }),
  3,
);
add('prelu', 'smooth', (g) => {
  const a = g.value({dtypes: REAL});
  return {
    source: 'tf.prelu($0, $1)',
    refs: [a, g.value({shape: partner(g, g.shape(a)), dtypes: REAL})],
  };
});
add('addN', 'exact', (g) => {
  const a = g.value({dtypes: NUMBERS});
  const like = {shape: g.shape(a), dtypes: [g.dtype(a)]};
  return {source: 'tf.addN([$0, $1, $2])', refs: [a, g.value(like), g.value(like)]};
});

// Over axes.
function axes(g, rank) {
  if (rank === 0 || g.chance(0.2)) return 'undefined';
  if (g.chance(0.05)) return String(rank); // there is none
  const all = [...Array(rank).keys()]
    .filter(() => g.chance(0.5))
    .map((i) => (g.chance(0.3) ? i - rank : i));
  return g.chance(0.5) && all.length > 0 ? String(all[0]) : `[${all}]`;
}
for (const [name, kind] of [
  ['sum', 'exact'],
  ['mean', 'smooth'],
  ['max', 'exact'],
  ['min', 'exact'],
  ['prod', 'exact'],
  ['logSumExp', 'smooth'],
]) {
  add(
    name,
    kind,
    (g) => {
      const x = g.value({dtypes: NUMBERS});
      return {source: `tf.${name}($0, ${axes(g, g.rank(x))}, ${g.chance(0.3)})`, refs: [x]};
    },
    3,
  );
}
for (const name of ['any', 'all']) {
  add(name, 'exact', (g) => {
    const x = g.value({dtypes: ['bool']});
    return {source: `tf.${name}($0, ${axes(g, g.rank(x))}, ${g.chance(0.3)})`, refs: [x]};
  });
}
add('moments', 'smooth', (g) => {
  const x = g.value({dtypes: NUMBERS});
  return {source: `Object.values(tf.moments($0, ${axes(g, g.rank(x))}))`, refs: [x]};
});
add('norm', 'smooth', (g) => ({
  source: `tf.norm($0, ${g.one(["'euclidean'", '1', 'Infinity', '-Infinity'])})`,
  refs: [g.value({dtypes: REAL, ranks: [1, 2]})],
}));
function axis(g, rank) {
  return g.chance(0.05) ? rank : g.below(2 * rank) - rank;
}
for (const name of ['argMax', 'argMin']) {
  add(name, 'steep', (g) => {
    const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3]});
    return {source: `tf.${name}($0, ${axis(g, g.rank(x))})`, refs: [x]};
  });
}
for (const name of ['cumsum', 'cumprod']) {
  add(name, 'exact', (g) => {
    const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3]});
    const at = g.below(g.rank(x)); // the cpu backend knows no other axes, and does not say so
    return {source: `tf.${name}($0, ${at}, ${g.chance(0.3)}, ${g.chance(0.3)})`, refs: [x]};
  });
}
for (const name of ['softmax', 'logSoftmax']) {
  add(name, 'smooth', (g) => ({
    source: `tf.${name}($0)`,
    refs: [g.value({dtypes: REAL, ranks: [1, 2, 3]})],
  }));
}

// Shapes.
add(
  'reshape',
  'exact',
  (g) => {
    const x = g.value({dtypes: ANY});
    const size = g.shape(x).reduce((a, b) => a * b, 1);
    const shapes = [[size], [-1], [1, size], [size, 1, 1], [-1, 1]];
    if (size % 2 === 0) shapes.push([2, size / 2], [-1, 2]);
    if (g.chance(0.1)) shapes.push([size + 1], [3, -1]);
    return {source: `tf.reshape($0, [${g.one(shapes)}])`, refs: [x]};
  },
  2,
);
add(
  'transpose',
  'exact',
  (g) => {
    const x = g.value({dtypes: ANY});
    return {source: `tf.transpose($0, [${g.shuffled([...Array(g.rank(x)).keys()])}])`, refs: [x]};
  },
  2,
);
add(
  'slice',
  'exact',
  (g) => {
    const x = g.value({dtypes: ANY, ranks: [1, 2, 3, 4]});
    const begin = g.shape(x).map((n) => g.below(n + 1));
    const size = g
      .shape(x)
      .map((n, i) => (g.chance(0.1) ? -1 : g.below(n - begin[i] + (g.chance(0.03) ? 3 : 1))));
    return {source: `tf.slice($0, [${begin}], [${size}])`, refs: [x]};
  },
  3,
);
add(
  'stridedSlice',
  'exact',
  (g) => {
    const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3]});
    const each = (draw) => `[${g.shape(x).map(draw)}]`;
    return {
      source:
        `tf.stridedSlice($0, ${each((n) => g.below(2 * n + 2) - n - 1)}, ` +
        `${each((n) => g.below(2 * n + 2) - n - 1)}, ${each(() => g.one([1, 2, -1, -2, 3]))}, ` +
        `${g.below(8)}, ${g.below(8)}, 0, ${g.chance(0.2) ? g.below(4) : 0}, ${g.chance(0.2) ? g.below(4) : 0})`,
      refs: [x],
    };
  },
  2,
);
add('reverse', 'exact', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3, 4]});
  return {source: `tf.reverse($0, ${axes(g, g.rank(x))})`, refs: [x]};
});
add(
  'concat',
  'exact',
  (g) => {
    const a = g.value({dtypes: ANY, ranks: [1, 2, 3]});
    const at = g.below(g.rank(a));
    const other = () =>
      g.value({
        shape: g.shape(a).map((n, i) => (i === at ? g.below(4) : n)),
        dtypes: g.chance(0.9) ? [g.dtype(a)] : NUMBERS,
      });
    return {
      source: `tf.concat([$0, $1, $2], ${g.chance(0.5) ? at : at - g.rank(a)})`,
      refs: [a, other(), other()],
    };
  },
  2,
);
add('stack', 'exact', (g) => {
  const a = g.value({dtypes: NUMBERS, ranks: [0, 1, 2, 3]});
  const like = {shape: g.shape(a), dtypes: [g.dtype(a)]};
  return {source: `tf.stack([$0, $1], ${g.below(g.rank(a) + 1)})`, refs: [a, g.value(like)]};
});
add('unstack', 'exact', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3]});
  return {source: `tf.unstack($0, ${axis(g, g.rank(x))})`, refs: [x]};
});
add('split', 'exact', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3]});
  const at = g.below(g.rank(x));
  const n = g.shape(x)[at];
  const first = g.below(n + 1);
  return {
    source: `tf.split($0, ${g.chance(0.3) ? g.one([1, 2, 3]) : `[${first}, ${n - first}]`}, ${at})`,
    refs: [x],
  };
});
add('tile', 'exact', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3]});
  return {source: `tf.tile($0, [${g.shape(x).map(() => g.below(4))}])`, refs: [x]};
});
add('broadcastTo', 'exact', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [0, 1, 2, 3]});
  const shape = [
    ...(g.chance(0.4) ? [g.below(4)] : []),
    ...g.shape(x).map((n) => (n === 1 ? g.below(4) : n)),
  ];
  return {source: `tf.broadcastTo($0, [${shape}])`, refs: [x]};
});
add('pad', 'exact', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3, 4]});
  const pairs = g.shape(x).map(() => `[${g.below(3)}, ${g.below(3)}]`);
  return {source: `tf.pad($0, [${pairs}], ${g.one([0, 0, 1, 2.5, -1])})`, refs: [x]};
});
add('mirrorPad', 'exact', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3]});
  const reflect = g.chance(0.5);
  const pairs = g
    .shape(x)
    .map((n) => `[${g.below(n + (reflect ? 0 : 1))}, ${g.below(n + (reflect ? 0 : 1))}]`);
  return {
    source: `tf.mirrorPad($0, [${pairs}], '${reflect ? 'reflect' : 'symmetric'}')`,
    refs: [x],
  };
});
add('expandDims', 'exact', (g) => {
  const x = g.value({dtypes: ANY, ranks: [0, 1, 2, 3]});
  return {source: `tf.expandDims($0, ${g.below(g.rank(x) + 1)})`, refs: [x]};
});
add('squeeze', 'exact', (g) => ({source: 'tf.squeeze($0)', refs: [g.value({dtypes: NUMBERS})]}));
add('zerosLike', 'exact', (g) => ({
  source: `tf.${g.one(['zerosLike', 'onesLike'])}($0)`,
  refs: [g.value({dtypes: NUMBERS})],
}));
add('fill', 'exact', (g) => ({
  source: `tf.fill([${g.anyShape()}], ${g.one([0, 1, -1.5, 3, NaN])}, '${g.one(NUMBERS)}')`,
  refs: [],
}));
add(
  'meshgrid',
  'exact',
  (g) => {
    const like = {dtypes: NUMBERS, ranks: [1]};
    return {
      source: `tf.meshgrid($0, $1, {indexing: '${g.one(['xy', 'ij'])}'})`,
      refs: [g.value(like), g.value(like)],
    };
  },
  2,
);
add('spaceToBatchND', 'exact', (g) => ({
  source: `tf.spaceToBatchND($0, [2, 2], [[${g.one(['0, 0', '1, 1'])}], [0, 0]])`,
  refs: [g.value({shape: [g.below(3), 4, g.one([2, 4]), g.below(3)], dtypes: NUMBERS})],
}));
add('batchToSpaceND', 'exact', (g) => ({
  source: `tf.batchToSpaceND($0, [2, 2], [[${g.one(['0, 0', '1, 0'])}], [0, 1]])`,
  refs: [g.value({shape: [4, 2, g.one([1, 2]), g.below(3)], dtypes: NUMBERS})],
}));
add('depthToSpace', 'exact', (g) => ({
  source: 'tf.depthToSpace($0, 2)',
  refs: [g.value({shape: [g.below(3), 2, 1, 4], dtypes: NUMBERS})],
}));

// Indices.
const indices = (g, shape, below) =>
  g.leaf({shape, dtype: 'int32', values: () => g.below(Math.max(below, 1))});
add(
  'gather',
  'exact',
  (g) => {
    const x = g.value({dtypes: ANY, ranks: [1, 2, 3]});
    const at = g.below(g.rank(x));
    return {
      source: `tf.gather($0, $1, ${at})`,
      refs: [x, indices(g, g.anyShape(2), g.shape(x)[at] + (g.chance(0.1) ? 2 : 0))],
    };
  },
  2,
);
add('gatherND', 'exact', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3]});
  const depth = 1 + g.below(g.rank(x));
  return {
    source: 'tf.gatherND($0, $1)',
    refs: [x, indices(g, [g.below(4), depth], Math.min(...g.shape(x).slice(0, depth)))],
  };
});
add(
  'scatterND',
  'exact',
  (g) => {
    const n = g.below(4);
    return {
      source: `tf.scatterND($0, $1, [4, 2])`,
      refs: [indices(g, [n, 1], 4), g.value({shape: [n, 2], dtypes: NUMBERS})],
    };
  },
  2,
);
add('tensorScatterUpdate', 'exact', (g) => {
  const dtypes = [g.one(NUMBERS)];
  return {
    // Of a copy: the cpu backend writes into its input.
    source: 'tf.tensorScatterUpdate(tf.tensor($0.dataSync().slice(), $0.shape, $0.dtype), $1, $2)',
    refs: [
      g.value({shape: [4, 2], dtypes}),
      indices(g, [2, 1], 4),
      g.value({shape: [2, 2], dtypes}),
    ],
  };
});
add('oneHot', 'exact', (g) => ({
  source: `tf.oneHot($0, ${1 + g.below(4)}${g.chance(0.5) ? `, ${g.below(5) - 2}, 0` : ''})`,
  refs: [indices(g, g.anyShape(2), 5)],
}));
add('topk', 'steep', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [1, 2, 3]});
  return {source: `Object.values(tf.topk($0, ${g.below(g.shape(x).at(-1) + 2)}))`, refs: [x]};
});
add('unique', 'steep', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [1, 2]});
  return {source: `Object.values(tf.unique($0, ${g.below(g.rank(x))}))`, refs: [x]};
});
add('bincount', 'exact', (g) => {
  const n = g.below(5);
  return {
    source: 'tf.bincount($0, $1, 4)',
    refs: [indices(g, [n], 5), g.value({shape: [g.chance(0.3) ? 0 : n], dtypes: FLOAT})],
  };
});
add('searchSorted', 'steep', (g) => ({
  source: `tf.searchSorted(tf.tensor1d([-2, 0, 0.5, 0.5, 3]), $0, '${g.one(['left', 'right'])}')`,
  refs: [g.value({dtypes: FLOAT, ranks: [1]})],
}));
add('unsortedSegmentSum', 'exact', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [1, 2]});
  return {source: 'tf.unsortedSegmentSum($0, $1, 3)', refs: [x, indices(g, [g.shape(x)[0]], 3)]};
});
add('bandPart', 'exact', (g) => {
  const x = g.value({dtypes: NUMBERS, ranks: [2]});
  return {source: 'tf.linalg.bandPart($0, 1, 0)', refs: [x]};
});
add('diag', 'exact', (g) => ({
  source: 'tf.diag($0)',
  refs: [g.value({dtypes: NUMBERS, ranks: [1, 2]})],
}));

// Products and windows.
add(
  'matMul',
  'exact',
  (g) => {
    const [a, b] = [g.chance(0.3), g.chance(0.3)];
    const [n, k, m] = [g.below(4), g.below(4), g.below(4)];
    const batch = g.chance(0.4) ? [g.below(3)] : [];
    const dtypes = g.chance(0.8) ? FLOAT : NUMBERS;
    return {
      source: `tf.matMul($0, $1, ${a}, ${b})`,
      refs: [
        g.value({shape: [...batch, ...(a ? [k, n] : [n, k])], dtypes}),
        g.value({shape: [...batch, ...(b ? [m, k] : [k, m])], dtypes}),
      ],
    };
  },
  4,
);
add('fused.matMul', 'smooth', (g) => ({
  source: `tf.fused.matMul({a: $0, b: $1, bias: $2, activation: '${g.one(['linear', 'relu', 'sigmoid', 'elu', 'relu6', 'leakyrelu'])}'})`,
  refs: [
    g.value({shape: [3, 2], dtypes: FLOAT}),
    g.value({shape: [2, 4], dtypes: FLOAT}),
    g.value({shape: [4], dtypes: FLOAT}),
  ],
}));
add('einsum', 'exact', (g) => ({
  source: `tf.einsum('${g.one(['ij,jk->ik', 'ij,jk->ki', 'ij,jk->', 'ij,jk->j', 'xj,jk->kx'])}', $0, $1)`,
  refs: [g.value({shape: [2, 3], dtypes: REAL}), g.value({shape: [3, 2], dtypes: REAL})],
}));
const image = (g, dtypes = NUMBERS, channels = g.one([1, 2])) =>
  g.value({shape: [g.one([0, 1, 1, 2]), g.one([3, 4]), g.one([3, 5]), channels], dtypes});
const window = (g) => `${g.one([1, 2])}, ${g.one(["'same'", "'valid'", '1', '0'])}`;
add(
  'conv2d',
  'exact',
  (g) => {
    const x = image(g, REAL, 2);
    return {
      source: `tf.conv2d($0, $1, ${window(g)})`,
      refs: [
        x,
        g.value({
          shape: [2, g.one([1, 3]), 2, g.one([1, 3])],
          dtypes: g.chance(0.9) ? [g.dtype(x)] : REAL,
        }),
      ],
    };
  },
  2,
);
add('depthwiseConv2d', 'exact', (g) => ({
  source: `tf.depthwiseConv2d($0, $1, ${window(g)})`,
  refs: [image(g, REAL, 2), g.value({shape: [2, 2, 2, g.one([1, 2])], dtypes: REAL})],
}));
add('conv3d', 'exact', (g) => ({
  source: `tf.conv3d($0, $1, 1, ${g.one(["'same'", "'valid'"])})`,
  refs: [
    g.value({shape: [1, 2, 3, 3, 1], dtypes: REAL}),
    g.value({shape: [2, 2, 1, 1, 2], dtypes: REAL}),
  ],
}));
add('conv1d', 'exact', (g) => ({
  source: `tf.conv1d($0, $1, 1, ${g.one(["'same'", "'valid'"])})`,
  refs: [g.value({shape: [2, 4, 2], dtypes: FLOAT}), g.value({shape: [2, 2, 1], dtypes: FLOAT})],
}));
add('conv2dTranspose', 'exact', (g) => ({
  source: `tf.conv2dTranspose($0, $1, [1, 4, 4, 1], 2, 'same')`,
  refs: [
    g.value({shape: [1, 2, 2, 2], dtypes: FLOAT}),
    g.value({shape: [3, 3, 1, 2], dtypes: FLOAT}),
  ],
}));
for (const name of ['maxPool', 'avgPool']) {
  add(
    name,
    name === 'maxPool' ? 'exact' : 'smooth',
    (g) => ({
      source: `tf.${name}($0, ${g.one([1, 2, 3])}, ${window(g)})`,
      refs: [image(g)],
    }),
    2,
  );
  add(`${name}3d`, name === 'maxPool' ? 'exact' : 'smooth', (g) => ({
    source: `tf.${name}3d($0, 2, 1, ${g.one(["'same'", "'valid'"])})`,
    refs: [g.value({shape: [1, 2, 3, 3, g.one([1, 2])], dtypes: NUMBERS})],
  }));
}
add('maxPoolWithArgmax', 'steep', (g) => ({
  source: `Object.values(tf.maxPoolWithArgmax($0, 2, 2, 'same', ${g.chance(0.5)}))`,
  refs: [image(g, FLOAT)],
}));
add('pool', 'smooth', (g) => ({
  source: `tf.pool($0, 2, '${g.one(['avg', 'max'])}', '${g.one(['same', 'valid'])}', ${g.one([1, 2])}, 1)`,
  refs: [image(g, FLOAT)],
}));
add('dilation2d', 'exact', (g) => ({
  source: `tf.dilation2d($0, $1, 1, ${g.one(["'same'", "'valid'"])})`,
  refs: [image(g, REAL, 2), g.value({shape: [2, 2, 2], dtypes: REAL})],
}));
add('batchNorm', 'smooth', (g) => {
  const scale = () => g.leaf({shape: [2], dtype: 'float32', values: () => g.one([0.5, 1, 2])});
  return {source: 'tf.batchNorm($0, $1, $2)', refs: [image(g, FLOAT, 2), scale(), scale()]};
});
add('localResponseNormalization', 'smooth', (g) => ({
  source: 'tf.localResponseNormalization($0, 1)',
  refs: [image(g, FLOAT)],
}));
for (const name of ['resizeBilinear', 'resizeNearestNeighbor']) {
  add(name, 'smooth', (g) => ({
    source: `tf.image.${name}($0, [${g.one([1, 2, 5])}, ${g.one([2, 3])}], ${g.one(['false, false', 'true, false', 'false, true'])})`,
    refs: [image(g)],
  }));
}
add('cropAndResize', 'smooth', (g) => ({
  source: `tf.image.cropAndResize($0, tf.tensor2d([[0, 0, 1, 1], [0.25, 0.5, 1, 0.75]]), tf.tensor1d([0, 0], 'int32'), [2, 3], '${g.one(['bilinear', 'nearest'])}')`,
  refs: [g.value({shape: [1, 4, 5, 2], dtypes: REAL})],
}));
add('flipLeftRight', 'exact', (g) => ({source: 'tf.image.flipLeftRight($0)', refs: [image(g)]}));

// Complex numbers.
add(
  'complex',
  'exact',
  (g) => {
    const a = g.value({dtypes: FLOAT});
    return {source: 'tf.complex($0, $1)', refs: [a, g.value({shape: g.shape(a), dtypes: FLOAT})]};
  },
  2,
);
for (const name of ['real', 'imag', 'abs', 'zerosLike', 'clone']) {
  add(`${name} of complex`, name === 'abs' ? 'smooth' : 'exact', (g) => ({
    source: `tf.${name}($0)`,
    refs: [g.value({dtypes: ['complex64']})],
  }));
}
for (const name of ['fft', 'ifft']) {
  add(name, 'smooth', (g) => ({
    source: `tf.spectral.${name}($0)`,
    refs: [g.value({dtypes: ['complex64'], ranks: [1, 2]})],
  }));
}
add('rfft', 'smooth', (g) => ({
  source: 'tf.spectral.rfft($0)',
  refs: [g.value({dtypes: FLOAT, shape: [g.one([1, 2]), 4]})],
}));

module.exports = {ops};
