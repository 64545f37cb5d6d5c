'use strict';
// Where in the user's program something happened: the nearest frame of the JavaScript stack that
// belongs neither to TensorFlow.js nor to this package. A short look comes first; only when it
// shows nothing but library frames, and no activity of the library says on whose behalf it runs,
// is the whole stack walked. Sites are interned, and hold no frame, function or receiver alive.

const path = require('path');
const {fileURLToPath} = require('url');

const kUser = 0, kLibrary = 1, kPackage = 2, kRuntime = 3;

const packageRoot = path.resolve(__dirname, '..', '..') + path.sep;

class Site {
  constructor(file, line, functionName, index) {
    this.file = file;
    this.line = line;
    this.function = functionName;
    this.index = index;
  }

  toString() {
    return `${shortPath(this.file)}:${this.line}`;
  }
}

const kinds = new Map();
const byFile = new Map();
let count = 0;

function toPath(file) {
  return file.startsWith('file://') ? fileURLToPath(file) : file;
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

function classify(file) {
  if (file.startsWith('node:') || !(path.isAbsolute(file) || file.startsWith('file://'))) {
    return kRuntime;
  }
  file = toPath(file);
  if (/[\\/]node_modules[\\/]@tensorflow[\\/]tfjs/.test(file)) return kLibrary;
  if (file.startsWith(packageRoot)) {
    const inside = file.slice(packageRoot.length);
    if (/^lib[\\/]/.test(inside) || !/[\\/]/.test(inside)) return kLibrary;
  }
  return /[\\/]node_modules[\\/]/.test(file) ? kPackage : kUser;
}

function kindOf(file) {
  let kind = kinds.get(file);
  if (kind === undefined) {
    kind = classify(file);
    kinds.set(file, kind);
  }
  return kind;
}

function isLibrary(file) {
  return kindOf(file) === kLibrary;
}

function intern(frame, file) {
  const line = frame.getLineNumber() || 0;
  let lines = byFile.get(file);
  if (lines === undefined) byFile.set(file, lines = new Map());
  let site = lines.get(line);
  if (site === undefined) {
    site = new Site(toPath(file), line, frame.getFunctionName() || '', count++);
    lines.set(line, site);
  }
  return site;
}

// What the user called: "relu__op" is tf.relu, "getGlobalTensorClass.tanh" is x.tanh. An op is its
// own name for what it makes; what other functions make is named after the kernel that made it.
const calls = new Map();
const kNoCall = {name: '', isOp: false};

function callOf(frame) {
  const name = frame === null ? null : frame.getFunctionName();
  if (!name) return kNoCall;
  let call = calls.get(name);
  if (call === undefined) {
    const isOp = name.endsWith('__op') || name.startsWith('getGlobalTensorClass.');
    call = {name: name.replace(/^.*[. ]/, '').replace(/__op$/, '').replace(/_$/, ''), isOp};
    calls.set(name, call);
  }
  return call;
}

// What the last look saw. One object, so that looking allocates nothing but the frames.
const seen = {site: null, call: kNoCall, cut: false};
let limitOfLook = 0;

function pick(_, frames) {
  let library = null, packageSite = null;
  for (let i = 0; i < frames.length; i++) {
    const frame = frames[i];
    const file = frame.getFileName();
    const kind = file ? kindOf(file) : kRuntime;
    if (kind === kUser) {
      seen.cut = false;
      if (packageSite === null) seen.call = callOf(library);
      return intern(frame, file);
    }
    if (packageSite !== null) continue;
    if (kind === kLibrary) {
      library = frame;
    } else if (kind === kPackage) {
      packageSite = intern(frame, file);
      seen.call = callOf(library);
    }
  }
  seen.cut = frames.length === limitOfLook;
  if (packageSite === null) {
    seen.call = kNoCall;
    for (let i = 0; i < frames.length && i < 3 && !seen.call.isOp; i++) seen.call = callOf(frames[i]);
    if (!seen.call.isOp) seen.call = kNoCall;
  }
  return packageSite;
}

// Looks at the `limit` frames that called the function `below`. The answer is good until the next.
function look(below, limit) {
  const previousLimit = Error.stackTraceLimit, previousPrepare = Error.prepareStackTrace;
  const holder = {};
  limitOfLook = limit;
  Error.stackTraceLimit = limit;
  Error.prepareStackTrace = pick;
  Error.captureStackTrace(holder, below);
  seen.site = holder.stack; // formatting it calls pick
  Error.prepareStackTrace = previousPrepare;
  Error.stackTraceLimit = previousLimit;
  return seen;
}

function forget() {
  seen.site = null;
  seen.call = kNoCall;
}

// All frames: what happens once per error or fit can afford it.
const kAll = 200;

look.seen = seen;

module.exports = {forget, isLibrary, look, kAll};
