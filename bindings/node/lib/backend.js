// The backend object that TensorFlow.js's engine talks to: who owns which native tensor.
'use strict';

const {KernelBackend, buffer, engine, util} = require('./core');
const bridge = require('./bridge');
const {dtypeError, valueError} = require('./errors');
const {Groups, NOT_HERE} = require('./groups');
const HostView = require('./host_view');
const {countMoves} = require('./moves');

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
    this.token = null; // of its group
    this.place = 0; // in it
    this.strings = null;
    this.casts = null; // to the dtypes of tensors that call it something else, by them
  }

  // A tensor may be written as JSON, and this is all around it.
  toJSON() {
    return {};
  }
}

const CAST = bridge.op('cast');

class TenureBackend extends KernelBackend {
  constructor() {
    super();
    this.groups = new Groups();
    this.foreign = new WeakMap(); // the data of ids that other backends made
    this.host = new HostView(this);
  }

  // Slots and their owners.

  adopt(slot, shape, dtype, size) {
    const data = new Data(slot, shape, dtype, size);
    this.groups.add(data);
    return data;
  }

  // Frees what the data holds.
  release(data) {
    if (!this.groups.isRetired(data)) {
      if (data.slot >= 0) bridge.drop(data.slot, data.size);
      this.groups.remove(data);
    }
    data.slot = NOT_HERE;
    data.strings = null;
    if (data.casts !== null) {
      for (const cast of data.casts.values()) this.release(cast);
      data.casts = null;
    }
  }

  // The data behind an id, fetched from the backend that has it if that is not this one.
  dataOf(dataId) {
    let data = dataId instanceof Data ? dataId : this.foreign.get(dataId);
    if (data === undefined || data.slot === NOT_HERE) {
      const info = engine().state.tensorInfo.get(dataId);
      if (info !== undefined && info.backend === this)
        throw valueError(`tenure: the data of a tensor of shape [${info.shape}] was freed`);
      bridge.aside(() => engine().moveData(this, dataId));
      data = dataId instanceof Data ? dataId : this.foreign.get(dataId);
    }
    return data;
  }

  slotOf(info) {
    const {dataId} = info;
    if (dataId.slot >= 0 && dataId.dtype === info.dtype) return dataId.slot; // it is ours, and here
    const data = this.dataOf(dataId);
    if (data.slot === STRINGS)
      throw dtypeError(`tenure: a string tensor of shape [${info.shape}] has no numbers`);
    return data.dtype === info.dtype ? data.slot : this.castOf(data, info.dtype).slot;
  }

  // The cpu backend casts to a wider dtype by calling the same data that, and it may come here so.
  castOf(data, dtype) {
    data.casts ??= new Map();
    if (!data.casts.has(dtype)) {
      bridge.aside(() => {
        bridge.start(CAST);
        bridge.putTensor(this, data);
        bridge.putDtype(dtype);
        data.casts.set(dtype, bridge.run(this));
        countMoves(engine(), 1);
      });
    }
    return data.casts.get(dtype);
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
    this.groups.add(data);
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
    return this.groups.count;
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
    this.groups.retire();
    this.foreign = new WeakMap();
  }
}

module.exports = {TenureBackend};
