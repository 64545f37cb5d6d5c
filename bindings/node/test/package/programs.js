'use strict';
// One program in every way of loading the package. It prints nothing else: a second copy of
// TensorFlow.js would say that what it brings is there already.

const PRINTS = 'tenure [1,2]\n';
const BODY = `
const x = tf.add(tf.tensor1d([0, 1]), 1);
console.log(tf.getBackend(), JSON.stringify([...x.dataSync()]));
`;

// `tfjs` is the package that the program takes TensorFlow.js from.
function programs(tfjs) {
  const required = `const tf = require('${tfjs}');\n`;
  const imported = `import * as tf from '${tfjs}';\n`;
  return {
    'required.js': `${required}require('tenure-tfjs');${BODY}`,
    'required_first.js': `require('tenure-tfjs');\n${required}${BODY}`,
    'imported.mjs': `${imported}import 'tenure-tfjs';${BODY}`,
    'imported_first.mjs': `import 'tenure-tfjs';\n${imported}${BODY}`,
    'mixed.mjs': `import tenure from 'tenure-tfjs';
      import {createRequire} from 'module';
      const tf = createRequire(import.meta.url)('${tfjs}');${BODY}`,
    'unknowing.js': `${required}${BODY}`,
    'unknowing.mjs': `${imported}${BODY}`,
  };
}

// `place` is the package, as the command line names it.
const preloaded = (place) => [
  ['-r', place, 'unknowing.js'],
  ['-r', place, 'unknowing.mjs'],
  ['--import', place, 'unknowing.js'],
  ['--import', place, 'unknowing.mjs'],
];
const STARTS = [
  ['required.js'],
  ['required_first.js'],
  ['imported.mjs'],
  ['imported_first.mjs'],
  ['mixed.mjs'],
  ...preloaded('tenure-tfjs'),
];

const FEW_STARTS = [
  ['required.js'],
  ['imported_first.mjs'],
  ['-r', 'tenure-tfjs', 'unknowing.mjs'],
  ['--import', 'tenure-tfjs', 'unknowing.js'],
];

module.exports = {FEW_STARTS, PRINTS, STARTS, preloaded, programs};
