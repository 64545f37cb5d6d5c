'use strict';
// What the library is doing on whose behalf: a fit, a prediction, a layer's call, a gradient. An
// activity knows the user's line that asked for it, which is the site of all that happens inside
// when no frame of the user's is near. Synchronous ones nest on a stack; a fit goes on after its
// caller has left, so it travels with its promises.

const {AsyncLocalStorage} = require('async_hooks');
const {forget, look, kAll} = require('./sites');

const kFurther = 10; // frames, when the first look found none

const travelling = new AsyncLocalStorage();
let top = null;
let begun = 0;

class Activity {
  constructor(kind, name, op, subject, site, parent) {
    this.kind = kind;
    this.name = name;
    this.op = op;
    this.subject = subject;
    this.site = site;
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
  return top !== null ? top : travelling.getStore() || null;
}

// The user's line that called `below`: near if it is there, else that of the activity around it,
// else wherever on the stack it is.
function siteOf(below, limit) {
  const activity = current();
  if (activity !== null && activity.isClosed) {
    forget();
    return activity.site;
  }
  const seen = look(below, limit);
  if (seen.site !== null && !seen.cut) return seen.site;
  if (seen.site === null && activity !== null) return activity.site;
  for (const further of [kFurther, kAll]) {
    if (!seen.cut) break;
    const {call, site} = seen;
    look(below, further);
    if (call.isOp) seen.call = call;
    if (seen.site === null) seen.site = site;
  }
  return seen.site;
}

function begin(below, kind, name, op, subject) {
  const parent = current();
  const site = siteOf(below, 4);
  return new Activity(kind, name, op || look.seen.call.name || kind, subject, site, parent);
}

// A part of the current activity, if there is one, with the same site.
function part(kind, isClosed) {
  const parent = current();
  if (parent === null) return null;
  const activity = new Activity(kind, '', parent.op, null, parent.site, parent);
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
    return travelling.run(activity, f);
  } finally {
    top = previous;
  }
}

// The nearest activity of a kind, from the innermost outwards.
function nearest(kind) {
  for (let a = current(); a !== null; a = a.parent) {
    if (a.kind === kind) return a;
  }
  return null;
}

module.exports = {begin, begunSoFar, current, nearest, part, run, runAsync, siteOf};
