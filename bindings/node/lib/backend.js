// The backend object that TensorFlow.js's engine talks to: who owns which native tensor.
'use strict';

const {KernelBackend, buffer, engine, util} = require('@tensorflow/tfjs-core');
const bridge = require('./bridge');
const HostView = require('./host_view');

const NOT_HERE = -2; // disposed of, or moved to another backend
const STRINGS = -1; // string tensors have no native half

// The data of one or more tensors. The engine knows it as a data id, and so do we: no map is asked.
// It is also what a kernel returns, which would else be one more object per op.
class Data {
  constructor(slot, shape, dtype, size) {
    this.dataId = this;
    this.shape = shape; // of the tensor that it was made for
    this.dtype = dtype;
    this.slot = slot;
    this.size = size;
    this.refCount = 1;
    this.token = null;
    this.place = 0;
    this.strings = null;
  }
}

// The engine counts a complex tensor's two parts as if they had ids of their own.
function idsOf(data) {
  return data.dtype === 'complex64' ? 3 : 1;
}

// A tensor that is dropped instead of disposed of gives its memory back when V8 collects it. A
// registration for each would cost more than a small op, so small tensors share one: all that are
// in a group hold its token, and when that is collected the group's slots are freed. A group that
// is empty again is used again, token and registration included.
const GROUP_SIZE = 64;
const LARGE = 1 << 14; // elements from which a tensor is a group of its own

class Group {
  constructor(size) {
    this.slots = new Int32Array(size).fill(NOT_HERE);
    this.live = 0;
    this.complex = 0; // of the live ones
    this.next = 0; // place to fill
  }
}

class TenureBackend extends KernelBackend {
  constructor() {
    super();
    this.count = 0; // of data ids, as the engine counts them
    this.foreign = new WeakMap(); // the data of ids that other backends made
    this.groups = new Set();
    this.emptied = []; // tokens of groups to use again
    this.collected = new FinalizationRegistry((group) => this.dropGroup(group));
    this.host = new HostView(this);
    this.openGroup();
  }

  // The token of the group that small tensors join now.
  openGroup() {
    this.token = this.emptied.pop();
    if (this.token !== undefined) return;
    this.token = {group: new Group(GROUP_SIZE)};
    this.groups.add(this.token.group);
    this.collected.register(this.token, this.token.group);
  }

  // Slots and their owners.

  adopt(slot, shape, dtype, size) {
    const data = new Data(slot, shape, dtype, size);
    this.enlist(data);
    return data;
  }

  enlist(data) {
    this.count += idsOf(data);
    if (data.slot < 0) return;
    let token = this.token;
    if (data.size >= LARGE) {
      token = {group: new Group(1)};
      this.groups.add(token.group);
      this.collected.register(token, token.group, token.group);
    }
    const group = token.group;
    data.token = token;
    data.place = group.next++;
    group.slots[data.place] = data.slot;
    group.live += 1;
    if (data.dtype === 'complex64') group.complex += 1;
    if (group.next === GROUP_SIZE) this.openGroup();
  }

  // Frees what the data holds.
  release(data) {
    if (data.slot >= 0 && data.token.group.slots[data.place] === NOT_HERE) {
      data.slot = NOT_HERE; // it went with its backend
      return;
    }
    this.count -= idsOf(data);
    if (data.slot >= 0) {
      bridge.drop(data.slot, data.size);
      const group = data.token.group;
      group.slots[data.place] = NOT_HERE;
      group.live -= 1;
      if (data.dtype === 'complex64') group.complex -= 1;
      if (group.live === 0) this.reuse(data.token);
      data.token = null;
    }
    data.slot = NOT_HERE;
    data.strings = null;
  }

  reuse(token) {
    const group = token.group;
    if (group.slots.length === 1) {
      // of a large tensor
      this.collected.unregister(group);
      this.groups.delete(group);
      return;
    }
    group.next = 0;
    if (token !== this.token) this.emptied.push(token);
  }

  dropGroup(group) {
    if (!this.groups.delete(group)) return;
    for (const slot of group.slots) {
      if (slot >= 0) bridge.drop(slot, 0);
    }
    bridge.flush();
    this.count -= group.live + 2 * group.complex;
  }

  // The same while tensors of the group may still be held: their slots are known as gone.
  retireGroup(group) {
    this.groups.delete(group);
    bridge.retire(group.slots.filter((slot) => slot >= 0));
    group.slots.fill(NOT_HERE);
    this.count -= group.live + 2 * group.complex;
  }

  // The data behind an id, fetched from the backend that has it if that is not this one.
  dataOf(dataId) {
    let data = dataId instanceof Data ? dataId : this.foreign.get(dataId);
    if (data === undefined || data.slot === NOT_HERE) {
      const info = engine().state.tensorInfo.get(dataId);
      if (info !== undefined && info.backend === this)
        throw new Error(`tenure: the data of a tensor of shape [${info.shape}] was freed`);
      bridge.aside(() => engine().moveData(this, dataId));
      data = dataId instanceof Data ? dataId : this.foreign.get(dataId);
    }
    return data;
  }

  slotOf(info) {
    const slot = info.dataId.slot; // other backends' ids have none
    if (slot >= 0) return slot;
    const data = this.dataOf(info.dataId);
    if (data.slot === STRINGS)
      throw new Error(`tenure: a string tensor of shape [${info.shape}] has no numbers`);
    return data.slot;
  }

  has(dataId) {
    const data = dataId instanceof Data ? dataId : this.foreign.get(dataId);
    return data !== undefined && data.slot !== NOT_HERE;
  }

  // What the engine asks for.

  fill(data, values, shape) {
    if (data.dtype === 'string') {
      data.slot = STRINGS;
      data.strings = values;
    } else {
      data.slot = bridge.write(values, shape, data.dtype, data.size);
    }
    this.enlist(data);
    return data;
  }

  write(values, shape, dtype) {
    return this.fill(new Data(NOT_HERE, shape, dtype, util.sizeFromShape(shape)), values, shape);
  }

  move(dataId, values, shape, dtype, refCount) {
    const data =
      dataId instanceof Data ? dataId : new Data(NOT_HERE, shape, dtype, util.sizeFromShape(shape));
    if (data !== dataId) this.foreign.set(dataId, data);
    this.fill(data, values, shape);
    data.refCount = refCount;
  }

  readSync(dataId) {
    const data = this.dataOf(dataId);
    if (data.slot === STRINGS) return data.strings;
    return bridge.read(data.slot, data.dtype, data.size);
  }

  async read(dataId) {
    return this.readSync(dataId);
  }

  bufferSync(info) {
    const values = this.readSync(info.dataId);
    return buffer(
      info.shape,
      info.dtype,
      info.dtype === 'string' ? values.map((s) => util.decodeString(s)) : values,
    );
  }

  makeTensorInfo(shape, dtype, values) {
    if (dtype === 'string' && values != null && values.length > 0 && util.isString(values[0])) {
      values = values.map((text) => util.encodeString(text));
    }
    return {dataId: this.write(values, shape, dtype), shape, dtype};
  }

  refCount(dataId) {
    return this.has(dataId) ? this.dataOf(dataId).refCount : 0;
  }

  incRef(dataId) {
    this.dataOf(dataId).refCount += 1;
  }

  decRef(dataId) {
    if (this.has(dataId)) this.dataOf(dataId).refCount -= 1;
  }

  // Frees the data when its last user lets go; false while others remain.
  disposeData(dataId, force = false) {
    const data = dataId instanceof Data ? dataId : this.foreign.get(dataId);
    if (data === undefined || data.slot === NOT_HERE) return true;
    data.refCount -= 1;
    if (!force && data.refCount > 0) return false;
    this.release(data);
    return true;
  }

  disposeIntermediateTensorInfo(info) {
    this.disposeData(info.dataId);
  }

  numDataIds() {
    return this.count;
  }

  memory() {
    return {unreliable: false, tenure: bridge.memory()};
  }

  async time(run) {
    bridge.flush();
    const start = util.now();
    run();
    bridge.flush();
    return {kernelMs: util.now() - start};
  }

  floatPrecision() {
    return 32;
  }

  dispose() {
    for (const group of [...this.groups]) this.retireGroup(group);
    this.emptied = [];
    this.foreign = new WeakMap();
    this.openGroup();
  }
}

module.exports = {TenureBackend};
