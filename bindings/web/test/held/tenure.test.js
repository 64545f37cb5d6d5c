// held() of the backend of Node's package: its ledger. Needs the addon (TENURE_ADDON, or built in the
// checkout) and the packages of bindings/node.

import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import {test} from 'node:test';

import * as programs from './programs.js';

const require = createRequire(new URL('../../../node/index.js', import.meta.url));
const {held, walk} = createRequire(import.meta.url)('../../held');

test('the row is what the ledger says', {skip: !process.env.TENURE_ADDON}, async () => {
  const tf = require('@tensorflow/tfjs');
  const tenure = require('./index.js');
  await tf.setBackend('tenure');
  await tf.ready();
  const rowOf = () => held(tf).find(row => row.backend === 'tenure');
  const before = tenure.memory();
  const tensors = programs.tenMade(tf);
  for (const expected of ['made', 'disposed']) {
    const ledger = tenure.memory();
    const row = rowOf();
    assert.equal(row.live, ledger.liveBytes, expected);
    assert.equal(row.pooled, ledger.pooledBytes, expected);
    assert.equal(row.total, ledger.reservedBytes, expected);
    assert.equal(row.pieces.live, ledger.storages, expected);
    tf.dispose(tensors);
  }
  assert.equal(rowOf().live, before.liveBytes);
  assert.deepEqual(walk(tf).unclaimed.filter(rest => rest.backend === 'tenure'), []);
});
