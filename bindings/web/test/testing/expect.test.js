// What expectNoLeaks counts, passes over and says.

import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {test} from 'node:test';

const require = createRequire(import.meta.url);
const tf = require('@tensorflow/tfjs');
const {explain, mark} = require('../../node');
const {expectNoLeaks, matchers} = require('../../testing');

// The error of a call that fails.
async function errorOf(f) {
  try {
    await f();
  } catch (error) {
    return error;
  }
  return assert.fail('expected an error');
}

// The line of this file that a text names as "expect.test.js:<n>".
const lines = readFileSync(new URL(import.meta.url), 'utf8').split('\n');

function lineIn(text) {
  const [, number] = text.match(/expect\.test\.js:(\d+)/);
  return lines[number - 1];
}

test('gives what the function gives, at once or as a promise', async () => {
  assert.equal(expectNoLeaks(() => 3), 3);
  const promise = expectNoLeaks(async () => 4);
  assert.ok(promise instanceof Promise);
  assert.equal(await promise, 4);
  assert.equal(expectNoLeaks(() => null), null);
});

test('a function that is synchronous fails synchronously', () => {
  assert.throws(() => expectNoLeaks(() => { tf.scalar(7); }), error => {
    assert.match(error.message, /^1 tensor \(4 bytes\) left:\n  1 at \S*expect\.test\.js:\d+   4 bytes   scalar$/);
    assert.match(lineIn(error.message), /tf\.scalar\(7\)/);
    return true;
  });
});

test('what was there before, and what is disposed of later than born, does not count', async () => {
  const before = tf.scalar(1);
  await expectNoLeaks(async () => {
    const x = tf.add(before, 1);
    await x.data();
    x.dispose();
  });
  expectNoLeaks(() => before.dispose());
});

test('a kept tensor is told as such', async () => {
  const kept = await errorOf(() => expectNoLeaks(() => { tf.tidy(() => { tf.keep(tf.scalar(1)); }); }));
  assert.match(kept.message, /scalar, kept \S*expect\.test\.js:\d+/);
});

test('the stack is that of the line that called it', async () => {
  const error = await errorOf(() => expectNoLeaks(async () => {
    await null;
    tf.scalar(1);
  }));
  const [first] = error.stack.split('\n').filter(line => /^    at /.test(line));
  assert.match(lineIn(first), /expectNoLeaks\(async/);
  assert.ok(error.stack.startsWith(`Error: ${error.message}\n    at `), error.stack);
  assert.equal(error.leaks.length, 1);
  assert.deepEqual(Object.keys(error), []);
});

test('allow lets so many pass, and says how many it would have', async () => {
  const two = () => { tf.scalar(1); tf.scalar(2); };
  expectNoLeaks(two, {allow: 2});
  const error = await errorOf(() => expectNoLeaks(two, {allow: 1}));
  assert.match(error.message, /^2 tensors \(8 bytes\) left:[^]*\n\n  1 would have been allowed\.$/);
});

test('variables count unless they may be left', async () => {
  const make = () => { tf.variable(tf.scalar(1)).name; };
  const error = await errorOf(() => expectNoLeaks(make));
  assert.match(error.message, /variable/);
  const {message} = await errorOf(() => expectNoLeaks(make, {variables: true}));
  assert.match(message, /^1 tensor \(4 bytes\) left:\n.*scalar/, 'what it was made of is no variable');
  expectNoLeaks(() => { tf.tidy(() => { tf.variable(tf.scalar(1)); }); }, {variables: true});
});

test('a model is told by its layers', async () => {
  const error = await errorOf(() => expectNoLeaks(() => {
    tf.sequential({layers: [tf.layers.dense({units: 2, inputShape: [3], name: 'out'})]});
  }));
  assert.match(error.message, /2 at \S+:\d+ +32 bytes   variable of layer "out"/);
});

test('ignore passes over groups', () => {
  const seen = [];
  expectNoLeaks(() => { tf.scalar(1); }, {ignore: group => seen.push(group)});
  assert.equal(seen.length, 1);
  assert.equal(seen[0].op, 'scalar');
  assert.match(seen[0].site, /expect\.test\.js:\d+$/);
  assert.deepEqual([seen[0].count, seen[0].bytes], [1, 4]);
});

test('tensors that are returned are leaks, unless the caller says that it takes them', async () => {
  const make = () => ({list: [tf.ones([3])], map: new Map([['x', tf.ones([2])]]), other: 3});
  const error = await errorOf(() => expectNoLeaks(make));
  assert.match(error.message, /All were returned by the function: dispose of what .* \{returned: 'ok'\}\.$/);
  const {list, map} = expectNoLeaks(make, {returned: 'ok'});
  assert.equal(list[0].isDisposed || map.get('x').isDisposed, false);
  tf.dispose([list, map.get('x')]);
});

test('of one line, those that are returned pass and the others do not', async () => {
  const make = () => [1, 2, 3].map(n => tf.ones([n])).slice(1);
  const {message} = await errorOf(() => expectNoLeaks(async () => make(), {returned: 'ok'}));
  assert.match(message, /^1 tensor \(4 bytes\) left:\n  1 at/);
  const counted = await errorOf(() => expectNoLeaks(make));
  assert.match(counted.message, /2 of them were returned/);
});

test('a model that is returned has its weights', async () => {
  const load = () => tf.sequential({layers: [tf.layers.dense({units: 2, inputShape: [3]})]});
  const model = await expectNoLeaks(async () => load(), {returned: 'ok'});
  assert.equal(model.countParams(), 8);
  const {message} = await errorOf(() => expectNoLeaks(load));
  assert.match(message, /All were returned/);
  model.dispose();
  class Graph {
    weights = {kernel: [tf.ones([3])]};
    predict() {}
  }
  expectNoLeaks(() => new Graph(), {returned: 'ok'}).weights.kernel[0].dispose();
});

test('an error of the function wins, and names what was left', async () => {
  const problem = new TypeError('bad');
  const fail = () => { tf.scalar(1); throw problem; };
  const error = await errorOf(() => expectNoLeaks(fail));
  assert.equal(error, problem);
  assert.match(error.message, /^bad\n\nand 1 tensor \(4 bytes\) left:\n  1 at \S+   4 bytes   scalar$/);
  assert.ok(error.stack.startsWith(`TypeError: ${error.message}\n    at `), error.stack);
  const clean = new Error('clean');
  assert.equal(await errorOf(() => expectNoLeaks(async () => { throw clean; })), clean);
  assert.equal(clean.message, 'clean');
});

test('what is thrown need not be an error, and what is left is told then too', async t => {
  const warn = t.mock.method(console, 'warn', () => {});
  const frozen = Object.freeze(new Error('frozen')), sealed = Object.seal(new Error('sealed'));
  const others = ['text', null, undefined, 3, frozen, sealed, {}];
  for (const thrown of others) {
    const error = await errorOf(() => expectNoLeaks(() => { tf.scalar(1); throw thrown; })).catch(() => undefined);
    assert.equal(error, thrown);
  }
  assert.equal(frozen.message, 'frozen');
  const warned = warn.mock.calls.map(call => call.arguments[0]);
  assert.equal(warned.length, others.length);
  for (const text of warned) assert.match(text, /^expectNoLeaks: 1 tensor \(4 bytes\) left:\n  1 at \S*expect\.test\.js:/);
});

test('explain is as it was before, or as the function has set it', async () => {
  const isOn = () => mark().isSeen;
  explain(false);
  expectNoLeaks(() => { assert.ok(isOn()); });
  assert.ok(!isOn());
  const [first, second] = [null, null].map(() => expectNoLeaks(async () => { await null; assert.ok(isOn()); }));
  await first;
  await second;
  assert.ok(!isOn());
  const error = await errorOf(() => expectNoLeaks(() => {
    explain({summary: false});
    tf.scalar(1);
    explain(false);
  }));
  assert.match(error.message, /^1 tensor \(4 bytes\) left:/);
  assert.ok(!isOn());
  expectNoLeaks(() => { explain({summary: false}); });
  assert.ok(isOn());
  expectNoLeaks(() => {}, {tf});
  assert.ok(isOn());
});

test('nested: the inner one fails, and the outer one says only what is more', async () => {
  const same = await errorOf(() => expectNoLeaks(() => expectNoLeaks(() => { tf.scalar(1); })));
  assert.equal(same.message.match(/left:/g).length, 1);
  const more = await errorOf(() => expectNoLeaks(async () => {
    tf.scalar(1);
    await expectNoLeaks(async () => { tf.scalar(2); });
  }));
  assert.match(more.message, /^1 tensor \(4 bytes\) left:[^]*\n\nand 2 tensors \(8 bytes\) left:/);
});

test('a thenable is awaited', async () => {
  const thenable = {then: (resolve, reject) => Promise.resolve(5).then(resolve, reject)};
  assert.equal(await expectNoLeaks(() => thenable), 5);
});

test('wrong arguments are refused', () => {
  const cases = [
    [[3], /expected a function, got: 3/], [[null], /got: null/], [[() => {}, null], /options as an object/],
    [[() => {}, {alow: 1}], /no such option: alow; there are: tf, allow, variables, ignore, returned/],
    [[() => {}, {allow: -1}], /allow: expected a number of tensors, got: -1/],
    [[() => {}, {variables: 1}], /variables: expected true or false/],
    [[() => {}, {ignore: /x/}], /ignore: expected a function, got: an object/],
    [[() => {}, {returned: true}], /returned: expected 'ok' or 'leak'/],
    [[() => {}, {tf: {}}], /tf: expected TensorFlow\.js/],
  ];
  for (const [args, message] of cases) {
    assert.throws(() => expectNoLeaks(...args), error => error instanceof TypeError && message.test(error.message));
  }
  expectNoLeaks(() => {}, {allow: undefined, tf: undefined});
});

test('the matcher tells, passes errors on, and can be turned around', async () => {
  const healthy = matchers.toLeakNoTensors(() => {});
  assert.equal(healthy.pass, true);
  assert.match(healthy.message(), /expected tensors to be left/);
  const leaking = matchers.toLeakNoTensors(() => { tf.scalar(1); });
  assert.equal(leaking.pass, false);
  assert.match(leaking.message(), /1 tensor \(4 bytes\) left/);
  assert.equal((await matchers.toLeakNoTensors(async () => { tf.scalar(1); })).pass, false);
  assert.throws(() => matchers.toLeakNoTensors(() => { throw new Error('mine'); }), /mine/);
  await assert.rejects(matchers.toLeakNoTensors(async () => { throw new Error('mine'); }), /mine/);
});

test('without TensorFlow.js it says so, and does not pass', () => {
  const program = `require(${JSON.stringify(require.resolve('../../testing'))}).expectNoLeaks(() => {});`;
  const {status, stderr} = spawnSync(process.execPath, ['-e', program], {encoding: 'utf8'});
  assert.equal(status, 1);
  assert.match(stderr, /expectNoLeaks: found no TensorFlow\.js: give it as \{tf\}/);
});
