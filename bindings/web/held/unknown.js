'use strict';
// A backend that is not one of the others, or of a version that keeps its things elsewhere: what the
// engine counts, and what the backend says of itself.

function memoryOf(backend) {
  try {
    return backend.memory() || {};
  } catch {
    return {}; // a backend need not tell
  }
}

function rows(backend, engine, name) {
  const own = memoryOf(backend);
  const told = ['numBytesInGPU', 'numBytes'].map(key => own[key]).find(Number.isFinite);
  const live = told === undefined ? engine.state.numBytes : told;
  const source = told === undefined ? 'the engine counts, other backends included' : 'the backend says';
  return [{
    name, live, pooled: 0, total: live,
    note: `live is what ${source}; what this backend really holds is not known`,
  }];
}

module.exports = {rows};
