'use strict';
// The WebGPU backend. Its managers have every buffer and texture, in use or pooled, in lists under
// keys "<size>_<usage>" and "<width>_<height>_<format>_<usage>".

const {arrayPiece} = require('./arrays');

const kUniform = 64, kMap = 1 | 2; // bits of GPUBufferUsage

const kTextures = 'WebGPU textures';
const kTexelBytes = 4; // rgba8unorm is the only format there is

function nameOf(usage) {
  if (usage & kMap) return 'WebGPU staging buffers';
  return usage & kUniform ? 'WebGPU uniform buffers' : 'WebGPU storage buffers';
}

function bufferOf(key) {
  const [size, usage] = key.split('_').map(Number);
  return {name: nameOf(usage), bytes: size};
}

function textureOf(key) {
  const [width, height] = key.split('_').map(Number);
  return {name: kTextures, bytes: width * height * kTexelBytes};
}

function recognises(backend) {
  return backend.bufferManager != null && backend.tensorMap != null && backend.device != null;
}

function storageOf(backend) {
  return backend.tensorMap;
}

// Calls see(part, object, name, bytes).
function each(backend, see) {
  const {bufferManager, textureManager} = backend;
  const lists = [
    ['live', bufferManager.usedBuffers, bufferOf], ['pooled', bufferManager.freeBuffers, bufferOf],
    ['live', textureManager.usedTextures, textureOf], ['pooled', textureManager.freeTextures, textureOf],
  ];
  for (const [part, list, read] of lists) {
    for (const [key, objects] of list) {
      const {name, bytes} = read(key);
      for (const object of objects) see(part, object, name, bytes);
    }
  }
}

function rows(backend) {
  const sums = new Map();
  const storage = nameOf(0);
  sums.set(storage, {name: storage, live: 0, pooled: 0, total: 0, pieces: {live: 0, pooled: 0}});
  each(backend, (part, _, name, bytes) => {
    let row = sums.get(name);
    if (row === undefined) {
      row = {name, live: 0, pooled: 0, total: 0, pieces: {live: 0, pooled: 0}};
      sums.set(name, row);
    }
    row[part] += bytes;
    row.total += bytes;
    row.pieces[part]++;
  });
  const waiting = backend.tensorDataPendingDisposal.length;
  if (waiting > 0) {
    sums.get(storage).note = `${waiting} disposed, kept until the commands that use ` +
        `${waiting === 1 ? 'it' : 'them'} are submitted`;
  }
  return [...sums.values()];
}

// Buffer or texture -> {name, bytes}, of all that are in use.
function index(backend) {
  const resources = new Map();
  each(backend, (part, object, name, bytes) => {
    if (part === 'live') resources.set(object, {name, bytes});
  });
  return resources;
}

function pieces(backend, dataId, data, resources) {
  const list = [];
  const {resource} = data;
  if (resource != null) {
    const known = resources.get(resource);
    const note = backend.tensorDataPendingDisposal.includes(dataId) ?
        'disposed, kept until the commands that use it are submitted' : '';
    if (known !== undefined) list.push({key: resource, ...known, note});
    else if (data.external) {
      list.push({
        key: resource, name: 'WebGPU buffers of the program', bytes: resource.size || 0,
        note: 'given by the program, which has to destroy it',
      });
    }
  }
  const copy = arrayPiece(data.values, resource == null ? 'arrays not uploaded' : 'CPU copies');
  if (copy !== null) {
    copy.note = resource == null ? 'goes to the GPU at its first use' :
                                   'kept beside the buffer since it was read';
    list.push(copy);
  }
  return list;
}

module.exports = {index, pieces, recognises, rows, storageOf};
