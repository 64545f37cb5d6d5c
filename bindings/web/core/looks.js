'use strict';
// Looks at the JavaScript stack. An Error is made where something happens, and nothing else: its
// frames are read when somebody asks, or, for what lives, soon after, because until then the engine
// holds the functions and receivers of the frames alive with it. Reading them costs more than making
// it, and most tensors die young and are never asked for.

const {platform} = require('./platform');
const stacks = require('./stacks');

const kAll = 200;   // frames
const kFew = 7;     // enough for tf.op(x) and x.op(), with our own
const kWary = 32;   // looks that go as deep as they can, to learn how deep they must

let near = kAll;
let wary = kWary;
let deepest = 0;
let misses = 1;      // looks that must see no frame of the user's before all are to go deep again:
let missed = 0;      // twice as many every time, as there may be none to see

// How deep looks go from now on.
function learn(stack, limit) {
  if (!stack.isCertain) return;
  if (stack.isCut && stack.depth >= limit && wary === 0 && ++missed >= misses) {
    near = kAll;
    wary = kWary;
    missed = 0;
    misses *= 2;
  }
  if (stack.site !== null && !stack.isAsync) deepest = Math.max(deepest, stack.index + 1);
  if (wary > 0 && --wary === 0) near = Math.min(kAll, Math.max(kFew, deepest + 1));
}

class Look {
  #error;
  #limit; // 0: nothing is to be learned from it
  #stack = null;

  // `around`: the look at who asked for the activity that this is in, whose site is taken where
  // there is no frame of the user's; or null.
  constructor(error, limit, around) {
    this.#error = error;
    this.#limit = limit;
    this.around = around;
    if (wary > 0 && limit > 0) this.read();
  }

  // Lets go of the frames.
  read() {
    if (this.#error === null) return;
    this.#stack = platform.stackOf(this.#error);
    this.#error = null;
    if (this.around === null && this.#limit > 0) learn(this.#stack.pick(false), this.#limit);
  }

  // The stack, with the user's frame; `isNeeded`: as its source map says, whatever that costs.
  seen(isNeeded) {
    this.read();
    return this.#stack.pick(isNeeded);
  }

  // The user's line; null if there is none.
  get site() {
    const {site, isAsync} = this.seen(true);
    if (this.around !== null && (site === null || isAsync)) return this.around.site || site;
    return site;
  }

  // Whether all of a stack that was seen to its end is TensorFlow.js's, after an await.
  get isLater() {
    const {depth, isLibrarys, site} = this.seen(true);
    return site === null && isLibrarys && depth < (this.#limit || kAll);
  }

  // What the user called there.
  get call() {
    return this.seen(true).call;
  }
}

// Each makes its Error itself: a function more would be a frame more in all of them.

// As deep as is needed, mostly.
function look(around) {
  const previous = Error.stackTraceLimit;
  Error.stackTraceLimit = near;
  const error = new Error();
  Error.stackTraceLimit = previous;
  return new Look(error, near, around);
}

// As deep as the stack is.
function lookFar(around) {
  const previous = Error.stackTraceLimit;
  Error.stackTraceLimit = kAll;
  const error = new Error();
  Error.stackTraceLimit = previous;
  return new Look(error, 0, around);
}

// Whether one of the nearest `limit` frames is the user's: then the look at it, else null. Before
// there is a source map that tells, it may be.
function userWithin(limit) {
  const previous = Error.stackTraceLimit;
  Error.stackTraceLimit = limit + 1;
  const error = new Error();
  Error.stackTraceLimit = previous;
  const found = new Look(error, 0, null);
  const {isCertain, isAsync, site} = found.seen(false);
  return isCertain && (site === null || isAsync) ? null : found;
}

// A birth whose frames are to be read if it outlives the turn.
const kMany = 1024;
let births = [];

function readLiving() {
  for (const life of births) if (life.death === null) life.origin.read();
  births = [];
}

function readSoon(life) {
  if (births.length === 0) platform.soon(readLiving);
  else if (births.length >= kMany) readLiving();
  births.push(life);
}

// What is said where nobody knows which of several lines it was.
const kNowhere = {site: null, isLater: false, call: stacks.kNoCall, read() {}};

module.exports = {kNowhere, look, lookFar, readSoon, userWithin};
