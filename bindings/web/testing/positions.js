'use strict';
// Lines as the runner shows them. Jest and Vitest run other text than what is in the file, and only
// they know how its lines lie: through Error.prepareStackTrace, which they replace. So each place is
// put to that as the one frame of a stack. The other way, reading source maps, does not work: the maps
// are in the runner's memory, and the files have none.

const kPlace = /([^\s"(]+\.[cm]?[jt]sx?):(\d+)(?::(\d+))?/g;
const kFrame = /(?:\(|at )([^()]*):(\d+):(\d+)\)?\s*$/;

// Where only the line is known: its last mapping is its own, the first may be missing.
const kLastColumn = 10000;

// What V8 gives, as far as runners ask. They copy the methods of its prototype.
class Frame {
  #file;
  #line;
  #column;

  constructor(file, line, column) {
    this.#file = file;
    this.#line = line;
    this.#column = column;
  }

  getFileName() { return this.#file; }
  getScriptNameOrSourceURL() { return this.#file; }
  getLineNumber() { return this.#line; }
  getColumnNumber() { return this.#column; }
  getEvalOrigin() { return undefined; }
  getFunctionName() { return null; }
  getMethodName() { return null; }
  getPromiseIndex() { return null; }
  getThis() { return undefined; }
  getTypeName() { return null; }
  isAsync() { return false; }
  isConstructor() { return false; }
  isEval() { return false; }
  isNative() { return false; }
  isPromiseAll() { return false; }
  isToplevel() { return true; }
  toString() { return `${this.#file}:${this.#line}:${this.#column}`; }
}

function asked(file, line, column) {
  try {
    const stack = Error.prepareStackTrace(new Error(), [new Frame(file, line, column)]);
    return String(stack).match(kFrame);
  } catch {
    return null; // it is the runner's, and may want more of a frame
  }
}

// A text with places in it, such as "step.ts:12", as the runner shows them.
function asShown(text) {
  if (typeof Error.prepareStackTrace !== 'function' || typeof process === 'undefined') return text;
  const folder = `${process.cwd()}/`;
  return text.replace(kPlace, (place, file, line, column) => {
    const full = /^(\/|[A-Za-z]:|file:)/.test(file) ? file : folder + file;
    const shown = asked(full, Number(line), Number(column ?? kLastColumn));
    if (shown === null) return place;
    const name = shown[1].replace(/^file:\/\//, '');
    const short = name.startsWith(folder) ? name.slice(folder.length) : name;
    return `${short}:${shown[2]}${column === undefined ? '' : `:${shown[3]}`}`;
  });
}

module.exports = {asShown};
