'use strict';
// The lines of a stack as text, as V8 ("    at f (file:1:2)"), SpiderMonkey and JavaScriptCore
// ("f@file:1:2") write them.

const {positionAt} = require('./positions');
const {kEmpty} = require('./stacks');

const kPlace = /^(.+?):(\d+)(?::(\d+))?$/;
const kEval = /^(.*?) line (\d+) > .*$/;              // SpiderMonkey: code that eval made, and where
const kCause = /^(async|[\w .]+ (?:callback|handler))\*/; // SpiderMonkey: why it runs later

function frameAt(functionName, place, isAsync) {
  const found = place.match(kPlace);
  if (found === null) return null;
  let [, file, line, column] = found;
  if (file === '<anonymous>' || file === '[native code]') return null;
  const made = file.match(kEval);
  if (made !== null) [, file, line, column] = [...made, '0'];
  return {function: functionName, file, line: Number(line), column: Number(column || 0), isAsync};
}

function v8Frame(text) {
  const isAsync = text.startsWith('async ');
  if (isAsync) text = text.slice(6);
  // Of eval, the place is where that was called: eval at f (file:1:2), <anonymous>:1:1
  const made = text.match(/\(eval at [^]*?\(([^()]*:\d+:\d+)\)[^]*\)$/);
  if (made !== null) return frameAt('eval', made[1], isAsync);
  const named = text.match(/^(.*?) \((.*)\)$/);
  if (named === null) return frameAt('', text, isAsync);
  return frameAt(named[1].replace(/^new /, '').replace(/ \[as [^\]]*\]$/, ''), named[2], isAsync);
}

function otherFrame(text) {
  const cause = text.match(kCause);
  if (cause !== null) text = text.slice(cause[0].length);
  const resumed = text.startsWith('async ');
  if (resumed) text = text.slice(6);
  const at = text.indexOf('@');
  // A place alone has an @ too, if its path does.
  const hasName = at >= 0 && !/^[a-z-]+:\/\//.test(text) && !text.startsWith('/');
  const name = hasName ? text.slice(0, at) : '';
  const place = hasName ? text.slice(at + 1) : text;
  const isCode = /^(global|module|eval) code$/.test(name);
  return frameAt(isCode ? '' : name.replace(/\/?<.*$/, ''), place, cause !== null || resumed);
}

// {function, file, line, column, isAsync}; null for a line that is no frame, or one of the engine's.
function frameIn(line) {
  const v8 = line.match(/^ +at (.*)$/);
  return v8 === null ? otherFrame(line) : v8Frame(v8[1]);
}

const positionsOfLines = new Map();

function positionOf(text, isLater) {
  const key = isLater ? `later ${text}` : text;
  let position = positionsOfLines.get(key);
  if (position === undefined) {
    const frame = frameIn(text);
    position = null;
    if (frame !== null) {
      const number = frame.line * 1e6 + frame.column + (isLater || frame.isAsync ? 0.75 : 0.25);
      position = positionAt(frame.file, number, frame.line, frame.column, frame.function,
                            isLater || frame.isAsync);
    }
    positionsOfLines.set(key, position);
  }
  return position;
}

// The stack of an error, read from its text.
function stackOf(error) {
  let stack = kEmpty, isLater = false;
  for (const line of error.stack.split('\n')) {
    const position = positionOf(line, isLater);
    if (position === null) continue;
    isLater = position.isAsync;
    stack = stack.with(position);
  }
  return stack;
}

// The frame that made an error; null if its stack does not say.
function firstFrame(error) {
  for (const line of error.stack.split('\n')) {
    const frame = frameIn(line);
    if (frame !== null) return frame;
  }
  return null;
}

module.exports = {firstFrame, frameIn, stackOf};
