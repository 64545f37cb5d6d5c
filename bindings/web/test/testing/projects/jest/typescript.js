// A transform that loses lines, as those for TypeScript do, and gives a source map.
const {transformSync} = require('esbuild');

exports.process = (text, file) => transformSync(text, {
  format: 'cjs', loader: 'ts', sourcefile: file, sourcemap: true,
});
