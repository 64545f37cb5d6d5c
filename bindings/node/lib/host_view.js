// What is naturally host work (strings, lists of unknown length) runs in the JavaScript kernels
// that TensorFlow.js has for its cpu backend. They see our backend through this: values are read
// when they are asked for, and what they write becomes ours.
'use strict';

const {engine} = require('./core');

class HostView {
  constructor(backend) {
    this.backend = backend;
    this.data = {
      get: (dataId) => {
        const data = backend.dataOf(dataId);
        return {
          dtype: data.dtype,
          refCount: data.refCount,
          get values() {
            return backend.readSync(dataId);
          },
        };
      },
    };
  }
  write(values, shape, dtype) {
    return this.backend.write(values, shape, dtype);
  }
  makeTensorInfo(shape, dtype, values) {
    return this.backend.makeTensorInfo(shape, dtype, values);
  }
  makeOutput(values, shape, dtype) {
    return engine().makeTensorFromTensorInfo(
      this.makeTensorInfo(shape, dtype, values),
      this.backend,
    );
  }
  readSync(dataId) {
    return this.backend.readSync(dataId);
  }
  bufferSync(info) {
    return this.backend.bufferSync(info);
  }
  incRef(dataId) {
    this.backend.incRef(dataId);
  }
  disposeData(dataId, force) {
    return this.backend.disposeData(dataId, force);
  }
  disposeIntermediateTensorInfo(info) {
    this.backend.disposeData(info.dataId);
  }
}

module.exports = HostView;
