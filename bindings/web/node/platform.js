'use strict';
// What the core of explain needs of Node: files, promises that carry activities, V8's stacks.

const {AsyncLocalStorage} = require('async_hooks');
const fs = require('fs');
const path = require('path');
const {performance} = require('perf_hooks');
const {fileURLToPath} = require('url');

const {kinds, setPlatform, v8} = require('../core');
const {mapOf} = require('./source_maps');

const {kLibrary, kMixed, kPackage, kRuntime, kindOfSource} = kinds;
const ownRoot = path.resolve(__dirname, '..') + path.sep;
const isOwn = [ // whether a file is no user's, but the library's
  file => file.startsWith(ownRoot) && /^(core|node|held|testing|dist)[\\/]/.test(file.slice(ownRoot.length)),
];

function toPath(file) {
  return /^file:\//.test(file) ? fileURLToPath(file) : file;
}

// As the user would name it: relative to where the program runs, if it is below. Each is worked out
// once: a summary asks for every tensor, and what became hot there would still be compiled while
// Node ends, which Node 20 answers with an abort now and then.
const shortPaths = new Map();
let shortPathsFrom = null;

function shortPath(file) {
  const folder = process.cwd();
  if (folder !== shortPathsFrom) {
    shortPaths.clear();
    shortPathsFrom = folder;
  }
  let short = shortPaths.get(file);
  if (short === undefined) {
    const relative = path.relative(folder, file);
    short = relative && !relative.startsWith('..') ? relative : file;
    shortPaths.set(file, short);
  }
  return short;
}

// A file of the user's may be a bundle: its source map, if it has one, tells.
function kindOf(file) {
  if (file.startsWith('node:') || !(path.isAbsolute(file) || file.startsWith('file://'))) {
    return kRuntime;
  }
  file = toPath(file);
  if (isOwn.some(is => is(file))) return kLibrary;
  const kind = kindOfSource(file);
  return kind === kLibrary || kind === kPackage ? kind : kMixed;
}

const activities = new AsyncLocalStorage();

setPlatform({
  now: () => performance.now(),
  kindOf,
  shortPath,
  fullPath: toPath,
  sourceMap: file => mapOf(toPath(file)),
  stackOf: v8.stackOf,
  soon: f => { setTimeout(f, 50).unref(); },
  travelling: {
    current: () => activities.getStore() || null,
    run: (activity, f) => activities.run(activity, f),
  },
  program: () => ['node', ...process.argv.slice(1)].join(' '),
});

// A backend tells which errors are its own, and which files.
function knowBackend({isError, isFile}) {
  isOwn.push(isFile);
  setPlatform({isBackendError: isError});
}

// A recording's file.
function openFile(file) {
  const descriptor = fs.openSync(file, 'w');
  return {
    write(bytes) {
      for (let from = 0; from < bytes.length;) {
        from += fs.writeSync(descriptor, bytes, from, bytes.length - from);
      }
    },
    close: () => fs.closeSync(descriptor),
  };
}

module.exports = {knowBackend, openFile};
