'use strict';
// V8's stacks: frames as objects, with numbers for positions, so that a stack that was seen before
// makes no text.

const {knownPosition, positionAt} = require('./positions');
const {kEmpty} = require('./stacks');

let stack = kEmpty;

function firstSight(frame, file, key) {
  return positionAt(file, key, frame.getLineNumber() || 0, frame.getColumnNumber() || 0,
                    frame.getFunctionName() || '', frame.isAsync());
}

function intern(_, frames) {
  stack = kEmpty;
  for (let i = 0; i < frames.length; i++) {
    const frame = frames[i];
    const file = frame.getFileName() || frame.getScriptNameOrSourceURL();
    if (!file) continue; // of the engine
    const key = frame.getPosition();
    stack = stack.with(knownPosition(file, key) || firstSight(frame, file, key));
  }
  return '';
}

// Of an error whose stack nobody has read yet.
function stackOf(error) {
  const previous = Error.prepareStackTrace;
  Error.prepareStackTrace = intern;
  stack = kEmpty;
  void error.stack; // formatting it calls intern
  Error.prepareStackTrace = previous;
  return stack;
}

module.exports = {stackOf};
