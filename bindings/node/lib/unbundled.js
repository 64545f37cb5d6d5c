// A bundle has neither the native half nor the program's own TensorFlow.js in it, so that this
// package has to stay outside. Comes before anything of Node.js is asked for: in a bundle that is an
// ES module already that would fail, and not say why.
'use strict';

const {LoadError} = require('./load_error');

const file = typeof __filename === 'undefined' ? '' : __filename;
if (!/[\\/]lib[\\/]unbundled\.js$/.test(file)) {
  throw new LoadError(
    'bundled',
    'it was bundled into the program, which left its native half behind. Tell the bundler to leave ' +
      'tenure-tfjs and @tensorflow/* outside (esbuild: --external:tenure-tfjs ' +
      '--external:@tensorflow/*); its README.md says how webpack, Rollup, Vite and Next.js are told',
  );
}
