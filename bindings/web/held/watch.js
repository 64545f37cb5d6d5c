'use strict';
// The data ids of a backend, which it keeps in a WeakMap that nobody can list. Watching replaces the
// two methods that put one in and take one out; those that come and go are known by weak reference,
// so that what a program drops can still be collected.

class Watch {
  #storage;
  #refs = new Set();
  #known = new WeakMap();

  constructor(storage) {
    this.#storage = storage;
    this.sawAll = storage.numDataIds() === 0; // from the first one on
    const {set, delete: remove} = storage;
    const refs = this.#refs, known = this.#known;
    storage.set = function(dataId, data) {
      if (!known.has(dataId)) {
        const ref = new WeakRef(dataId);
        known.set(dataId, ref);
        refs.add(ref);
      }
      return set.call(this, dataId, data);
    };
    storage.delete = function(dataId) {
      refs.delete(known.get(dataId));
      known.delete(dataId);
      return remove.call(this, dataId);
    };
    this.replaced = {set: storage.set, delete: storage.delete};
  }

  // Those that are reachable; the others were dropped without dispose.
  ids() {
    const list = [];
    for (const ref of this.#refs) {
      const dataId = ref.deref();
      if (dataId === undefined) this.#refs.delete(ref);
      else list.push(dataId);
    }
    return list;
  }

  stop() {
    for (const [name, method] of Object.entries(this.replaced)) {
      if (this.#storage[name] === method) delete this.#storage[name];
    }
  }
}

module.exports = {Watch};
