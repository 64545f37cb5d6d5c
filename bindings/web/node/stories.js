'use strict';
// Stories for programs that use TensorFlow.js, on any backend. explain() watches every copy of the
// package that is loaded or will be; after it, "Tensor is disposed" tells the tensor's life.

const {isMainThread} = require('worker_threads');

const {explain: core, growth, leaks, story, words} = require('../core');
const {version} = require('../package.json');
const loaded = require('./loaded');
const {knowBackend, openFile} = require('./platform');
const {watchLoaders} = require('./source_maps');

let asked = false; // by explain(), not only for a recording or a while
let watches = 0;   // that have not ended
watchLoaders();

// tfjs-layers does not export the registry of classes; tfjs-core, which it needs, does.
function loadedSerialization() {
  const file = Object.keys(require.cache).find(
      name => /[\\/]@tensorflow[\\/]tfjs-core[\\/]/.test(name) && require.cache[name].exports.serialization);
  return require.cache[file].exports.serialization;
}

function printSummary() {
  process.stderr.write(`${leaks.summary()}\n`);
}

function switchOn() {
  core.switchOn(() => loaded.onEachLoaded(exports => core.hook(exports, loadedSerialization)));
}

function switchOffIfUnused() {
  if (!asked && watches === 0 && !core.isRecording) core.switchOff();
}

function checkOptions(options) {
  if (options === null || typeof options !== 'object') {
    throw new TypeError(
        `explain: expected options, TensorFlow.js or false, got: ${words.typeName(options)}`);
  }
  const unknown = Object.keys(options).find(name => name !== 'summary');
  if (unknown !== undefined) {
    throw new TypeError(`explain: no such option: ${unknown}; there is: summary`);
  }
}

// explain() or explain({summary: false}): from now on lives are recorded. explain(false): no more. A
// TensorFlow.js inside of a bundle is nobody's module: explain(tf) watches that one too.
function explain(first = {}, second = {}) {
  if (first === false) {
    asked = false;
    process.removeListener('exit', printSummary);
    if (watches === 0) core.switchOff();
    return;
  }
  const isGiven = first !== null && core.isTensorflow(first);
  const options = isGiven ? second : first;
  checkOptions(options);
  switchOn();
  if (isGiven) core.hook(first, () => first.serialization);
  asked = true;
  process.removeListener('exit', printSummary);
  if (options.summary !== false && process.env.TENURE_SUMMARY !== '0') {
    process.on('exit', printSummary);
  }
}

// A file for `tenure report`, from now until close() or the end of the program.
function record(path) {
  if (typeof path !== 'string' || path === '') {
    throw new TypeError(`record: expected the path of a file, got: ${path}`);
  }
  const end = core.beginRecording(() => openFile(path), version);
  switchOn();
  const atExit = () => end(true);
  const close = () => {
    process.removeListener('exit', atExit);
    end(false);
    switchOffIfUnused();
  };
  process.on('exit', atExit);
  return {path, close};
}

// Lives are recorded at least until what it gives is called; explain() is then as it was, or as the
// program has set it meanwhile.
function watch(tf) {
  switchOn();
  if (tf !== undefined) core.hook(tf, () => tf.serialization);
  watches++;
  return () => {
    watches--;
    switchOffIfUnused();
  };
}

// A moment to compare with, and another turn of what repeats, for growth().
function mark() {
  growth.turn();
  return leaks.mark();
}

// As TENURE_TRACE says. The native library, which would write the same file, must not see it. A
// worker thread cannot hide it from the library, so that the recording of one is left to that.
function recordAsAsked() {
  const given = process.env.TENURE_TRACE;
  if (!given || !isMainThread) return;
  delete process.env.TENURE_TRACE;
  try {
    record(given.replaceAll('%p', process.pid));
  } catch (error) {
    process.stderr.write(`tenure: TENURE_TRACE=${given}: nothing is recorded: ${error.message}\n`);
  }
}

module.exports = {
  DisposedError: story.DisposedError, explain, growth: growth.growth, knowBackend, leaks: leaks.leaks,
  loaded, mark, record, recordAsAsked, story: core.story, watch,
};
