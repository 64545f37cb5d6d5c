'use strict';
// Errors of kernels, with the user's line: V8 keeps ten frames of a stack, and those between a
// kernel and the user, of which ours is one more, may be as many.

const {current} = require('./activities');
const {alive, observers} = require('./lives');
const {platform} = require('./platform');
const {cutStack, during, place, showUserFrames, table, title, userFrames} = require('./story');

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

// What holds most of the memory that ran out, with the lines that made it.
function largestText(largest) {
  const lives = largest.map(({slot}) => lifeIn(slot));
  const sites = lives.map(life => life === null ? null : life.site); // all, before any is written
  const rows = largest.map(({size, text}, i) => {
    const life = lives[i];
    const told = life === null ? `${text}, born (unknown)` :
        `${title(life)}, born ${place(sites[i])} ${life.op}`;
    return `  ${size.padStart(12)}  ${told}`;
  });
  return ['  the largest live tensors:', ...rows].join('\n');
}

// The problem, the line of use and, where memory ran out, what holds it and what to do. Other
// remedies are for who writes C++.
function messageWithUse(error, op, site) {
  const used = table([['used', place(site), op, during(current(), op, site)]]);
  const {problem = error.message} = error;
  const paragraphs = [error.op ? `${error.op}: ${problem}` : problem, used];
  if (error.code !== 'OutOfMemoryError') return `${paragraphs.join('\n\n')}\n`;
  if (error.largest.length > 0) paragraphs.push(largestText(error.largest));
  return [...paragraphs, ...error.details, `  ${error.remedy}`].join('\n\n');
}

// The error with the user's line in its stack and, if it is one of ours, in its message.
function kernelError(error, op, site, below) {
  if (!(error instanceof Error) || 'site' in error) return error;
  const isCut = userFrames(error.stack) === '';
  if (platform.isBackendError(error)) {
    const told = {
      type: error.code, op: error.op || op, problem: error.problem ?? error.message,
      remedy: error.code === 'OutOfMemoryError' ? error.remedy : '',
    };
    error.message = messageWithUse(error, op, site);
    Object.defineProperty(error, 'site', {value: site});
    const {trace} = observers;
    if (trace !== null) trace.raised({...told, text: error.message}, site, null);
    if (isCut) cutStack(error, below);
    showUserFrames(error);
  } else if (isCut) {
    cutStack(error, below);
  }
  return error;
}

module.exports = {kernelError};
