// Names of files as browsers know them: whose code is in them, and what the user calls them.
import core from '../core/index.js';
import {ownFile} from './own_code.js';

const {kinds, sourceMaps} = core;
const {kLibrary, kMixed, kRuntime, kindOfSource} = kinds;

// TensorFlow.js as it is served to script tags: tf.min.js, tf-backend-wasm.es2017.js.
const kServedTensorflow = /(^|\/)tf(js)?(-(core|layers|data|converter|backend-\w+))?(\.(es2017|fesm))?(\.min)?\.js$/;
// This file, if it is served as it was built, wherever that is.
const kServedExplain = /(^|\/)explain\.m?js$/;

// Nobody knows what a file on a server was made of before its source map tells.
export function kindOf(file) {
  const path = fullPath(file);
  if (file.startsWith('webpack-internal:')) return kindOfSource(path);
  if (!/^(https?|blob|file|data|capacitor|app):/.test(file)) return kRuntime;
  if (kServedTensorflow.test(path) || (file === ownFile && kServedExplain.test(path))) return kLibrary;
  return kindOfSource(path) === kLibrary ? kLibrary : kMixed;
}

// Without what a bundler or a server adds for itself (?t=1699, #hash).
export function fullPath(file) {
  if (/^webpack(-internal)?:/.test(file)) return sourceMaps.sourceName(file);
  return file.replace(/[?#].*$/, '');
}

// Of the page's own server, the path; /@fs/ is Vite's for files beyond its root.
export function shortPath(file) {
  const origin = globalThis.location === undefined ? '' : `${location.origin}/`;
  const path = origin !== '/' && file.startsWith(origin) ? file.slice(origin.length) : file;
  return path.replace(/^@fs\//, '/').replace(/^\.\//, '');
}
