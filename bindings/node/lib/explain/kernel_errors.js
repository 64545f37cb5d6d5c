'use strict';
// Errors of kernels, with the user's line: V8 keeps ten frames of a stack, and those between a
// kernel and the user, of which ours is one more, may be as many.

const {current} = require('./activities');
const {isOurs} = require('../errors');
const {alive, observers} = require('./lives');
const {during, place, showUserFrames, table, title, userFrames} = require('./story');

// The youngest life whose data is in a slot of the tenure backend: an older one was in it before. A
// slot below zero is none.
function lifeIn(slot) {
  let found = null;
  if (slot < 0) return found;
  for (const life of alive) {
    if (life.storage.slot === slot && !life.storage.freed) found = life;
  }
  return found;
}

const kLargest = '  the largest live tensors:';

// What ran out of memory says which slots hold most of it, in the order of its rows.
function withBirths(message, slots) {
  const lines = message.split('\n');
  const first = lines.indexOf(kLargest) + 1;
  slots.forEach((slot, i) => {
    const life = lifeIn(slot);
    const [size] = lines[first + i].match(/^ *\S+ \S+ {2}/);
    lines[first + i] = life === null ? `${lines[first + i]}, born (unknown)` :
        `${size}${title(life)}, born ${place(life.site)} ${life.op}`;
  });
  return lines.filter(line => !line.startsWith('  explain() ')).join('\n');
}

function withUse(message, op, site) {
  const used = table([['used', place(site), op, during(current(), op, site)]]);
  const [problem, ...rest] = message.split('\n');
  return [problem, '', used, ...rest].join('\n') + (rest.length > 0 ? '' : '\n');
}

// The error with the user's line in its stack and, if it is one of ours, in its message.
function kernelError(error, op, site, below) {
  if (!(error instanceof Error) || 'site' in error) return error;
  const isCut = userFrames(error.stack) === '';
  if (isOurs(error)) {
    if (error.slots !== undefined) error.message = withBirths(error.message, error.slots);
    error.message = withUse(error.message, op, site);
    Object.defineProperty(error, 'site', {value: site});
    const {trace} = observers;
    if (trace !== null) trace.raised(`${error.code}: ${error.message}`, site, null);
    if (isCut) Error.captureStackTrace(error, below);
    showUserFrames(error);
  } else if (isCut) {
    Error.captureStackTrace(error, below);
  }
  return error;
}

module.exports = {kernelError};
