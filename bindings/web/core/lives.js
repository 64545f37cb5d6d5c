'use strict';
// The life of every tensor: where it was born and of what, the tidy and the layer it was born in,
// what ended it and where. A record is a few words, found from the tensor for as long as that is
// reachable; records of tensors that were never disposed are listed too.
//
// A tensor that is dropped, and collected, without ever being disposed is a leak by TensorFlow.js's
// count, but nobody can ask for its story again: it is counted, and its record goes. Tensors that
// were born one after another hold a token together, as one registration for each would cost more
// than the rest of explaining.

const {begunSoFar, current} = require('./activities');
const attached = require('./attached');
const {readSoon} = require('./looks');
const {platform} = require('./platform');

const kBytes = {float32: 4, int32: 4, bool: 1, complex64: 8};

class Life {
  #group; // lists it at its place until it dies
  #place;
  #op;

  // `op`: null where the user's call has no other name than that of the function.
  constructor(id, op, dtype, shape, name, nbytes, origin, scope, activity, owner, storage) {
    this.id = id;
    this.serial = births++;
    this.born_ms = platform.now();
    this.used_ms = this.born_ms; // as an input, or read: for recordings
    this.#op = op;
    this.origin = origin;
    this.dtype = dtype;
    this.shape = shape;
    this.name = name;
    this.nbytes = nbytes;
    this.scope = scope;
    this.layer = activity === null ? '' : activity.layer;
    this.model = activity === null ? '' : activity.model; // predict of model "m"
    this.owner = owner;      // 'tape' for what a gradient saves, 'variable'; else ''
    this.storage = storage;
    this.isOptimizers = activity !== null && activity.kind === 'optimizer';
    this.begun = begunSoFar(); // of activities
    this.keeping = null;     // the look at tf.keep
    this.death = null;
    this.#group = group;
    this.#place = group.length;
    group.push(this);
  }

  get op() {
    return this.#op === null ? this.origin.call.name || 'tensor' : this.#op;
  }

  get site() {
    const {site} = this.origin;
    if (site !== null) site.bears();
    return site;
  }

  // Why it has no site, if that is known.
  get why() {
    return this.site === null && this.origin.isLater ? 'after an await inside of TensorFlow.js' : '';
  }

  get kept() {
    return this.keeping === null ? null : this.keeping.site;
  }

  leaveGroup() {
    this.#group[this.#place] = null;
  }
}

class Death {
  #by;

  // `origin`: null where nobody saw it. `by`: a text, or null for what its end says.
  constructor(cause, origin, by, ending) {
    this.cause = cause;
    this.origin = origin;
    this.#by = by;
    this.ending = ending;
    this.isSeen = true; // false: found to have happened while nobody looked
    this.begun = begunSoFar(); // of activities
  }

  get site() {
    return this.origin === null ? null : this.origin.site;
  }

  get by() {
    return this.#by === null ? `${this.ending.label} ended` : this.#by;
  }
}

class Storage {
  constructor(id, nbytes, slot) {
    this.id = id;
    this.nbytes = nbytes;
    this.slot = slot; // in which the tenure backend has the data; undefined for another's
    this.tensors = 0; // that we know of
    this.others = 0;  // from before explain()
    this.freed = false;
  }
}

// A tidy of the user's. Those that the library opens for itself have none: what is born in them
// belongs to the user's around them.
class Scope {
  constructor(name, origin, isTidy) {
    this.name = name;
    this.origin = origin;
    this.isTidy = isTidy; // false: its ends are two calls of the user's
    this.isAsync = false;
    this.trace = null; // the recording that knows it, with its span and thread there
    this.span = 0;
    this.thread = 0;
  }

  get site() {
    return this.origin.site;
  }

  // tidy "step", or: tidy of trainStep
  get label() {
    if (this.name) return `tidy "${this.name}"`;
    const name = this.site === null ? '' : this.site.function;
    return name ? `tidy of ${name}` : 'tidy';
  }
}

let births = 0;
const alive = new Set(); // of Life
let nextStorage = 1;

const kGroup = 64;
let group = []; // lives of the tensors that hold the token
let token = {};
const collected = new FinalizationRegistry(dropAll);
collected.register(token, group);

function dropAll(lives) {
  for (const life of lives) {
    if (life === null || !alive.delete(life)) continue;
    observers.dropped(life);
    if (observers.trace !== null) observers.trace.lastUse(life);
  }
}

function newGroup() {
  group = [];
  token = {};
  collected.register(token, group);
}

// What was recorded before explain(false) is incomplete: it is told when it is asked for, and counts
// for nothing.
let firstLife = 0;
let firstStorage = 1;
let wasOff = false; // between two periods of looking, or after the only one
const seen = {tensors: 0, bytes: 0}; // of tensors that were not disposed, as the engine counts

function forgetAll() {
  wasOff = true;
  seen.tensors = seen.bytes = 0;
  alive.clear();
  observers.forgotten();
  firstLife = births;
  firstStorage = nextStorage;
}

// Of tensors; undefined for one that has none.
const lives = {
  get(tensor) {
    const life = attached.lives.get(tensor);
    return life !== undefined && life.serial >= firstLife ? life : undefined;
  },
};

// The same of data ids.
const storages = {
  get(dataId) {
    const storage = attached.storages.get(dataId);
    return storage !== undefined && storage.id >= firstStorage ? storage : undefined;
  },
};

// Deaths of tensors that have no life, or one from before explain(false).
const otherDeaths = new WeakMap();

// When that was which nobody saw.
function whenUnseen() {
  return wasOff ? 'while explain() was off' : 'before explain() was called';
}

// Why nobody knows where a tensor was born that is alive.
function whyUnseen() {
  return wasOff ? 'born while explain() was off, or forgotten when it was switched off' :
                  'born before explain() was called';
}

function howToSee() {
  return wasOff ? 'leave explain() on' : 'call explain() first';
}

function unseenDeath(tensor) {
  const death = otherDeaths.get(tensor);
  if (death !== undefined || !tensor.isDisposed) return death || null;
  return Object.assign(new Death('disposed', null, whenUnseen(), null), {isSeen: false});
}

// A life with what is told of it as fields of its own, which a copy keeps.
function toldOf(life) {
  const {op, site, why, kept} = life;
  return {...life, op, site, why, kept};
}

// What can be told of a tensor: its life, as far as it was seen. Without a storage where nobody
// knows who else holds the data.
function recordOf(tensor) {
  const life = attached.lives.get(tensor);
  if (life === undefined) {
    const {id, dtype, shape} = tensor;
    return {
      id, dtype, shape, name: nameOf(tensor), op: '', nbytes: bytesOf(tensor),
      site: null, why: '', scope: null, layer: '', model: '', owner: isVariable(tensor) ? 'variable' : '',
      isOptimizers: false, kept: null, storage: null, death: unseenDeath(tensor),
    };
  }
  if (life.serial >= firstLife || life.death !== null) return life;
  return {...toldOf(life), storage: null, death: unseenDeath(tensor)};
}

const observers = {
  born: () => {},       // told that something was: see browser/frames.js
  trace: null,          // told of everything, when there is one: see trace.js
  dropped: () => {},    // told of a life whose tensor was collected undisposed: see leaks.js,
  forgotten: () => {},  // and when none is to be remembered
};

function storageOf(dataId, nbytes) {
  let storage = storages.get(dataId);
  if (storage === undefined) {
    storage = new Storage(nextStorage++, nbytes, dataId.slot);
    attached.storages.set(dataId, storage);
  }
  return storage;
}

function bytesOf(tensor) {
  return tensor.size * (kBytes[tensor.dtype] || 0);
}

function isVariable(tensor) {
  return typeof tensor.assign === 'function';
}

// The engine counts no bytes of complex numbers.
function countSeen(life, change) {
  seen.tensors += change;
  if (life.dtype !== 'complex64') seen.bytes += change * life.nbytes;
}

// A number is the engine's name for a variable that its user gave none.
function nameOf(tensor) {
  return tensor.name && !/^\d+$/.test(tensor.name) ? tensor.name : '';
}

// `strings` gives the values of a string tensor, `holders` tells how many tensors have the data, with
// this one.
function born(tensor, op, origin, scope, owner, strings, holders) {
  const nbytes = tensor.dtype === 'string' ?
      strings().reduce((sum, text) => sum + text.length, 0) : bytesOf(tensor);
  const known = storages.get(tensor.dataId);
  const storage = known === undefined ? storageOf(tensor.dataId, nbytes) : known;
  if (known === undefined) storage.others = holders() - 1;
  const life = new Life(
      tensor.id, op, tensor.dtype, tensor.shape, nameOf(tensor), nbytes, origin, scope, current(),
      owner, storage);
  storage.tensors++;
  countSeen(life, 1);
  attached.lives.set(tensor, life, token);
  alive.add(life);
  readSoon(life);
  observers.born();
  if (group.length === kGroup) newGroup();
  if (observers.trace !== null) observers.trace.born(life, known === undefined);
  return life;
}

// `isCounted`: by the engine, until now.
function died(life, death, isCounted) {
  life.death = death;
  if (isCounted) countSeen(life, -1);
  life.storage.tensors--;
  alive.delete(life);
  life.leaveGroup();
  if (observers.trace !== null) observers.trace.died(life);
}

// While something is recorded.
function used(tensor) {
  const life = tensor == null || typeof tensor !== 'object' ? undefined : lives.get(tensor);
  if (life !== undefined) life.used_ms = platform.now();
}

// A variable lets go of one storage and takes another.
function assigned(variable) {
  const life = lives.get(variable);
  if (life === undefined) {
    const storage = storages.get(variable.dataId);
    if (storage !== undefined) storage.others++;
    return;
  }
  const isNew = storages.get(variable.dataId) === undefined;
  life.storage.tensors--;
  life.storage = storageOf(variable.dataId, life.nbytes);
  life.storage.tensors++;
  if (observers.trace !== null) observers.trace.assigned(life, isNew);
}

// A tensor from before explain() lets go of its data, because of its death if that is not null.
function otherDied(tensor, death) {
  if (death !== null) otherDeaths.set(tensor, death);
  const storage = storages.get(tensor.dataId);
  if (storage !== undefined && storage.others > 0) storage.others--;
}

function freed(dataId) {
  const storage = storages.get(dataId);
  if (storage === undefined || storage.freed) return;
  storage.freed = true;
  attached.storages.set(dataId, undefined);
  if (observers.trace !== null) observers.trace.freed(storage);
}

module.exports = {
  Death, Scope, alive, assigned, born, died, forgetAll, freed, howToSee, isVariable, lives,
  observers, otherDied, recordOf, seen, toldOf, used, whenUnseen, whyUnseen,
  get births() { return births; },
  get firstLife() { return firstLife; },
};
