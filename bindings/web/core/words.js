'use strict';
// What a wrong argument is called in the error that refuses it.

function typeName(value) {
  return value === null ? 'null' : typeof value;
}

module.exports = {typeName};
