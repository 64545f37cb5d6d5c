'use strict';
// What malloc has in the memory of the WebAssembly backend: the blocks of emmalloc, which Emscripten
// put into TensorFlow.js 4 (4.0, 4.10 and 4.22 were looked at). They follow one another from the end
// of the stack on, each with its size in its first and in its last word; the lowest bit of the last
// says that it is free. Where memory was claimed from the system, the first block is the claim's: it
// holds where the claim before began and where this one ends; the next begins there, at a multiple of
// 8. Nothing is believed: sizes that do not agree, or lead elsewhere, make the answer null.

const kSmallest = 16;

const align = address => Math.ceil(address / 8) * 8;

// {used, free, blocks, freeBlocks, end}; bytes with the blocks' own words.
function readHeap(words, base) {
  const limit = words.length * 4;
  if (base % 8 !== 0 || base <= 0 || base + kSmallest > limit) return null;
  const heap = {used: 0, free: 0, blocks: 0, freeBlocks: 0, end: base};
  for (let claim = base, before = 0; claim + kSmallest <= limit;) {
    const end = words[claim / 4 + 2];
    // Past the last claim nobody has written.
    if (words[claim / 4 + 1] !== before || words[claim / 4] === 0) break;
    if (end <= claim || end > limit || end % 4 !== 0 || !readClaim(words, claim, end, heap)) return null;
    heap.used += claim - heap.end; // for alignment
    heap.end = end;
    before = claim;
    claim = align(end);
  }
  return heap.blocks === 0 ? null : heap;
}

function readClaim(words, claim, end, heap) {
  for (let at = claim; at < end;) {
    const size = words[at / 4];
    if (size < kSmallest || size % 4 !== 0 || at + size > end) return false;
    const last = words[(at + size) / 4 - 1];
    if ((last & ~1) >>> 0 !== size) return false;
    if (last & 1) {
      heap.free += size;
      heap.freeBlocks++;
    } else {
      heap.used += size;
      heap.blocks++;
    }
    at += size;
  }
  return true;
}

// Of the block at an offset that malloc gave; null if there is none.
function blockBytes(words, offset) {
  const size = words[offset / 4 - 1], end = offset - 4 + size;
  return size >= kSmallest && end <= words.length * 4 && words[end / 4 - 1] === size ? size : null;
}

module.exports = {blockBytes, readHeap};
