'use strict';
// For webpack: TypeScript to JavaScript, with a map.
const esbuild = require('esbuild');

module.exports = function load(text) {
  const {code, map} = esbuild.transformSync(text, {
    loader: 'ts', sourcemap: 'external', sourcefile: this.resourcePath, target: 'es2020',
  });
  this.callback(null, code, JSON.parse(map));
};
