'use strict';
// Whose code is where in a script that has no source map and holds the code of several: a bundle.
// A bundler leaves the modules of a package beside one another, so that what lies between two pieces
// of TensorFlow.js is TensorFlow.js. Its pieces are found by their text, which a function gives as
// the script has it.

const {kLibrary, kRuntime, kUser} = require('./kinds');
const {platform} = require('./platform');

const kShort = 40; // a text of fewer characters may be anybody's
const kNative = /\{\s*\[native code\]\s*\}$/;

const modules = new Map(); // of TensorFlow.js -> their functions, as they were before any was patched

function functionsOf(exports) {
  const found = new Set();
  const add = value => { if (typeof value === 'function') found.add(value); };
  for (const value of Object.values(exports)) {
    add(value);
    if (value !== null && typeof value === 'object') Object.values(value).forEach(add);
  }
  const {prototype} = exports.Tensor || {prototype: {}};
  for (const {value} of Object.values(Object.getOwnPropertyDescriptors(prototype))) add(value);
  return found;
}

// From now on the code of a module of TensorFlow.js is known as such.
function knowCode(exports) {
  if (!modules.has(exports)) modules.set(exports, functionsOf(exports));
}

class Script {
  constructor(code) {
    this.code = code;
    this.lines = [0];
    for (let at = code.indexOf('\n'); at >= 0; at = code.indexOf('\n', at + 1)) this.lines.push(at + 1);
    this.ranges = [];
  }

  has(line, column) {
    for (const functions of [...modules.values()].slice(this.ranges.length)) {
      this.ranges.push(this.#rangeOf(functions));
    }
    const at = this.lines[line - 1] + column - 1;
    return this.ranges.some(([begin, end]) => at >= begin && at < end);
  }

  // From the first of them to the end of the last.
  #rangeOf(functions) {
    let begin = Infinity, end = 0;
    for (const f of functions) {
      const text = Function.prototype.toString.call(f);
      const at = text.length < kShort || kNative.test(text) ? -1 : this.code.indexOf(text);
      if (at < 0) continue;
      begin = Math.min(begin, at);
      end = Math.max(end, at + text.length);
    }
    return [begin, end];
  }
}

const scripts = new Map();

// kLibrary, kUser, or kRuntime where nobody can tell.
function kindInBundle(file, line, column) {
  if (platform.isOwnCode(file, line, column)) return kLibrary;
  let script = scripts.get(file);
  if (script === undefined) {
    const code = platform.codeOf(file);
    scripts.set(file, script = code === null ? null : new Script(code));
  }
  if (script === null) return platform.hasOwnCode(file) ? kRuntime : kUser;
  return script.has(line, column) ? kLibrary : kUser;
}

module.exports = {kindInBundle, knowCode};
