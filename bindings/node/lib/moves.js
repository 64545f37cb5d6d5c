// What a complex tensor is to TensorFlow.js's own backends: not two numbers for each element, but
// two tensors. Its engine moves values only, so that no complex tensor ever arrives there whole;
// here the two are made of what arrived.
'use strict';

// The engine, where it looks for kernels that leak, expects one data id more for each move.
function countMoves(engine, more) {
  const {numDataMovesStack: moves} = engine.state;
  if (engine.shouldCheckForMemLeaks()) moves[moves.length - 1] += more;
}

function withParts(backend, dataId, shape) {
  const data = backend.data === undefined ? undefined : backend.data.get(dataId);
  if (data === undefined || data.complexTensorInfos != null) return;
  const {values} = data;
  const part = (offset) => {
    const numbers = Float32Array.from(
      {length: values.length / 2},
      (_, i) => values[2 * i + offset],
    );
    return backend.makeTensorInfo(shape, 'float32', numbers);
  };
  data.complexTensorInfos = {real: part(0), imag: part(1)};
  data.values = undefined;
}

// `isOurs` tells our backends, which have both numbers in one tensor.
function moveComplexTensors(engine, isOurs) {
  const stock = engine.moveData;
  engine.moveData = function moveData(backend, dataId) {
    stock.call(this, backend, dataId);
    const {dtype, shape} = this.state.tensorInfo.get(dataId);
    if (dtype !== 'complex64') return;
    if (!isOurs(backend)) withParts(backend, dataId, shape);
    countMoves(this, 2); // its parts
  };
}

module.exports = {countMoves, moveComplexTensors};
