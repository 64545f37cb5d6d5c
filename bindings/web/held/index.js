'use strict';
// What backends really hold, beside what tf.memory() says of tensors, and who keeps it. Looking makes
// nothing, moves nothing and changes no number: data is asked for only where it already is.

const {backendsOf, engineOf, tensorsOf} = require('./engine');
const unknown = require('./unknown');
const {Watch} = require('./watch');

const kKinds =
    [require('./tenure'), require('./webgl'), require('./webgpu'), require('./wasm'), require('./cpu')];

const watches = new WeakMap(); // by backend, while watch() is on
let unwatch = null;

// The module that knows the backend. Its fields are another version's business: what cannot be read
// is not known.
function kindOf(name, backend) {
  try {
    return kKinds.find(kind => kind.recognises(backend, name)) || unknown;
  } catch {
    return unknown;
  }
}

// What f gives, or what `otherwise` does where the backend is not what it was taken for.
function attempt(f, otherwise) {
  try {
    return f();
  } catch {
    return otherwise();
  }
}

// Rows {backend, name, live, pooled, total, pieces, note}; numbers are bytes, and pieces how many.
// What is total and neither live nor pooled is the backend's own, as the note says.
function held(tf) {
  const engine = engineOf(tf);
  return backendsOf(engine).flatMap(({name, backend}) => {
    const rows = attempt(() => kindOf(name, backend).rows(backend, engine, name),
                         () => unknown.rows(backend, engine, name));
    if (watches.has(backend)) rows.push(...otherRows(new Reader(name, backend), rows));
    return rows.map(row => ({backend: name, ...row}));
  });
}

// Rows of what the backend has no list of, of the data that is watched: arrays beside textures.
function otherRows(reader, rows) {
  const known = new Set(rows.map(row => row.name));
  const others = new Map(), seen = new Set();
  for (const dataId of watches.get(reader.backend).ids()) {
    for (const {key, name, bytes, note} of reader.pieces(dataId)) {
      if (known.has(name) || seen.has(key)) continue;
      seen.add(key);
      const row = others.get(name) ||
          {name, live: 0, pooled: 0, total: 0, pieces: {live: 0, pooled: 0}, note};
      row.live += bytes;
      row.total += bytes;
      row.pieces.live++;
      others.set(name, row);
    }
  }
  return others.values();
}

function isTensor(value) {
  return value != null && typeof value === 'object' && value.dataId != null;
}

// A backend's data, if it has it: has() looks, where get() would move it here from another.
class Reader {
  constructor(name, backend) {
    this.name = name;
    this.backend = backend;
    this.kind = kindOf(name, backend);
    const canRead = this.kind.pieces !== undefined;
    this.storage = canRead ? this.kind.storageOf(backend) : null;
    this.index = canRead && this.kind.index !== undefined ?
        attempt(() => this.kind.index(backend), () => null) : null;
  }

  // Pieces that a data id holds, those of its real and imaginary parts included.
  pieces(dataId) {
    const {storage} = this;
    if (storage === null || !storage.has(dataId)) return [];
    return attempt(() => {
      const data = storage.get(dataId);
      const refs = data.refCount;
      const own = this.kind.pieces(this.backend, dataId, data, this.index).map(piece => ({...piece, refs}));
      const complex = data.complexTensorInfos;
      if (complex == null) return own;
      const parts = [complex.real.dataId, complex.imag.dataId].flatMap(part => this.pieces(part));
      return [...own, ...parts.map(part => ({...part, note: 'a part of complex numbers'}))];
    }, () => []);
  }
}

function readers(engine) {
  return backendsOf(engine).map(({name, backend}) => new Reader(name, backend));
}

// What a tensor, or the data id of one, holds: {backend, name, bytes, note, refs}. `refs` are the
// tensors that the backend counts for it; one more than there are is its own.
function heldBy(tf, tensor) {
  const dataId = isTensor(tensor) ? tensor.dataId : tensor;
  if (dataId == null || typeof dataId !== 'object') {
    const shown = dataId === null ? 'null' : typeof dataId;
    throw new TypeError(`heldBy: expected a tensor or its dataId, got: ${shown}`);
  }
  return readers(engineOf(tf)).flatMap(reader => reader.pieces(dataId).map(
      ({key, ...piece}) => ({backend: reader.name, ...piece})));
}

// Every piece, and who keeps it: {pieces: [{backend, name, bytes, note, refs, data}], unclaimed, isWhole}.
// `data` are data ids, the way from there to tensors is the caller's. Known are those of variables,
// of open scopes, of watch(), and `more` (tensors or data ids). What a row counts as live and no known
// data has is in `unclaimed`, {backend, name, bytes, count}: if `isWhole`, all of that was dropped
// without dispose or belongs to the backend itself; else it may be somebody's.
function walk(tf, more = []) {
  const engine = engineOf(tf);
  const known = new Set();
  for (const tensor of tensorsOf(engine)) known.add(tensor.dataId);
  for (const one of more) known.add(isTensor(one) ? one.dataId : one);
  const all = readers(engine);
  for (const {backend} of all) {
    if (watches.has(backend)) for (const dataId of watches.get(backend).ids()) known.add(dataId);
  }

  const pieces = [], unclaimed = [];
  let isWhole = true;
  for (const reader of all) {
    if (reader.storage === null) continue;
    const found = new Map(); // by the thing itself
    for (const dataId of known) {
      for (const {key, ...piece} of reader.pieces(dataId)) {
        const same = found.get(key);
        if (same === undefined) found.set(key, {backend: reader.name, ...piece, data: [dataId]});
        else if (!same.data.includes(dataId)) {
          same.data.push(dataId);
          same.note = same.note || piece.note;
        }
      }
    }
    pieces.push(...found.values());
    if (reader.storage.numDataIds() > 0) {
      const watched = watches.get(reader.backend);
      isWhole = isWhole && watched !== undefined && watched.sawAll;
    }
    unclaimed.push(...unclaimedOf(reader, engine, [...found.values()]));
  }
  pieces.sort((a, b) => b.bytes - a.bytes);
  return {pieces, unclaimed, isWhole};
}

function unclaimedOf(reader, engine, found) {
  const rows = attempt(() => reader.kind.rows(reader.backend, engine, reader.name), () => []);
  return rows.map(row => {
    const claimed = found.filter(piece => piece.name === row.name);
    const bytes = row.live - claimed.reduce((sum, piece) => sum + piece.bytes, 0);
    return {backend: reader.name, name: row.name, bytes, count: row.pieces.live - claimed.length};
  }).filter(rest => rest.bytes > 0);
}

// From now on the data of the WebGL, WebGPU and WebAssembly backends is known to walk(), until the
// function that this gives is called.
function watch(tf) {
  const engine = engineOf(tf);
  if (unwatch !== null) return unwatch;
  const attach = () => {
    for (const {name, backend} of backendsOf(engine)) {
      const kind = kindOf(name, backend);
      if (kind.pieces === undefined || kind.isWatched === false || watches.has(backend)) continue;
      watches.set(backend, new Watch(kind.storageOf(backend)));
    }
  };
  // The engine calls it whenever it turns to a backend, which may be new.
  const original = engine.setupRegisteredKernels;
  const replacement = function(...args) {
    attach();
    return original.apply(this, args);
  };
  if (typeof original === 'function') engine.setupRegisteredKernels = replacement;
  attach();
  unwatch = () => {
    if (engine.setupRegisteredKernels === replacement) delete engine.setupRegisteredKernels;
    for (const {backend} of backendsOf(engine)) {
      if (watches.has(backend)) watches.get(backend).stop();
      watches.delete(backend);
    }
    unwatch = null;
  };
  return unwatch;
}

module.exports = {held, heldBy, walk, watch};
