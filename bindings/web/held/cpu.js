'use strict';
// The cpu backend: arrays, which V8 collects with the tensors that were dropped.

const {arrayPiece} = require('./arrays');

const kName = 'typed arrays';

function recognises(backend, name) {
  return name === 'cpu' && backend.data != null && typeof backend.data.numDataIds === 'function';
}

function storageOf(backend) {
  return backend.data;
}

// The engine knows the bytes of all backends together.
function rows(backend, engine) {
  const {numBytes, numDataBuffers} = engine.state;
  const count = backend.data.numDataIds();
  const row = {name: kName, live: numBytes, pooled: 0, total: numBytes, pieces: {live: count, pooled: 0}};
  if (count === 0) row.live = row.total = 0;
  else if (count < numDataBuffers) row.note = 'at most: what is in other backends is counted too';
  return [row];
}

function pieces(backend, dataId, data) {
  const piece = arrayPiece(data.values, kName);
  return piece === null ? [] : [piece];
}

// No watching: weak references keep what they refer to until the task ends, and a loop that drops
// its tensors and never waits would fill memory.
const isWatched = false;

module.exports = {isWatched, pieces, recognises, rows, storageOf};
