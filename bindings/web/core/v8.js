'use strict';
// V8's stacks: frames as objects, with numbers for positions, so that a stack that was seen before
// makes no text.

const {knownPosition, positionAt} = require('./positions');
const {kEmpty} = require('./stacks');

const kShown = /(?:\(|at )([^()]*):(\d+):(\d+)\)?\s*$/;

// Where the program itself shows a frame: a runner that compiles what is in no file (Jest, Vitest)
// keeps the maps of that to itself, and formats stacks with them. null where it says nothing.
function shownPlace(format, frame) {
  try {
    const [, file, line, column] = String(format(new Error(), [frame])).match(kShown);
    return {file, line: Number(line), column: Number(column)};
  } catch {
    return null; // it may want more of a stack, or give none
  }
}

function firstSight(format, frame, file, key) {
  const line = frame.getLineNumber() || 0, column = frame.getColumnNumber() || 0;
  const shown = typeof format === 'function' ? shownPlace(format, frame) : null;
  const isMoved = shown !== null && (shown.line !== line || shown.column !== column);
  return positionAt(file, key, line, column, frame.getFunctionName() || '', frame.isAsync(),
                    isMoved ? shown : null);
}

let frames = [];

function take(_, callSites) {
  frames = callSites;
  return '';
}

// Of an error whose stack nobody has read yet.
function stackOf(error) {
  const format = Error.prepareStackTrace;
  Error.prepareStackTrace = take;
  void error.stack; // formatting it calls take
  Error.prepareStackTrace = format;
  let stack = kEmpty;
  for (const frame of frames) {
    const file = frame.getFileName() || frame.getScriptNameOrSourceURL();
    if (!file) continue; // of the engine
    const key = frame.getPosition();
    stack = stack.with(knownPosition(file, key) || firstSight(format, frame, file, key));
  }
  frames = [];
  return stack;
}

module.exports = {stackOf};
