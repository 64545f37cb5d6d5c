// Where the code of this package is in the file that runs. A bundler puts other code into that too,
// and leaves this in one piece: it lies between its first statement and its last.
import core from '../core/index.js';
import ends from '../core/ends.js';

const {firstFrame} = core.textStacks;
const first = firstFrame(ends[0]);
let last = null;

export const ownFile = first === null ? '' : first.file;

export function isOwnCode(file, line, column) {
  if (file !== ownFile) return false;
  last ??= firstFrame(ends[1]);
  const isFrom = line > first.line || (line === first.line && column >= first.column);
  return isFrom && (line < last.line || (line === last.line && column <= last.column));
}
