'use strict';
// Source maps of the files that run: beside them, inside of them, or made by a loader as it compiles.

const {readFileSync} = require('fs'); // as it is now: a program's test may put another there
const Module = require('module');
const path = require('path');
const {fileURLToPath} = require('url');

const {sourceMaps: {textOfData, urlIn}} = require('../core');

const compiled = new Map(); // file -> the map that a loader put at the end of what it compiled

// From now on, what loaders compile is looked at: what they run is not what the file has.
function watchLoaders() {
  const original = Module.prototype._compile;
  Module.prototype._compile = function(content, file, ...rest) {
    const at = typeof content === 'string' ? content.lastIndexOf('sourceMappingURL=data:') : -1;
    if (at >= 0) compiled.set(file, content.slice(content.lastIndexOf('\n', at) + 1));
    return original.call(this, content, file, ...rest);
  };
}

// What Node itself knows, if it was told to follow source maps.
function ofNode(file) {
  const found = Module.findSourceMap(file);
  if (found === undefined) return null;
  return {text: JSON.stringify(found.payload), url: file};
}

function read(file) {
  try {
    const text = readFileSync(file, 'utf8');
    return typeof text === 'string' ? text : null; // a mock may give anything
  } catch {
    return null;
  }
}

// {text, url} of a file's source map; null if it has none.
function mapOf(file) {
  const known = ofNode(file);
  if (known !== null) return known;
  const code = compiled.get(file) || read(file);
  const url = code === null ? null : urlIn(code);
  if (url === null) return null;
  const inside = textOfData(url);
  if (inside !== null) return {text: inside, url: file};
  const beside = /^file:/.test(url) ? fileURLToPath(url) : path.resolve(path.dirname(file), decodeURIComponent(url));
  const text = read(beside);
  return text === null ? null : {text, url: beside};
}

module.exports = {mapOf, watchLoaders};
