// Tensors that are dropped instead of disposed of give their memory back when V8 has collected
// them. Watching each would cost more than a small op, so small tensors share a token: all of a
// group hold it, and when it is collected the slots of the group are freed. So one that is kept
// keeps the others of its group, a few KiB at most. Larger ones have a token each. A token whose
// tensors were all disposed of is used again.
//
// Which tokens are gone is asked (native/tokens.h), not told: FinalizationRegistry answers only
// when the event loop comes round, and until then a loop would hold all that it ever made. It is
// asked when our memory has grown by a MiB and V8 has collected meanwhile, and, for a program that
// makes nothing more, after each collection when the event loop does come round.
'use strict';

const bridge = require('./bridge');

const NOT_HERE = -2; // no slot: disposed of, or moved to another backend
const GROUP_SIZE = 64;
const SMALL = 256; // elements at most; a larger tensor is a group of its own
const SPARE_TOKENS = 1024; // of large tensors, to use again

class Group {
  constructor(groups, size) {
    this.groups = groups; // it is one of
    this.slots = new Int32Array(size).fill(NOT_HERE);
    this.live = 0;
    this.complex = 0; // of the live ones
    this.next = 0; // place to fill
  }
}

const watched = []; // groups by their tokens' numbers
const freeNumbers = [];

function watch(token) {
  const number = freeNumbers.length > 0 ? freeNumbers.pop() : watched.length;
  watched[number] = token.group;
  bridge.watch(number, token);
  return token;
}

// Frees what the tensors held that are gone.
function collectLost() {
  for (const number of bridge.lost()) {
    const group = watched[number];
    watched[number] = null;
    freeNumbers.push(number);
    group.groups.drop(group);
  }
  bridge.flush();
}

// An object that nobody holds tells of the next collection, and then another one does.
const collections = new FinalizationRegistry(() => {
  collectLost();
  awaitCollection();
});
function awaitCollection() {
  collections.register({}, undefined);
}
awaitCollection();

// The engine counts a complex tensor's two parts as if they had ids of their own.
function idsOf(data) {
  return data.dtype === 'complex64' ? 3 : 1;
}

// The groups of one backend. Its data have a token and a place, which are ours.
class Groups {
  constructor() {
    this.count = 0; // of data ids, as the engine counts them
    this.all = new Set();
    this.emptied = []; // tokens to use again
    this.emptiedLarge = [];
    this.token = this.smallToken();
  }

  newToken(size) {
    const token = {group: new Group(this, size)};
    this.all.add(token.group);
    return watch(token);
  }

  // The token of the group that small tensors join now.
  smallToken() {
    if (bridge.hasCollected()) collectLost();
    return this.emptied.pop() || this.newToken(GROUP_SIZE);
  }

  largeToken() {
    if (bridge.hasCollected()) collectLost();
    return this.emptiedLarge.pop() || this.newToken(1);
  }

  add(data) {
    this.count += idsOf(data);
    if (data.slot < 0) return;
    const token = data.size > SMALL ? this.largeToken() : this.token;
    const group = token.group;
    data.token = token;
    data.place = group.next++;
    group.slots[data.place] = data.slot;
    group.live += 1;
    if (data.dtype === 'complex64') group.complex += 1;
    if (group.next === GROUP_SIZE) this.token = this.smallToken();
  }

  // Whether the data's slot was freed together with its backend.
  isRetired(data) {
    return data.slot >= 0 && data.token.group.slots[data.place] === NOT_HERE;
  }

  // The data is being disposed of.
  remove(data) {
    this.count -= idsOf(data);
    const {token} = data;
    if (token === null) return;
    const {group} = token;
    group.slots[data.place] = NOT_HERE;
    group.live -= 1;
    if (data.dtype === 'complex64') group.complex -= 1;
    data.token = null;
    if (group.live > 0) return;
    group.next = 0;
    if (group.slots.length === GROUP_SIZE) {
      if (token !== this.token) this.emptied.push(token);
    } else if (this.emptiedLarge.length < SPARE_TOKENS) {
      this.emptiedLarge.push(token);
    }
  }

  // Frees a group whose token is gone, and with it all that could name its slots.
  drop(group) {
    this.all.delete(group);
    for (const slot of group.slots) {
      if (slot >= 0) bridge.drop(slot, 0);
    }
    this.count -= group.live + 2 * group.complex;
  }

  // Frees all, while tensors may still be held: their slots are known as gone.
  retire() {
    for (const group of this.all) {
      bridge.retire(group.slots.filter((slot) => slot >= 0));
      this.count -= group.live + 2 * group.complex;
      group.slots.fill(NOT_HERE);
      group.live = 0;
      group.complex = 0;
    }
    this.all.clear();
    this.emptied = [];
    this.emptiedLarge = [];
    this.token = this.smallToken();
  }
}

module.exports = {Groups, NOT_HERE};
