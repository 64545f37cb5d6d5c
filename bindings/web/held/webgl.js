'use strict';
// The WebGL backend. Its texture manager has every texture, in use or pooled, in a list under a key
// "<rows>_<columns>_<physical type>_<packed>". The bytes are worked out of the textures' own sizes:
// the backend's counters take a texture that floats are uploaded through for four times its size.

const {arrayPiece} = require('./arrays');

const kPixels = 2; // the physical type of four unsigned bytes
const kNames = ['WebGL textures', 'WebGL pixel textures'];

// By physical type: float16, float32, four bytes, four float32, four float16. WebGL 1 has no
// textures of one channel.
const kTexelBytes = {1: [8, 16, 4, 16, 8], 2: [2, 4, 4, 16, 8]};

function parseKey(key) {
  const [rows, columns, type, packed] = key.split('_');
  const half = packed === 'true' || type === '3' || type === '4' ? 2 : 1;
  return {type: Number(type), texels: Math.ceil(rows / half) * Math.ceil(columns / half)};
}

// Calls see(texture, name, bytes) for each texture of a list.
function eachTexture(backend, lists, see) {
  const texelBytes = kTexelBytes['R32F' in backend.gpgpu.gl ? 2 : 1];
  for (const key in lists) {
    if (lists[key].length === 0) continue;
    const {type, texels} = parseKey(key);
    const name = kNames[type === kPixels ? 1 : 0];
    for (const texture of lists[key]) see(texture, name, texels * texelBytes[type]);
  }
}

function recognises(backend) {
  return backend.textureManager != null && backend.texData != null && backend.gpgpu != null;
}

function storageOf(backend) {
  return backend.texData;
}

function waiting(backend) {
  const n = backend.pendingDeletes;
  return n > 0 ? `${n} disposed, kept until ${n === 1 ? 'its read ends' : 'their reads end'}` : '';
}

function rows(backend) {
  const {freeTextures, usedTextures} = backend.textureManager;
  const sums = kNames.map(name => ({name, live: 0, pooled: 0, total: 0, pieces: {live: 0, pooled: 0}}));
  const add = (part, name, bytes) => {
    const row = sums[kNames.indexOf(name)];
    row[part] += bytes;
    row.total += bytes;
    row.pieces[part]++;
  };
  eachTexture(backend, usedTextures, (_, name, bytes) => add('live', name, bytes));
  eachTexture(backend, freeTextures, (_, name, bytes) => add('pooled', name, bytes));
  const note = waiting(backend);
  if (note) sums[0].note = note;
  return sums.filter((row, i) => i === 0 || row.total > 0);
}

// Texture -> {name, bytes}, of all that are in use.
function index(backend) {
  const textures = new Map();
  eachTexture(backend, backend.textureManager.usedTextures,
              (texture, name, bytes) => textures.set(texture, {name, bytes}));
  return textures;
}

function why(backend, dataId, data) {
  if (backend.pendingDisposal.has(dataId)) return 'disposed, kept until its read ends';
  if (data.slice != null) return 'a slice, which keeps all of the texture it was cut from';
  if (backend.pendingRead.has(dataId)) return 'is being read';
  return '';
}

function pieces(backend, dataId, data, textures) {
  const list = [];
  const known = textures.get(data.texture);
  if (known !== undefined) {
    list.push({key: data.texture, ...known, note: why(backend, dataId, data)});
  }
  const copy = arrayPiece(data.values, data.texture == null ? 'arrays not uploaded' : 'CPU copies');
  if (copy !== null) {
    copy.note = data.texture == null ? 'small ones go to the GPU as uniforms, others at their first use' :
                                       'kept beside the texture since it was read';
    list.push(copy);
  }
  return list;
}

module.exports = {index, pieces, recognises, rows, storageOf};
