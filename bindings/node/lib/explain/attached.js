'use strict';
// Records that travel with objects of TensorFlow.js, where nobody sees them: a private field that is
// put on the object. A WeakMap would do the same, and cost the garbage collector more than all the
// rest of explaining.

class Given {
  constructor(object) {
    return object;
  }
}

class WithLife extends Given {
  #life;

  constructor(tensor, life) {
    super(tensor);
    this.#life = life;
  }

  static get(tensor) {
    return #life in tensor ? tensor.#life : undefined;
  }

  static set(tensor, life) {
    if (#life in tensor) tensor.#life = life;
    else new WithLife(tensor, life);
  }
}

class WithStorage extends Given {
  #storage;

  constructor(dataId, storage) {
    super(dataId);
    this.#storage = storage;
  }

  static get(dataId) {
    return #storage in dataId ? dataId.#storage : undefined;
  }

  static set(dataId, storage) {
    if (#storage in dataId) dataId.#storage = storage;
    else new WithStorage(dataId, storage);
  }
}

// Both give undefined for an object that has none.
module.exports = {lives: WithLife, storages: WithStorage};
