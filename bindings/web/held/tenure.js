'use strict';
// The backend of Node's package: its ledger is exact by itself.

function recognises(backend, name) {
  return name === 'tenure' && typeof backend.memory === 'function' && backend.memory().tenure != null;
}

function rows(backend) {
  const {liveBytes, pooledBytes, reservedBytes, slackBytes, storages} = backend.memory().tenure;
  const row = {
    name: 'native memory', live: liveBytes, pooled: pooledBytes, total: reservedBytes,
    pieces: {live: storages},
  };
  if (slackBytes > 0) row.note = `${slackBytes} bytes of it are rounding to sizes of blocks`;
  return [row];
}

module.exports = {recognises, rows};
