'use strict';
// What the library is doing on whose behalf: a fit, a prediction, a layer's call, a gradient. An
// activity knows the user's line that asked for it, which is the site of all that happens inside
// when no frame of the user's is near. Synchronous ones nest on a stack; a fit goes on after its
// caller has left, so it travels with its promises.

const {kNowhere, look} = require('./looks');
const {platform} = require('./platform');

let top = null;
let begun = 0;

class Activity {
  constructor(kind, name, op, subject, origin, parent) {
    this.kind = kind;
    this.name = name;
    this.op = op;
    this.subject = subject;
    this.origin = origin;
    this.parent = parent;
    this.number = ++begun;
    this.isAsync = false;
    // No code of the user's runs inside: its site is that of all it does.
    this.isClosed = parent !== null && parent.isClosed;
    this.thread = parent === null ? 0 : parent.thread; // of a recording, as is the span
    this.span = 0;
    this.open = null;
    this.ending = null; // how a scope that the library opens in it ends: see engine_hooks.js
    // The innermost layer and the outermost model around, as text: records of tensors keep these,
    // not the activity, which would hold the model.
    this.layer = kind === 'layer' ? name : parent === null ? '' : parent.layer;
    this.model = parent !== null && parent.model ? parent.model :
        kind === 'model' ? `${op} of model "${name}"` : '';
  }

  get site() {
    return this.origin.site;
  }

  get label() {
    return this.name ? `${this.kind} "${this.name}"` : this.kind;
  }

  // fit of model "m"
  get text() {
    return this.model || (this.kind === 'layer' ? this.label : this.op);
  }
}

// How many activities have begun: what happens while one runs happens at its number or a later one.
function begunSoFar() {
  return begun;
}

function current() {
  return top !== null ? top : platform.travelling.current();
}

// Stands for one of several that go on, where nothing tells which.
function oneOf(several) {
  const texts = [...new Set(several.map(activity => activity.text))];
  const activity = new Activity('several', '', 'one of several', null, kNowhere, null);
  activity.model = texts.length === 1 ? `one of ${several.length} times ${texts[0]}` :
                                        `one of ${texts.join(', ')}`;
  return activity;
}

// A look at the user's line of now, which takes that of the activity around it where the stack has
// none.
function here(takeLook = look) {
  const activity = current();
  if (activity === null) return takeLook(null);
  return activity.isClosed ? activity.origin : takeLook(activity.origin);
}

// The name of what the user called there; '' inside of an activity that runs no code of the user's.
function callHere(origin) {
  const activity = current();
  return activity !== null && activity.isClosed ? '' : origin.call.name;
}

function begin(kind, name, op, subject, takeLook = look) {
  const parent = current();
  const origin = here(takeLook);
  origin.read();
  return new Activity(kind, name, op || callHere(origin) || kind, subject, origin, parent);
}

// A part of the current activity, if there is one, with the same site.
function part(kind, isClosed) {
  const parent = current();
  if (parent === null) return null;
  const activity = new Activity(kind, '', parent.op, null, parent.origin, parent);
  activity.isClosed = isClosed;
  return activity;
}

// Runs f as a part of the activity, which ends when f does.
function run(activity, f) {
  const previous = top;
  top = activity;
  try {
    return f();
  } finally {
    top = previous;
  }
}

// The same for an f that returns a promise.
function runAsync(activity, f) {
  const previous = top;
  top = null;
  try {
    return platform.travelling.run(activity, f);
  } finally {
    top = previous;
  }
}

// Gives a promise of the same; what waits for that, if it begins to before it leaves, goes on as a part
// of the activity until it waits again. Its reactions run one after another: ours, its, and ours.
function resumeIn(activity, promise) {
  const same = promise.then(value => value);
  const begin = () => { top = activity; };
  const end = () => { top = null; };
  same.then(begin, begin);
  queueMicrotask(() => same.then(end, end));
  return same;
}

// The nearest activity of a kind, from the innermost outwards.
function nearest(kind) {
  for (let a = current(); a !== null; a = a.parent) {
    if (a.kind === kind) return a;
  }
  return null;
}

module.exports = {begin, begunSoFar, callHere, current, here, nearest, oneOf, part, resumeIn, run, runAsync};
