'use strict';
// Errors of this half: like those of the native half, they have the class that they would be of in
// C++ as their `code`.

const {inspect} = require('util');

function error(code, text) {
  return Object.assign(new Error(text), {code});
}

const shapeError = (text) => error('ShapeError', text);
const dtypeError = (text) => error('DtypeError', text);
const valueError = (text) => error('ValueError', text);

const CODES = new Set([
  'DisposedError',
  'DtypeError',
  'Error',
  'OutOfMemoryError',
  'ShapeError',
  'UnsupportedError',
  'ValueError',
]);

// Whether an error is one of either half's.
function isOurs(thrown) {
  return thrown instanceof Error && CODES.has(thrown.code);
}

// What crosses is an integer of 32 bits: another number would arrive as one that was not meant.
function isInteger(value) {
  return (value | 0) === value;
}

function noInteger(op, value) {
  if (Number.isInteger(value)) {
    return valueError(`${op}: ${value} is beyond 32 bits (-2^31 to 2^31 - 1)`);
  }
  if (typeof value === 'number') return valueError(`${op}: ${value} is not an integer`);
  return valueError(`${op}: expected an integer, got: ${inspect(value)}`);
}

module.exports = {dtypeError, isInteger, isOurs, noInteger, shapeError, valueError};
