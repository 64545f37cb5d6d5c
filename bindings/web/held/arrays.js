'use strict';
// Arrays of JavaScript that a backend has data in.

// Null where there is none, or one of strings. All of the buffer is held, however little of it the
// array sees: a slice of the cpu backend is such a view.
function arrayPiece(values, name) {
  if (values == null) return null;
  const buffer = values instanceof ArrayBuffer ? values : values.buffer;
  if (buffer == null) return null;
  const seen = values.byteLength;
  const note = seen === buffer.byteLength ? '' : `a view of ${seen} bytes keeps all of its array`;
  return {key: buffer, name, bytes: buffer.byteLength, note};
}

module.exports = {arrayPiece};
