'use strict';
// Records that travel with objects of TensorFlow.js, where nobody sees them: a private field that is
// put on the object. A WeakMap would do the same, and cost the garbage collector more than all the
// rest of explaining.

class Given {
  constructor(object) {
    return object;
  }
}

// A tensor also holds the token of its life's group: see lives.js.
class WithLife extends Given {
  #life;
  #token;

  constructor(tensor, life, token) {
    super(tensor);
    this.#life = life;
    this.#token = token;
  }

  static get(tensor) {
    return #life in tensor ? tensor.#life : undefined;
  }

  static set(tensor, life, token) {
    if (#life in tensor) {
      tensor.#life = life;
      tensor.#token = token;
    } else {
      new WithLife(tensor, life, token);
    }
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
