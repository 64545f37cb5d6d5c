// The TensorFlow.js of the program: the tfjs-core that it has loaded or, before that, the one it
// would load. What this package would find by itself, from where it really lies, is another copy
// where it is linked or installed globally; so that it comes last.
'use strict';

const fs = require('fs');
const {createRequire} = require('module');
const path = require('path');
const {LoadError} = require('./load_error');

const CORE = '@tensorflow/tfjs-core';
const CPU = '@tensorflow/tfjs-backend-cpu';
const UNION = '@tensorflow/tfjs';
const FIRST_MINOR = 4;
const RANGE = `4.${FIRST_MINOR} or a later 4.x`;

function isCore(exports) {
  return typeof exports?.engine === 'function' && typeof exports.version_core === 'string';
}

// The first one made the engine, which those after it share.
function loadedCore() {
  const file = Object.keys(require.cache).find(
    (name) =>
      /[\\/]@tensorflow[\\/]tfjs-core[\\/]/.test(name) && isCore(require.cache[name].exports),
  );
  return file === undefined ? undefined : {file, exports: require.cache[file].exports};
}

function folderOf(file) {
  try {
    const real = fs.realpathSync(file);
    return fs.statSync(real).isDirectory() ? real : path.dirname(real);
  } catch {
    return path.dirname(file); // as it may be named without `.js`
  }
}

// Who looks modules up as the program would, most telling first: the file that asked for this
// package, the program, the folder that it runs in.
function lookups(requirer) {
  const [, program] = process.argv;
  const files = [requirer, program].filter((file) => file != null && path.isAbsolute(file));
  const folders = [...files.map(folderOf), process.cwd(), __dirname];
  return folders.map((folder) => createRequire(path.join(folder, 'program.js')));
}

function resolved(lookup, name) {
  try {
    return lookup.resolve(name);
  } catch {
    return undefined;
  }
}

// Where `name` is found from there, or beside the union package, which not every package manager
// lets a program see through.
function foundFrom(lookup, name) {
  const union = resolved(lookup, UNION);
  return resolved(lookup, name) ?? (union && resolved(createRequire(union), name));
}

function resolvedCore(requirer) {
  for (const lookup of lookups(requirer)) {
    const file = foundFrom(lookup, CORE);
    if (file !== undefined) return {file, exports: require(file)};
  }
  if (globalThis._tfengine !== undefined) {
    throw new LoadError(
      'tfjs',
      `TensorFlow.js is bundled into the program: tell the bundler to leave @tensorflow/* outside`,
    );
  }
  throw new LoadError(
    'tfjs',
    `there is no ${CORE} here: npm install ${UNION} (${RANGE}), or ${CORE} alone`,
  );
}

function checkVersion({file, exports}) {
  const version = exports.version_core;
  const [major, minor] = version.split('.').map(Number);
  if (major !== 4 || minor < FIRST_MINOR) {
    throw new LoadError(
      'tfjs',
      `it works with TensorFlow.js ${RANGE}, and the program's is ${version}: ${file}`,
    );
  }
}

let core;
let asker;

// The exports of the program's tfjs-core. `requirer` is the file that asked for this package, where
// that is known.
function coreFor(requirer) {
  if (core === undefined) {
    asker = requirer;
    const found = loadedCore() ?? resolvedCore(requirer);
    checkVersion(found);
    core = found;
  }
  return core.exports;
}

// Registers the kernels of TensorFlow.js's cpu backend, of the same TensorFlow.js.
function loadCpuKernels(wanted) {
  for (const lookup of [createRequire(core.file), ...lookups(asker)]) {
    const file = foundFrom(lookup, CPU);
    if (file !== undefined && resolved(createRequire(file), CORE) === core.file) {
      require(file);
      return;
    }
  }
  const version = core.exports.version_core;
  throw new LoadError(
    'tfjs',
    `${wanted} runs in TensorFlow.js's own kernel: npm install ${CPU}@${version}`,
  );
}

module.exports = {coreFor, loadCpuKernels};
