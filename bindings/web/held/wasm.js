'use strict';
// The WebAssembly backend: one memory, which grows and never shrinks, with a heap in it.

const {blockBytes, readHeap} = require('./wasm_heap');

const kName = 'WebAssembly memory';
const kBytes = {float32: 4, int32: 4, bool: 1, complex64: 8};

function recognises(backend) {
  return backend.wasm != null && backend.wasm.HEAPU8 != null && backend.dataIdMap != null;
}

function storageOf(backend) {
  return backend.dataIdMap;
}

function wordsOf({wasm}) {
  return new Uint32Array(wasm.HEAPU8.buffer);
}

// Outside of all calls the stack is empty, and the heap begins where it does.
function heapOf(backend) {
  const {wasm} = backend;
  if (typeof wasm.stackSave !== 'function') return null;
  const base = wasm.stackSave() >>> 0;
  const heap = base === 0 ? null : readHeap(wordsOf(backend), base);
  return heap === null ? null : {...heap, base};
}

function rows(backend, engine) {
  const total = backend.wasm.HEAPU8.buffer.byteLength;
  const heap = heapOf(backend);
  if (heap === null) {
    const live = Math.min(total, engine.state.numBytes);
    return [{
      name: kName, live, pooled: 0, total,
      pieces: {live: backend.dataIdMap.numDataIds(), pooled: 0},
      note: 'live is what the engine counts, with other backends; what is free inside is not known ' +
          'of this build. It grows and never shrinks',
    }];
  }
  const untouched = total - heap.end;
  return [{
    name: kName, live: heap.used, pooled: heap.free + untouched, total,
    pieces: {live: heap.blocks, pooled: heap.freeBlocks},
    note: `it grows and never shrinks; ${heap.base} bytes are the program's own and its stack`,
  }];
}

function index(backend) {
  return wordsOf(backend);
}

function pieces(backend, dataId, data, words) {
  if (data.memoryOffset == null) return [];
  const offset = data.memoryOffset >>> 0;
  const block = blockBytes(words, offset);
  const size = data.shape.reduce((product, n) => product * n, 1);
  const bytes = block === null ? size * (kBytes[data.dtype] || 0) : block;
  return [{key: offset, name: kName, bytes, note: ''}];
}

module.exports = {index, pieces, recognises, rows, storageOf};
