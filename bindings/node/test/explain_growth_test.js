'use strict';
// Lines that hold more with every mark.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');
const {explain, growth, mark} = require('../lib/explain');
const {platform} = require('../../web/core/platform');

explain({summary: false});
const tf = require('@tensorflow/tfjs');

const lines = fs.readFileSync(__filename, 'utf8').split('\n');
const at = tag =>
    `${path.relative(process.cwd(), __filename)}:${lines.findIndex(line => line.endsWith(`// @${tag}`)) + 1}`;

test('growth tells the line that holds more with every mark, and when it stopped', () => {
  const held = [];
  const step = isLeaking => {
    mark();
    tf.ones([2]).dispose();
    if (isLeaking) held.push(tf.zeros([4])); // @growing
  };
  for (let i = 0; i < 10; i++) step(true);
  mark();
  const [line, ...others] = growth();
  assert.deepEqual(others, []);
  assert.deepEqual([line.site, line.op, line.count, line.bytes, line.per_frame], [at('growing'), 'zeros', 10, 160, 1]);
  assert.equal(line.stopped_ms, null);
  for (let i = 0; i < 10; i++) step(false);
  assert.ok(growth()[0].stopped_ms >= line.since_ms);
  tf.dispose(held.splice(0));
  mark();
  assert.deepEqual([...growth()], []);
  for (let i = 0; i < 10; i++) step(true);
  assert.equal(growth()[0].stopped_ms, null);
  const {now} = platform;
  platform.now = () => now() + 60000; // no turn since
  const [over] = growth();
  platform.now = now;
  assert.ok(over.stopped_ms !== null && over.stopped_ms < now());
  tf.dispose(held);
  mark();
});
