'use strict';
// Stacks, interned: a chain of positions, and which of them is the user's. What it says may change
// when a source map comes, so that it is worked out when somebody asks.

const positions = require('./positions');
const {kLibrary, kMixed, kPackage, kUser} = positions;

// What the user called: "relu__op" is tf.relu, "getGlobalTensorClass.tanh" is x.tanh. An op is its
// own name for what it makes; what other functions make is named after the kernel that made it.
const calls = new Map();
const kNoCall = {name: '', isOp: false};

function callNamed(name) {
  let call = calls.get(name);
  if (call === undefined) {
    const isOp = name.endsWith('__op') || name.startsWith('getGlobalTensorClass.');
    call = {name: name.replace(/^.*[. ]/, '').replace(/__op$/, '').replace(/_$/, ''), isOp};
    calls.set(name, call);
  }
  return call;
}

// The functions of TensorFlow.js that a program can call, where a bundle keeps their names or a map
// knows their files: tfjs-core has one file for each (ops/max_pool.js).
const functions = new Set();

function knowFunctions(tf) {
  for (const name of Object.keys(tf)) if (typeof tf[name] === 'function') functions.add(name);
  for (const {prototype} of [tf.Tensor, tf.Variable]) {
    for (const name of Object.getOwnPropertyNames(prototype)) functions.add(name);
  }
}

function callAt(position) {
  if (position === null) return kNoCall;
  if (position.function.endsWith('__op')) return callNamed(position.function);
  const source = position.source();
  const [, file] = source.match(/[\\/]ops[\\/]([\w/]+)\.[jt]s$/) || [];
  const name = file === undefined ? '' : file.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
  if (functions.has(name)) return callNamed(name);
  if (position.function === '') return kNoCall;
  const call = callNamed(position.function);
  const {kind, path} = position.script;
  const isMinified = kind === kMixed || /\.min\.js$/.test(path);
  return isMinified && !functions.has(call.name) ? kNoCall : call;
}

class Stack {
  constructor(parent, position) {
    this.parent = parent;
    this.position = position;
    this.depth = parent === null ? 0 : parent.depth + 1;
    this.next = new Map();
    this.epoch = -1; // of positions, in which the rest was worked out
    this.site = null;
    this.call = kNoCall;
    this.index = 0;          // of the user's frame, if there is one
    this.isCertain = false;  // no map is missing: else the rest says nothing
    this.isCut = false;      // the user's frame may be beyond the last
    this.isAsync = false;    // the user's frame waits for what happens
    this.isLibrarys = false; // all of it: what goes on here was begun by a line that has left
  }

  // The stack with one frame more, further out.
  with(position) {
    let stack = this.next.get(position);
    if (stack === undefined) this.next.set(position, stack = new Stack(this, position));
    return stack;
  }

  get frames() {
    const frames = new Array(this.depth);
    for (let stack = this; stack.depth > 0; stack = stack.parent) frames[stack.depth - 1] = stack.position;
    return frames;
  }

  // Works out the user's frame; `isNeeded`: waits for maps, and is certain then.
  pick(isNeeded) {
    if (this.epoch === positions.epoch && (this.isCertain || !isNeeded)) return this;
    const {frames} = this;
    let library = null, packageFrame = null;
    this.isCertain = true;
    this.site = null;
    for (let i = 0; i < frames.length; i++) {
      const frame = frames[i];
      const kind = frame.kind(isNeeded);
      if (kind === kMixed) {
        this.isCertain = false;
        return this;
      }
      if (kind === kUser) {
        this.#found(frame, i, packageFrame === null ? callAt(library) : this.call);
        return this;
      }
      if (packageFrame !== null) continue;
      if (kind === kLibrary) {
        library = frame;
      } else if (kind === kPackage) {
        packageFrame = frame;
        this.call = callAt(library);
        this.index = i;
      }
    }
    this.isCut = true;
    this.isLibrarys = frames.every(frame => frame.kind() === kLibrary || frame.script.file.startsWith('node:'));
    this.epoch = positions.epoch;
    if (packageFrame !== null) {
      this.site = packageFrame.site();
    } else {
      this.index = frames.length;
      this.call = frames.map(callAt).find(call => call.isOp) || kNoCall;
    }
    return this;
  }

  #found(frame, index, call) {
    this.isCut = false;
    this.isAsync = frame.isAsync;
    this.site = frame.site();
    this.call = frame.isAsync ? kNoCall : call;
    this.index = index;
    this.epoch = positions.epoch;
  }
}

const kEmpty = new Stack(null, null);

module.exports = {kEmpty, kNoCall, knowFunctions};
